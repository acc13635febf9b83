import fc from 'fast-check';
import { expect, it } from 'vitest';
import { openTestStorage } from '../../../test/helpers/storage.ts';
import type { ComponentRule } from '../../conditions/condition.ts';
import type { Component, PipelineState } from '../../pipelines/components/component.ts';
import { encodeMinute, type MinuteValues, packHour } from '../../pipelines/history/minute-codec.ts';
import type { VolumesByHour } from '../../pipelines/history/usual-volumes.ts';
import type { SilenceRow } from '../../storage/stores/silences.ts';
import { findTargetType } from '../../targets/index.ts';
import type { Target } from '../../targets/target.ts';
import { configureNotification } from '../notification.ts';
import { backtest } from './backtest.ts';

const START = Date.UTC(2026, 0, 5);
const MINUTE_MS = 60_000;

const component = (engineId: string): Component => ({
  ...{ group: 'default', pipeline: 'edge', engine: 'vector', kind: 'input', type: 'syslog' },
  ...{ engineId, id: engineId },
});

const EDGE: PipelineState = {
  ...{
    id: 'edge',
    engine: 'vector',
    group: 'default',
    mode: 'pull',
    url: null,
    state: 'reachable',
    lastAt: null,
  },
  ...{
    unreachableSince: null,
    error: null,
    unrecognised: null,
    uncounted: null,
    readings: 10,
    unreachedMs: 0,
    instances: 1,
  },
  ...{ components: 1, bytesPerEvent: null },
};

const hook: Target = {
  settings: { id: 'hook', type: 'test', systemFields: [] },
  ...{ concurrency: 1, fallback: undefined, batching: undefined, neverGroups: false },
  send: async () => ({ kind: 'sent' }),
  bulletinText: () => undefined,
};

/** What is recorded of each minute since the start; a minute without an entry was not observed. */
type Minutes = readonly (Readonly<Record<string, MinuteValues>> | undefined)[];

const hourOf = (name: string, hour: number, minutes: Minutes): string =>
  minutes
    .slice((hour - START) / MINUTE_MS, (hour - START) / MINUTE_MS + 60)
    .map((minute, at) => {
      const values = minute?.[name];
      return values === undefined ? '' : encodeMinute(at, values);
    })
    .join('');

interface Circumstances {
  readonly targets?: readonly Target[];
  readonly silences?: readonly SilenceRow[];
  /** Minutes before the time that is asked about. */
  readonly warmUp?: number;
  /** Events of each hour of the 30 days before. */
  readonly usual?: number;
  /** Evaluates each minute, also where it is known for how long a component is ok. */
  readonly isPlain?: boolean;
}

const evaluatedAlways = (rule: ComponentRule): ComponentRule => ({
  ...rule,
  evaluate: evaluation => ({ ...rule.evaluate(evaluation), okForMs: 0 }),
  okWhile: () => undefined,
});

const usualHours = (components: number, events: number): VolumesByHour => ({
  start: START - 30 * 24 * 3_600_000,
  hours: 30 * 24,
  values: new Float64Array(components * 2 * 30 * 24).fill(events),
});

async function tried(
  settings: object,
  minutes: Minutes,
  { targets = [hook], silences = [], warmUp = 0, usual = 0, isPlain = false }: Circumstances = {},
) {
  const names = new Set(minutes.flatMap(minute => Object.keys(minute ?? {})));
  const components = [...names].map(component);
  const store = await openTestStorage();
  const notification = configureNotification({
    ...{ id: 'n', condition: 'no-data', targets: ['hook'] },
    ...settings,
  });
  const { rule } = notification;
  const found = await backtest({
    notification:
      isPlain && rule.source === 'component'
        ? { ...notification, rule: evaluatedAlways(rule) }
        : notification,
    ...{ targets, silences, components, pipelines: [EDGE] },
    ...{ warmUpFrom: START, from: START + warmUp * MINUTE_MS, to: START + minutes.length * MINUTE_MS },
    history: {
      readHour: async hour => packHour(components.map(({ engineId }) => hourOf(engineId, hour, minutes))),
      readVolumes: async () => usualHours(components.length, usual),
    },
    ...{ storage: store.storage, instanceName: 'headgate', externalUrl: undefined },
  });
  await store.close();
  const minuteOf = (at: number | null): number | null => at && (at - START) / MINUTE_MS;
  return {
    ...found,
    incidents: found.incidents.map(({ subject, openedAt, closedAt }) => [
      subject,
      minuteOf(openedAt),
      minuteOf(closedAt),
    ]),
    messages: found.messages.map(({ at, target, events }) => [
      minuteOf(at),
      target,
      ...events.map(({ status }) => status),
    ]),
  };
}

const data = (in_events: number, more: MinuteValues = {}): MinuteValues => ({
  health: 0,
  in_events,
  ...more,
});
const silent = (silent_seconds: number): MinuteValues => data(0, { silent_seconds });

