import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { type Condition, conditions } from '../src/conditions/index.ts';
import { withDeliveryHints } from '../src/events/delivery-hints.ts';
import type { HeadgateEvent } from '../src/events/event.ts';
import { withoutInternal } from '../src/events/system-fields.ts';
import { systemClock } from '../src/lib/clock.ts';
import { createDial } from '../src/lib/dial.ts';
import { createHttpClient } from '../src/lib/http/client.ts';
import { monotonicIds } from '../src/lib/ids.ts';
import { collectFacts, transition } from '../src/notifications/incidents/transition.ts';
import { findTargetType, targetTypes } from '../src/targets/index.ts';
import { presets } from '../src/targets/webhook/presets/index.ts';
import { anyReceiver } from './helpers/any-receiver.ts';
import { testComponents } from './helpers/components.ts';
import { networkTargets } from './helpers/target-samples.ts';
import { incidentRow } from './storage/rows.ts';

const NOW = Date.UTC(2026, 0, 1, 0, 30);
const clock = { now: () => NOW, monotonic: () => 0 };
const BY_COMPONENT = ['input', 'output', 'either'];

/** The second reminder of an incident that has been open for 25 minutes, as the engine makes it. */
async function reminderOf({ id, kind, sample }: Condition): Promise<HeadgateEvent> {
  const table = testComponents(clock);
  const component = {
    ...table.add('app'),
    kind: kind === 'output' ? ('output' as const) : ('input' as const),
  };
  const pipeline = kind === 'pipeline' ? table.pipeline('edge') : undefined;
  const subject = {
    ...{ key: 'edge/syslog:app', name: 'syslog:app' },
    component: BY_COMPONENT.includes(kind) ? component : undefined,
    ...(pipeline && { pipeline }),
  };
  const facts = await collectFacts(
    { subject, pipeline: undefined, status: 'ALARM' },
    {
      components: { ...table, hosts: () => ['edge-1:9598'], lastDataAt: () => NOW - 26 * 60_000 },
      usualRates: async () => ({ eventsPerSecond: 120, bytesPerSecond: 34_100 }),
    },
  );
  const { event } = transition({
    ...{
      workspace: 'w',
      subject,
      facts,
      status: 'ALARM',
      recipients: ['t'],
      now: NOW,
      ids: monotonicIds(clock),
    },
    origin: {
      ...{ id: 'some_alarm', condition: id, subjectKind: kind, windowMs: 60_000, fingerprint: 'f' },
      ...{ grouping: undefined, targetConfigs: { smtp: { emailRecipient: { to: 'ops@example.com' } } } },
      settings: { severity: 'warn' },
    },
    description: { text: 'It is not well', fields: sample?.fields ?? {} },
    incident: incidentRow({ opened_at: NOW - 25 * 60_000, reminders: 1 }),
    ...{ isReminder: true, closeReason: undefined, externalUrl: 'https://headgate.example' },
    fieldOmitted: () => {},
    bulletin: () => ({
      ...{
        id: 'some_alarm',
        severity: 'warn',
        title: '',
        text: '',
        time: NOW,
        group_name: null,
        metadata: null,
      },
    }),
  });
  return withDeliveryHints(withoutInternal(event), event);
}

/** What of the message of an event reaches its reader, in the clear. */
async function messageOf(
  event: HeadgateEvent,
  settings: { readonly type: string; readonly [name: string]: unknown },
): Promise<string> {
  const { port, heard } = await anyReceiver();
  const logFolder = await mkdtemp(join(tmpdir(), 'headgate-facts-'));
  onTestFinished(() => rm(logFolder, { recursive: true, force: true }));
  const policy = { privateAddresses: 'allow', allowedAddresses: [] } as const;
  const http = createHttpClient({ ...policy, clock: systemClock });
  onTestFinished(() => http.close());
  const ofNetwork = networkTargets('127.0.0.1', port).find(one => one.type === settings.type);
  const target = findTargetType(settings.type)?.configure({ id: 't', ...ofNetwork, ...settings });
  if (target === undefined) throw new Error(`there is no type ${settings.type}`);
  const bulletin = target.bulletinText(event, { warn: () => {}, knownFields: new Set() });
  if (bulletin !== undefined) return bulletin;
  const { signal } = new AbortController();
  const context = { deliveryId: 'd1', http, dial: createDial(policy), clock: systemClock, logFolder, signal };
  await target.send([event], { ...context, secretOf: () => undefined });
  if (target.logFolders?.length) return readFile(join(logFolder, 'notifications.log'), 'utf8');
  return inTheClear(heard().toString());
}

/** Undoes quoted-printable, forms and the escapes of JSON, as far as they matter here. */
function inTheClear(sent: string): string {
  const text = sent
    .replace(/=\r\n/g, '')
    .replace(/=([0-9A-F]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))
    .replaceAll('+', ' ')
    .replaceAll('\\"', '"');
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** What a person reads, or a program: the same facts as texts or as fields. */
const FACTS: Readonly<Record<string, RegExp>> = {
  pipeline: /pipeline: edge|pipeline edge|"pipeline":"edge"/i,
  host: /host:? "?edge-1:9598|"host":"edge-1:9598"|"?host"?:? ?"?127\.0\.0\.1:1\b/i,
  'last data': /last data:? (2026-01-01 00:04:00 UTC|<!date\^1767225840)|"lastDataAt":1767225840/i,
  'usual rate':
    /usual rate:? 120 events\/s, 34\.1 kB\/s|"usualEventsPerSecond":120,"usualBytesPerSecond":34100/i,
  since: /still, for 25m|"since":1767225900/,
  'reminder number': /\(reminder 2\)|"reminder":2/,
};
const factsOf = ({ kind }: Condition): readonly string[] =>
  BY_COMPONENT.includes(kind)
    ? Object.keys(FACTS)
    : [...(kind === 'pipeline' ? ['pipeline', 'host'] : []), 'since', 'reminder number'];

const senders = targetTypes.filter(({ configure: _, ...type }) => !['router', 'default'].includes(type.type));

test.each(senders.map(({ type }) => type))(
  'messages of %s stand alone, whatever the condition',
  async type => {
    for (const condition of conditions) {
      const event = await reminderOf(condition);
      const message = await messageOf(event, { type });
      const missing = factsOf(condition).filter(fact => FACTS[fact]?.test(message) !== true);
      expect([condition.id, missing, missing.length > 0 ? message : '']).toEqual([condition.id, [], '']);
      // The bulletin is read where the incident is.
      if (type !== 'bulletin_message') expect(message).toContain(`/#/incidents/${event.incidentId}`);
    }
  },
);

/** A status page shows states, and no texts. */
const TEXTLESS = ['statuspage'];

test.each(
  presets.filter(({ name }) => !TEXTLESS.includes(name)).map(preset => [preset.name, preset] as const),
)('messages of preset %s stand alone', async (_, { name, options = {}, secretOptions = {} }) => {
  const [condition] = conditions;
  if (condition === undefined) throw new Error('there is no condition');
  const given = (names: object) => Object.fromEntries(Object.keys(names).map(key => [key, '1']));
  const message = await messageOf(await reminderOf(condition), {
    ...{ type: 'webhook', preset: name },
    ...{ options: given(options), secretOptions: given(secretOptions) },
  });
  const missing = Object.keys(FACTS).filter(fact => FACTS[fact]?.test(message) !== true);
  expect([missing, missing.length > 0 ? message : '']).toEqual([[], '']);
});
