// More than 600 lines because every story here runs on the one engine that is set up at the top.
import { afterEach, beforeEach, expect, it } from 'vitest';
import { observedClockOf, type TestClock, testClock } from '../../test/helpers/clock.ts';
import { type TestComponents, testComponents } from '../../test/helpers/components.ts';
import { openTestStorage, type TestStorage } from '../../test/helpers/storage.ts';
import { testEngine } from '../../test/helpers/test-engine.ts';
import { until } from '../../test/helpers/until.ts';
import { createResultBus, type ResultBus } from '../delivery/results.ts';
import type { HeadgateEvent } from '../events/event.ts';
import { AppError } from '../lib/errors.ts';
import { silentLogger } from '../lib/logger.ts';
import type { Component } from '../pipelines/components/component.ts';
import type { StorageOperation } from '../storage/operations/operation.ts';
import type { Storage } from '../storage/storage.ts';
import type { IncidentRow } from '../storage/stores/incidents.ts';
import type { Target } from '../targets/target.ts';
import type { Engine } from './engine.ts';
import { configureNotification } from './notification.ts';

interface Notified {
  readonly event: HeadgateEvent;
  readonly targets: readonly string[];
}

let store: TestStorage;
let clock: TestClock;
let components: TestComponents;
let engine: Engine;
let notified: Notified[];
let app: Component;
let refuse: AppError | undefined;
let operational: string | undefined;
/** When set, the open incidents of the store cannot be read. */
let unreadable: AppError | undefined;
let logged: string[];
let disabled: Set<string>;

beforeEach(async () => {
  store = await openTestStorage();
  clock = testClock();
  components = testComponents(clock);
  app = components.add('app');
  notified = [];
  refuse = undefined;
  unreadable = undefined;
  logged = [];
  disabled = new Set();
  operational = undefined;
  engine = create();
});

afterEach(async () => {
  await engine.stop();
  await store.close();
});

let results: ResultBus;

function create(): Engine {
  results = createResultBus();
  const storage: Storage = {
    ...store.storage,
    in(workspace) {
      const stores = store.storage.in(workspace);
      const open = () => (unreadable ? Promise.reject(unreadable) : stores.incidents.open());
      return { ...stores, incidents: { ...stores.incidents, open } };
    },
    commit: (operation: StorageOperation) =>
      refuse ? Promise.reject(refuse) : store.storage.commit(operation),
  };
  return testEngine({
    ...{ storage, components, clock, observedClock: observedClockOf(clock) },
    logger: {
      ...silentLogger,
      error: (_, message) => void logged.push(message),
      warn: (fields, message) => void logged.push(`${message}: ${JSON.stringify(fields)}`),
    },
    results,
    outbox: {
      enqueue: (rows, event) => notified.push({ event, targets: rows.map(row => row.target) }),
      readFrom: () => {},
    },
    externalUrl: () => 'https://gate.example/',
    operationalTarget: () => operational,
    isDisabled: (kind, subject) => kind === 'input' && disabled.has(subject.name),
  });
}

const target = (id: string, text?: string): Target => ({
  settings: { id, type: 'test', systemFields: [] },
  concurrency: 1,
  fallback: undefined,
  batching: undefined,
  send: async () => ({ kind: 'sent' }),
  bulletinText: () => text,
});

const silent = (change: object = {}, conf: object = {}) =>
  configureNotification({
    id: 'silent',
    condition: 'no-data',
    targets: ['hook'],
    conf: { name: 'syslog:app', ...conf },
    ...change,
  });

async function start(...notifications: ReturnType<typeof silent>[]): Promise<void> {
  engine.configure(notifications, [target('hook'), target('second')]);
  await engine.start();
}

/** Advances the clock, and waits until every transition of each second is on disk. */
async function pass(seconds: number): Promise<void> {
  for (let second = 0; second < seconds; second++) {
    await clock.advance(1000);
    await engineIdle();
  }
}

async function engineIdle(): Promise<void> {
  // The writer answers in order: a read transaction behind the commits returns after them.
  await store.storage.transaction(async () => {});
  await clock.advance(0);
}

const statuses = (): string[] => notified.map(one => one.event.status);
const stored = async (): Promise<readonly IncidentRow[]> =>
  (await store.storage.in('default').incidents.list({}, { offset: 0, limit: 100 })).rows;