it('finds the alarm of an input that fell silent, and its end, with the messages', async () => {
  const found = await tried({ conf: { name: 'syslog:app', timeWindow: '2m' } }, [
    { app: data(10) },
    { app: silent(60) },
    { app: silent(120) },
    { app: silent(180) },
    { app: data(5, { ended_silent_seconds: 200 }) },
    { app: data(5) },
  ]);
  expect(found.incidents).toEqual([['edge/syslog:app', 3, 5]]);
  expect(found.messages).toEqual([
    [3, 'hook', 'ALARM'],
    [5, 'hook', 'OK'],
  ]);
});

it('counts no time that nobody observed, and names it', async () => {
  const found = await tried({ conf: { name: 'syslog:app', timeWindow: '3m' }, for: '2m' }, [
    { app: silent(180) },
    undefined,
    undefined,
    { app: silent(240) },
    { app: silent(300) },
  ]);
  expect(found.incidents).toEqual([['edge/syslog:app', 5, null]]);
  expect(found.missing).toEqual([{ from: START + MINUTE_MS, to: START + 3 * MINUTE_MS }]);
});

it('sees a silence that no end of a minute shows', async () => {
  const found = await tried({ conf: { name: 'syslog:app', timeWindow: '2m' } }, [
    { app: silent(55) },
    { app: silent(115) },
    { app: data(4, { silent_seconds: 10, ended_silent_seconds: 165 }) },
  ]);
  expect(found.incidents).toEqual([['edge/syslog:app', 2.5, 3]]);
});

it('adds up windows, without what was counted while nobody observed, and spreads what came late', async () => {
  const conf = { name: 'syslog:app', timeWindow: '2m', dataVolume: '100 events' };
  const minutes: Minutes = [
    { app: data(50) },
    { app: data(50) },
    { app: data(900, { unobserved_in_events: 850 }) },
    { app: { health: 0, silent_seconds: 60 } },
    { app: { health: 0, silent_seconds: 120 } },
    { app: data(150) },
    { app: data(90) },
  ];
  expect((await tried({ condition: 'high-volume', conf }, minutes)).incidents).toEqual([
    ['edge/syslog:app', 7, null],
  ]);
});

it('compares with the hours of the days before', async () => {
  const settings = { condition: 'baseline', conf: { name: '*', metric: 'events', timeWindow: '10m' } };
  const minutes = [...Array(20).fill(10), ...Array(10).fill(5), ...Array(10).fill(10)].map(events => ({
    app: data(events),
  }));
  // 100 in 10 minutes are usual, less than 85 an alarm.
  const found = await tried(settings, minutes, { usual: 600 });
  expect(found.incidents).toEqual([['edge/input/syslog:app', 24, 37]]);
  expect((await tried(settings, minutes, { usual: 300 })).incidents).toEqual([]);
});

it('groups, mutes, silences and routes as it would have been', async () => {
  const conf = { name: '*', timeWindow: '2m' };
  const all = (seconds: number) => ({ a: silent(seconds), b: silent(seconds), c: silent(seconds) });
  const minutes = [60, 120, 180, 240, 300, 360].map(all);
  const grouped = await tried({ conf, groupBy: [], groupWait: '90s' }, minutes);
  expect(grouped.messages.map(([at, target]) => [at, target])).toEqual([
    [3.5, 'hook'],
    [3.5, 'hook'],
    [3.5, 'hook'],
  ]);
  const night = [{ times: ['00:00-00:05'], timezone: 'UTC' }];
  const muted = await tried({ conf, muteWindows: night }, minutes);
  expect(new Set(muted.messages.map(([at]) => at))).toEqual(new Set([5]));
  const silence: SilenceRow = {
    ...{ id: 's', matchers: JSON.stringify([{ name: 'input', op: '=', value: 'syslog:a' }]) },
    ...{ starts_at: START, ends_at: START + 4 * MINUTE_MS, until_resolved: 0 },
    ...{ comment: 'upgrade', created_by: 'ops', created_at: START },
  };
  const silenced = await tried({ conf }, minutes, { silences: [silence] });
  expect(silenced.messages.map(([at]) => at).sort()).toEqual([2, 2, 4]);
  const router = findTargetType('router')?.configure({
    id: 'r',
    type: 'router',
    routes: [{ filter: "input == 'syslog:b'", output: 'hook' }],
  });
  if (router === undefined) throw new Error('there is no router');
  const routed = await tried({ conf, targets: ['r'] }, minutes, { targets: [hook, router] });
  expect(routed.messages).toEqual([[2, 'hook', 'ALARM']]);
});

it('lists what was open in the time that is asked about, and the messages of that time only', async () => {
  const minutes = [60, 120, 180, 240].map(seconds => ({ app: silent(seconds) }));
  const found = await tried({ conf: { name: '*', timeWindow: '2m' } }, minutes, { warmUp: 3 });
  expect(found.incidents).toEqual([['edge/syslog:app', 2, null]]);
  expect(found.messages).toEqual([]);
});

/** What an input does for some minutes. */
interface Phase {
  readonly minutes: number;
  readonly does: 'flow' | 'pause' | 'fail' | 'unseen' | 'absent';
  readonly events: number;
}

const phase = fc.record<Phase>({
  minutes: fc.integer({ min: 1, max: 30 }),
  does: fc.constantFrom('flow', 'flow', 'pause', 'fail', 'unseen', 'absent'),
  events: fc.integer({ min: 0, max: 90 }),
});

/** The silence of an input grows by the minute until data ends it. */
function recordedOf(phases: readonly Phase[]): (MinuteValues | undefined)[] {
  let silentSeconds = 0;
  return phases.flatMap(({ minutes, does, events }) =>
    Array.from({ length: minutes }, (_, at): MinuteValues | undefined => {
      const hasData = does === 'flow' || does === 'fail';
      const before = silentSeconds;
      silentSeconds = hasData ? at % 7 : before + 60;
      if (does === 'absent') return undefined;
      const ended: MinuteValues = hasData && before >= 60 ? { ended_silent_seconds: before + 20 } : {};
      const values: MinuteValues = { silent_seconds: silentSeconds, ...ended };
      if (does === 'unseen') return { ...values, unread_seconds: (at + 1) * 60 };
      const failing: MinuteValues =
        does === 'fail' ? { errors: at % 3, red_ms: at * 900, dropped: at % 2 } : {};
      return { ...values, health: 0, in_events: hasData ? events + (at % 5) : 0, errors: 0, ...failing };
    }),
  );
}

const LOOKED_AT = [
  { condition: 'no-data', conf: { timeWindow: '3m' } },
  { condition: 'no-data', conf: { timeWindow: '2m30s' }, for: '2m', keepFiringFor: '5m' },
  { condition: 'high-volume', conf: { timeWindow: '4m', dataVolume: '200 events' } },
  { condition: 'low-volume', conf: { timeWindow: '2m30s', dataVolume: '90 events' } },
  { condition: 'low-volume', conf: { timeWindow: '90m', dataVolume: '2000 events' } },
  { condition: 'low-volume', conf: { timeWindow: '5m', dataVolume: '40KB' } },
  { condition: 'source-errors', conf: { timeWindow: '6m', threshold: 4 } },
  { condition: 'dropped-events', conf: { timeWindow: '3m' }, for: '1m' },
  { condition: 'unhealthy-source', conf: { timeWindow: '3m' } },
  {
    condition: 'baseline',
    conf: { timeWindow: '5m', metric: 'events', direction: 'both', sensitivity: 0.5 },
  },
].map(settings => ({ ...settings, conf: { name: '*', ...settings.conf } }));

/** Minutes whose amount is spread over some that were looked at before. */
const SPREAD_LATE: Phase[] = [
  { minutes: 6, does: 'flow', events: 60 },
  { minutes: 3, does: 'unseen', events: 0 },
  { minutes: 8, does: 'flow', events: 105 },
];

/** Data ends the silence of one input between two minutes, while another is silent. */
const ENDED_BETWEEN: Phase[][] = [
  [
    { minutes: 14, does: 'flow', events: 9 },
    { minutes: 1, does: 'absent', events: 0 },
    { minutes: 3, does: 'flow', events: 9 },
  ],
  [
    { minutes: 13, does: 'flow', events: 9 },
    { minutes: 3, does: 'pause', events: 0 },
    { minutes: 2, does: 'flow', events: 9 },
  ],
];

/** A silence that grew in a minute which nobody recorded. */
const SILENT_UNRECORDED: Phase[] = [
  { minutes: 1, does: 'flow', events: 0 },
  { minutes: 1, does: 'absent', events: 0 },
  { minutes: 2, does: 'pause', events: 0 },
  { minutes: 1, does: 'flow', events: 0 },
];

it('finds what looking at each minute finds, whatever is known to be ok for a while', () =>
  fc.assert(
    fc.asyncProperty(
      fc.constantFrom(...LOOKED_AT),
      fc.array(fc.array(phase, { minLength: 3, maxLength: 9 }), { minLength: 1, maxLength: 3 }),
      async (settings, inputs) => {
        const recorded = inputs.map(recordedOf);
        const minutes: Minutes = Array.from(
          { length: Math.min(200, ...recorded.map(one => one.length)) },
          (_, at) => {
            const known = recorded.flatMap((one, input): [string, MinuteValues][] => {
              const values = one[at];
              return values === undefined ? [] : [[`app${input}`, values]];
            });
            return known.length === 0 ? undefined : Object.fromEntries(known);
          },
        );
        const usual = 2500;
        const found = await tried(settings, minutes, { usual });
        expect(found).toEqual(await tried(settings, minutes, { usual, isPlain: true }));
      },
    ),
    {
      numRuns: 40,
      examples: LOOKED_AT.flatMap((settings): [typeof settings, Phase[][]][] => [
        [settings, [SPREAD_LATE]],
        [settings, ENDED_BETWEEN],
        [settings, [SILENT_UNRECORDED]],
      ]),
    },
  ));