it('notifies once that an input is silent and once that it is back', async () => {
  await start(
    silent({ description: 'call the team', runbookUrl: 'https://runbook.example/1', severity: 'error' }),
  );
  await pass(59);
  expect(notified).toEqual([]);
  await pass(30);
  expect(statuses()).toEqual(['ALARM']);
  components.data(app);
  await pass(5);
  expect(statuses()).toEqual(['ALARM', 'OK']);
  const [alarm, ok] = notified.map(one => one.event);
  expect(alarm).toMatchObject({
    condition: 'no-data',
    cribl_notification: 'silent',
    input: 'syslog:app',
    origin_metadata: { type: 'input', id: 'app', subType: 'syslog' },
    _metric: 'total.in_bytes',
    bytes: 0,
    timeWindow: '60s',
    severity: 'error',
    description: 'call the team',
    runbookUrl: 'https://runbook.example/1',
    _raw: 'Source syslog:app had no data for 60s',
    __pipeline: 'edge',
  });
  expect(alarm?.incidentUrl).toBe(`https://gate.example/#/incidents/${alarm?.incidentId}`);
  expect(alarm?.silenceUrl).toBe(
    'https://gate.example/silences/new?matcher=cribl_notification%3Dsilent&matcher=pipeline%3Dedge&matcher=input%3Dsyslog%3Aapp',
  );
  expect(ok).not.toHaveProperty('silenceUrl');
  expect((alarm?.endtime ?? 0) - (alarm?.starttime ?? 0)).toBe(60);
  expect(ok).toMatchObject({ severity: 'info', incidentId: alarm?.incidentId });
  expect(ok?._raw).toMatch(/^Source syslog:app is receiving data again after 1m( \d+s)?$/);
  expect(await stored()).toMatchObject([{ state: 'closed', seq: 2, close_reason: 'resolved' }]);
});

it('adds the values of metadata at each transition, and omits a field that cannot be evaluated', async () => {
  await start(
    silent({
      metadata: [
        { name: 'env', value: "'production'" },
        { name: 'short', value: '`${status} ${input.split(":")[1]} in ${__pipeline}`' },
        { name: 'parts', value: '{ window: timeWindow, sizes: [bytes ?? -1] }' },
        { name: 'broken', value: 'output.trim()' },
        { name: 'nothing', value: 'output' },
        { name: '_metric', value: "'mine'" },
      ],
    }),
  );
  await pass(61);
  components.data(app);
  await pass(2);
  const [alarm, ok] = notified.map(one => one.event);
  expect(alarm).toMatchObject({
    env: 'production',
    short: 'ALARM app in edge',
    parts: { window: '60s', sizes: [0] },
    _metric: 'total.in_bytes',
    _raw: 'Source syslog:app had no data for 60s',
  });
  expect(ok).toMatchObject({ env: 'production', short: 'OK app in edge' });
  for (const event of [alarm, ok]) {
    expect(event).not.toHaveProperty('broken');
    expect(event).not.toHaveProperty('nothing');
  }
  expect(logged).toEqual([
    expect.stringMatching(/^an expression failed.*"notification":"silent","reason":"metadata\.broken: /),
  ]);
});

it('opens an incident for each component that a pattern matches', async () => {
  const other = components.add('other', { group: 'west' });
  await start(silent({}, { name: 'syslog:*' }));
  await pass(61);
  expect(notified.map(one => one.event._raw)).toEqual([
    'Source syslog:app had no data for 60s',
    'Source syslog:other in group west had no data for 60s',
  ]);
  components.data(other);
  await pass(2);
  expect(notified.at(-1)?.event).toMatchObject({ status: 'OK', input: 'syslog:other' });
});

it('reminds once a window while the incident lasts when resolution is not notified', async () => {
  await start(silent({}, { notifyOnResolution: false, timeWindow: '10s' }));
  await pass(41);
  expect(statuses()).toEqual(['ALARM', 'ALARM', 'ALARM', 'ALARM']);
  components.data(app);
  await pass(2);
  expect(statuses().at(-1)).toBe('OK');
  expect(new Set(notified.map(one => one.event.incidentId)).size).toBe(1);
  expect(new Set(notified.map(one => one.event.id)).size).toBe(notified.length);
});

it('reminds as often as repeatInterval says', async () => {
  await start(silent({ repeatInterval: '30s' }));
  await pass(121);
  expect(statuses()).toEqual(['ALARM', 'ALARM', 'ALARM']);
  const since = notified[0]?.event._time;
  expect(notified.map(({ event }) => [event.reminder, event.since])).toEqual([
    [undefined, since],
    [1, since],
    [2, since],
  ]);
  // Their text is the documented one.
  expect(new Set(notified.map(({ event }) => event._raw)).size).toBe(1);
});

it('waits for as long as the condition must hold', async () => {
  await start(silent({ for: '20s' }));
  await pass(79);
  expect(notified).toEqual([]);
  await pass(3);
  expect(statuses()).toEqual(['ALARM']);
});

it('forgets that a condition held when it stops holding before its time', async () => {
  await start(silent({ for: '20s' }));
  await pass(75);
  components.data(app);
  await pass(75);
  expect(notified).toEqual([]);
});

it('treats a name that was never seen as declared, and goes on with the component when it appears', async () => {
  await start(silent({}, { name: 'syslog:never' }));
  await pass(61);
  expect(notified[0]?.event).toMatchObject({
    input: 'syslog:never',
    _raw: 'Source syslog:never had no data for 60s: it was never seen',
  });
  const late = components.add('never');
  await pass(3);
  expect(statuses()).toEqual(['ALARM']);
  components.data(late);
  await pass(2);
  expect(statuses()).toEqual(['ALARM', 'OK']);
  await pass(70);
  expect(notified.at(-1)?.event._raw).toBe('Source syslog:never had no data for 60s');
});

it('opens nothing for a pattern that matches no component', async () => {
  await start(silent({}, { name: 'tcp:*' }));
  await pass(120);
  expect(notified).toEqual([]);
});

it('names the reason when the pipeline itself cannot be read', async () => {
  await start(silent());
  components.lose('edge', 'connection refused');
  await pass(61);
  expect(notified[0]?.event._raw).toBe(
    'Source syslog:app had no data for 60s: pipeline unreachable: connection refused',
  );
});

it('keeps an incident open over a restart and closes it only with data seen since', async () => {
  await start(silent());
  await pass(61);
  await engine.stop();
  engine = create();
  components.data(app); // The snapshot restored a silence from before the incident.
  await clock.advance(1);
  await start(silent());
  await pass(30);
  expect(statuses()).toEqual(['ALARM']);
  components.data(app);
  await pass(2);
  expect(statuses()).toEqual(['ALARM', 'OK']);
});

it('does not remind again at once after a restart', async () => {
  await start(silent({ repeatInterval: '1h' }));
  await pass(61);
  await engine.stop();
  engine = create();
  await start(silent({ repeatInterval: '1h' }));
  await pass(30);
  expect(statuses()).toEqual(['ALARM']);
});

it.each([
  ['disabled', () => [silent({ disabled: true })], 'the notification was disabled'],
  ['removed', () => [], 'the notification was removed'],
  ['changed in its conf', () => [silent({}, { timeWindow: '2h' })], 'the notification was changed'],
])(
  'closes the incident of a notification that was %s, and notifies the targets of its alarm',
  async (_, next, reason) => {
    await start(silent({ targets: ['second'] }));
    await pass(61);
    engine.configure(next(), [target('hook'), target('second')]);
    await pass(2);
    expect(notified.at(-1)).toMatchObject({ targets: ['second'], event: { status: 'OK' } });
    expect(notified.at(-1)?.event._raw).toContain(reason);
    expect(await stored()).toMatchObject([{ state: 'closed', close_reason: reason }]);
  },
);

it('closes after a start the incidents of notifications that were removed meanwhile', async () => {
  await start(silent());
  await pass(61);
  await engine.stop();
  engine = create();
  await start();
  await pass(2);
  expect(notified.at(-1)).toMatchObject({
    targets: ['hook'],
    event: { status: 'OK', cribl_notification: 'silent' },
  });
});

it('lets any other edit change later messages only', async () => {
  await start(silent());
  await pass(61);
  engine.configure([silent({ targets: ['second'], severity: 'fatal' })], [target('hook'), target('second')]);
  await pass(5);
  expect(statuses()).toEqual(['ALARM']);
  components.data(app);
  await pass(2);
  expect(notified.at(-1)?.targets).toEqual(['hook']);
});

it('closes incidents of a pipeline that was removed from the configuration', async () => {
  await start(silent({}, { name: '*' }));
  await pass(61);
  components.remove('edge');
  await pass(2);
  expect(notified.at(-1)?.event).toMatchObject({ status: 'OK', input: 'syslog:app' });
  expect(notified.at(-1)?.event._raw).toContain('pipeline edge was removed from the configuration');
});

it('notifies nothing that is not on disk, and notifies it as soon as the disk accepts it', async () => {
  await start(silent());
  refuse = new AppError('unavailable', 'disk full');
  await pass(70);
  expect(notified).toEqual([]);
  expect(await stored()).toEqual([]);
  refuse = undefined;
  await pass(2);
  expect(statuses()).toEqual(['ALARM']);
  expect(await stored()).toHaveLength(1);
});

it('keeps one row of the bulletin for a notification, counting what else is open', async () => {
  components.add('other');
  await start(silent({ targets: [] }, { name: '*' }));
  await pass(61);
  const messages = async () =>
    (await store.storage.in('default').messages.list({ offset: 0, limit: 10 })).rows;
  await until(async () => (await messages()).length === 1);
  expect((await messages())[0]).toMatchObject({
    id: 'silent',
    severity: 'warn',
    text: expect.stringMatching(
      /^Source syslog:other had no data for 60s \(1 more open: syslog:app\)\npipeline edge · host 127\.0\.0\.1:1 · since /,
    ),
  });
});

it('lets a bulletin_message target set the text of the bulletin', async () => {
  engine.configure([silent({ targets: ['bell'] })], [target('bell', 'Wake up')]);
  await engine.start();
  await pass(61);
  const { rows } = await store.storage.in('default').messages.list({ offset: 0, limit: 10 });
  expect(rows).toMatchObject([{ id: 'silent', text: 'Wake up' }]);
});

it('logs a failure in the text of the bulletin, with the target', async () => {
  const bell: Target = {
    ...target('bell'),
    bulletinText(event, { warn }) {
      warn('message: it failed');
      return event._raw;
    },
  };
  engine.configure([silent({ targets: ['bell'] })], [bell]);
  await engine.start();
  await pass(61);
  expect(logged).toEqual([
    'an expression failed: {"notification":"silent","target":"bell","reason":"message: it failed"}',
  ]);
});

it('shows the severity that a bulletin_message target sets while an incident is open, or that the event has', async () => {
  const bell: Target = { ...target('bell', 'Wake up'), bulletinSeverity: 'error' };
  const metadata = [{ name: '__severity', value: "input == 'syslog:other' ? 'critical' : null" }];
  components.add('other');
  engine.configure(
    [
      silent({ targets: ['bell'] }),
      silent({ id: 'own', targets: ['bell'], metadata }, { name: 'syslog:other' }),
    ],
    [bell],
  );
  await engine.start();
  await pass(61);
  const severities = async () => {
    const { rows } = await store.storage.in('default').messages.list({ offset: 0, limit: 10 });
    return Object.fromEntries(rows.map(({ id, severity }) => [id, severity]));
  };
  expect(await severities()).toEqual({ silent: 'error', own: 'fatal' });
  components.data(app);
  await pass(2);
  expect(await severities()).toEqual({ silent: 'info', own: 'fatal' });
});

it('is not affected by a step of the wall clock in either direction', async () => {
  await start(silent());
  clock.step(86_400_000);
  await pass(30);
  clock.step(-2 * 86_400_000);
  await pass(20);
  expect(notified).toEqual([]);
  await pass(12);
  expect(statuses()).toEqual(['ALARM']);
  clock.step(-3_600_000);
  components.data(app);
  await pass(2);
  expect(statuses()).toEqual(['ALARM', 'OK']);
});

it('notifies what cannot be read back after a conflict as soon as it can be written', async () => {
  await start(silent());
  [refuse, unreadable] = [new AppError('conflict', 'taken'), new AppError('unavailable', 'busy')];
  await pass(65);
  expect(notified).toEqual([]);
  [refuse, unreadable] = [undefined, undefined];
  await pass(2);
  expect(statuses()).toEqual(['ALARM']);
});

it('does not start the pending time again when the disk refused an alarm that was pending long enough', async () => {
  await start(silent({ for: '30s' }));
  refuse = new AppError('unavailable', 'disk full');
  await pass(95);
  refuse = undefined;
  await pass(2);
  expect(statuses()).toEqual(['ALARM']);
});

it('does not report an input as never seen when it is gone for less than a window because its pipeline is read anew', async () => {
  await start(silent());
  await pass(300);
  components.remove('edge');
  notified.length = 0;
  await pass(50);
  expect(statuses()).toEqual(['OK']);
  components.data(components.add('app'));
  await pass(50);
  expect(statuses()).toEqual(['OK']);
});

it('notifies nothing of an input that is gone for a moment while it is well', async () => {
  await start(silent());
  for (let time = 0; time < 10; time++) {
    components.data(app);
    await pass(30);
  }
  components.remove('edge');
  await pass(30);
  components.add('app');
  await pass(30);
  expect(notified).toEqual([]);
});

it('evaluates all others when one notification cannot be evaluated, and logs that once', async () => {
  const broken = silent({ id: 'broken' });
  const rule = {
    ...broken.rule,
    evaluate: () => {
      throw new Error('cannot judge');
    },
  };
  await start({ ...broken, rule }, silent());
  await pass(65);
  expect(statuses()).toEqual(['ALARM']);
  expect(logged).toEqual(['a notification cannot be evaluated']);
});

it('reads the state of each pipeline once in a pass, however many incidents are open', async () => {
  for (let count = 0; count < 50; count++) components.add(`more-${count}`);
  let asked = 0;
  const { pipeline } = components;
  components.pipeline = id => {
    asked++;
    return pipeline(id);
  };
  await start(silent({}, { name: '*' }));
  await pass(62);
  expect(notified).toHaveLength(51);
  asked = 0;
  await pass(10);
  expect(asked).toBeLessThanOrEqual(21);
});

it('does not evaluate silence again before it can have lasted, and then notifies it in that very second', async () => {
  for (let count = 0; count < 50; count++) components.add(`more-${count}`);
  let asked = 0;
  const { silentMs } = components;
  components.silentMs = component => {
    asked++;
    return silentMs(component);
  };
  await start(silent({}, { name: '*' }));
  await pass(30);
  const [first] = components.all();
  if (first !== undefined) components.data(first);
  await pass(29);
  expect(asked).toBeLessThanOrEqual(102);
  expect(notified).toEqual([]);
  await pass(1);
  expect(notified).toHaveLength(50);
  await pass(29);
  expect(notified).toHaveLength(50);
  await pass(1);
  expect(notified).toHaveLength(51);
});

it('retains components with an open incident and those that a notification names exactly', async () => {
  const [named, other] = [components.add('named'), components.add('other')];
  await start(
    silent({}, { name: 'syslog:a*' }),
    silent({ id: 'exact' }, { name: 'named', timeWindow: '48h' }),
  );
  expect([app, named, other].map(one => engine.retains(one))).toEqual([false, true, false]);
  await pass(62);
  expect([app, named, other].map(one => engine.retains(one))).toEqual([true, true, false]);
});

it('closes the incident of an input that is disabled, and opens none while it is', async () => {
  await start(silent());
  await pass(60);
  expect(statuses()).toEqual(['ALARM']);
  disabled.add('syslog:app');
  await pass(600);
  expect(statuses()).toEqual(['ALARM', 'OK']);
  expect(await stored()).toMatchObject([{ state: 'closed', close_reason: 'the input was disabled' }]);
});

it('gives an input that is enabled again a whole window before its silence counts', async () => {
  disabled.add('syslog:app');
  await start(silent());
  await pass(600);
  disabled.clear();
  await pass(59);
  expect(notified).toEqual([]);
  await pass(1);
  expect(statuses()).toEqual(['ALARM']);
});

it('opens nothing for a name that was never seen and is declared as disabled', async () => {
  disabled.add('syslog:never');
  await start(silent({}, { name: 'syslog:never' }));
  await pass(600);
  expect(notified).toEqual([]);
});

it('notifies a target that was removed together with its notification of the resolution', async () => {
  await start(silent());
  await pass(61);
  engine.configure([], [target('second')], [target('hook')]);
  await pass(2);
  expect(notified.at(-1)).toMatchObject({ targets: ['hook'], event: { status: 'OK' } });
});

it('notifies a target that was removed while the incident lasts of its resolution, and of nothing else', async () => {
  await start(silent({ targets: ['hook', 'second'], repeatInterval: '30s' }));
  await pass(61);
  engine.configure(
    [silent({ targets: ['second'], repeatInterval: '30s' })],
    [target('second')],
    [target('hook')],
  );
  await pass(30);
  expect(notified.at(-1)).toMatchObject({ targets: ['second'], event: { status: 'ALARM' } });
  components.data(app);
  await pass(2);
  expect(notified.at(-1)).toMatchObject({ targets: ['hook', 'second'], event: { status: 'OK' } });
});

const HEALTH_CHANGES = { failing: 'failing', exhausted: 'exhausted', recovered: 'recovered' } as const;

function reportHealth(state: keyof typeof HEALTH_CHANGES, id = 'hook', notification = 'silent'): void {
  const change = { state: HEALTH_CHANGES[state], reason: 'status 410' };
  results.publish({ kind: 'health', target: id, change, notification });
}

const health = () =>
  notified.map(({ event, targets }) => ({
    text: event._raw,
    status: event.status,
    target: event.target,
    targets,
  }));

it('opens an incident of a target that fails, notifies the first loss, and closes it when the target is well', async () => {
  operational = 'second';
  await start();
  reportHealth('failing');
  await pass(1);
  reportHealth('exhausted');
  await pass(299);
  reportHealth('recovered');
  await pass(1);
  expect(health()).toEqual([
    { text: 'Target hook is failing: status 410', status: 'ALARM', target: 'hook', targets: ['second'] },
    {
      text: 'Target hook gave up a delivery: status 410',
      status: 'ALARM',
      target: 'hook',
      targets: ['second'],
    },
    { text: 'Target hook is delivering again after 5m', status: 'OK', target: 'hook', targets: ['second'] },
  ]);
  expect(await stored()).toMatchObject([
    {
      notification: 'headgate-target-health',
      condition: 'target-failing',
      state: 'closed',
      severity: 'error',
    },
  ]);
});

it('shows what concerns operational deliveries on the bulletin only', async () => {
  operational = 'second';
  await start();
  reportHealth('failing', 'second');
  reportHealth('failing', 'hook', 'headgate-target-health');
  await pass(1);
  expect(health().map(({ targets }) => targets)).toEqual([[], []]);
  const message = await store.storage.in('default').messages.get('headgate-target-health');
  expect(message?.text).toContain('is failing: status 410 (1 more open: second)');
});

it('notifies that a target fails once the disk accepts it', async () => {
  await start();
  refuse = new AppError('unavailable', 'the disk is full');
  reportHealth('failing');
  await pass(3);
  expect(notified).toEqual([]);
  refuse = undefined;
  await pass(1);
  expect(health()).toMatchObject([{ target: 'hook', status: 'ALARM' }]);
});

it('closes the incident of a failing target that is removed and back at once, and notifies nothing of removed ones', async () => {
  await start();
  reportHealth('failing');
  await pass(1);
  const [rules, all] = [[silent()], [target('hook'), target('second')]];
  engine.configure(rules, [target('second')]);
  reportHealth('failing');
  engine.configure(rules, all);
  await pass(1);
  expect(health().map(({ text }) => text)).toEqual([
    'Target hook is failing: status 410',
    'Closed, target hook was removed',
  ]);
  reportHealth('failing');
  await pass(1);
  expect(health().at(-1)).toMatchObject({ text: 'Target hook is failing: status 410', status: 'ALARM' });
});

it('resumes the incident of a failing target after a restart, and closes it when the target is removed', async () => {
  await start();
  reportHealth('failing');
  await pass(1);
  await engine.stop();
  engine = create();
  engine.configure([], [target('second')], [target('hook')]);
  await engine.start();
  await pass(2);
  expect(health().at(-1)).toMatchObject({ text: 'Closed, target hook was removed', status: 'OK' });
});
