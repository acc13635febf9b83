import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type ContractAnswer, contractServer } from '../../../../test/helpers/contract-server.ts';
import { noDial } from '../../../../test/helpers/no-http.ts';
import { ROBOT_SECRET, type ServiceStub, serviceStubs } from '../../../../test/helpers/services.ts';
import type { HeadgateEvent } from '../../../events/event.ts';
import { systemClock } from '../../../lib/clock.ts';
import { createHttpClient } from '../../../lib/http/client.ts';
import type { Outcome } from '../../outcome.ts';
import { webhook } from '../webhook.ts';
import { presets } from './index.ts';
import type { Preset } from './preset.ts';

const alarm: HeadgateEvent = {
  id: 'e1',
  status: 'ALARM',
  condition: 'no-data',
  cribl_notification: 'app_silent',
  input: 'syslog:app',
  severity: 'error',
  incidentId: '019b7754-b6e0-7000-8000-000000000001',
  incidentUrl: 'https://headgate.example/#/incidents/019b7754',
  description: 'The application of the shop.',
  runbookUrl: 'https://wiki.example/app-silent',
  _raw: 'Source syslog:app had no data for 60s',
  _time: 1_767_225_660,
  starttime: 1_767_225_600,
  endtime: 1_767_225_660,
  cribl_host: 'headgate',
};
const end: HeadgateEvent = {
  ...alarm,
  id: 'e2',
  status: 'OK',
  severity: 'info',
  _raw: 'It is back after 2m',
  _time: 1_767_225_736,
};

/** Long, and with everything that markup, mentions and encodings mean. */
const HOSTILE = `"\\ \u0000\u2028\r\n<at user_id="all"></at> <users/all> @all @channel @here @**all** & + % 🚨 € a\ud800b `;
const huge: HeadgateEvent = {
  ...alarm,
  id: 'e3',
  _raw: HOSTILE.repeat(300),
  description: '🚨€'.repeat(4000),
  input: `syslog:${'ü€🚨'.repeat(400)}`,
  cribl_notification: 'n'.repeat(512),
  incidentUrl: `https://headgate.example/${'x'.repeat(3000)}`,
};
/** What JSON, forms, UTF-8 and mentions make longer, or cannot hold. */
const FILLINGS = ['x', '"', '\n', '\0', '\u0085', '\ud800', '€', '🚨', '@', '<at', '<users/', '%'];

/** Nothing but what every event has. */
const bare: HeadgateEvent = {
  id: 'e4',
  status: 'ALARM',
  condition: 'test',
  cribl_notification: 'test',
  severity: 'info',
  incidentId: 'i4',
  _raw: 'x',
  _time: 1,
  starttime: 1,
  endtime: 1,
};

let service: Awaited<ReturnType<typeof contractServer>>;
let stub: ServiceStub;
let answer: ContractAnswer | undefined;

beforeEach(async () => {
  answer = undefined;
  service = await contractServer(received => answer ?? stub.answer(received));
});
afterEach(() => service.stop());

const ADDRESSES: Readonly<Record<string, string>> = {
  telegram: '/bot123456:key-of-the-service/sendMessage',
};

/** The example of a preset, at the stub. */
function settingsOf({ name, example }: Preset): Record<string, unknown> {
  const keys = JSON.parse(
    JSON.stringify(example)
      .replaceAll('${secret:pushover_user}', 'key-of-the-person')
      .replaceAll(/\$\{secret:\w+_url\}/g, `https://service.example${ADDRESSES[name] ?? '/hook/key'}`)
      .replaceAll(/\$\{secret:\w+\}/g, 'key-of-the-service'),
  );
  const { pathname, search } = new URL(keys.url);
  return { id: 't', type: 'webhook', preset: name, ...keys, url: `${service.url}${pathname}${search}` };
}

async function send(
  preset: Preset,
  events: readonly HeadgateEvent[],
  more: object = {},
): Promise<{ outcome: Outcome; warnings: string[] }> {
  stub = stubs[preset.name] ?? stub;
  const http = createHttpClient({ privateAddresses: 'allow', allowedAddresses: [], clock: systemClock });
  const warnings: string[] = [];
  const outcome = await webhook.configure({ ...settingsOf(preset), ...more }).send(events, {
    deliveryId: 'd1',
    http,
    dial: noDial,
    secretOf: () => undefined,
    clock: systemClock,
    signal: new AbortController().signal,
    logFolder: '/nowhere',
    knownFields: new Set(['incidentId']),
    warn: reason => void warnings.push(reason),
  });
  await http.close();
  return { outcome, warnings };
}

let stubs = serviceStubs();
beforeEach(() => {
  stubs = serviceStubs();
});

test('every preset has a stub of its service, and no two have one name', () => {
  expect(presets.map(({ name }) => name)).toEqual([...new Set(presets.map(({ name }) => name))]);
  expect(presets.map(({ name }) => name).sort()).toEqual(Object.keys(stubs).sort());
});

describe.each(presets.map(preset => [preset.name, preset] as const))('%s', (_, preset) => {
  const TAKEN = { outcome: { kind: 'sent' }, warnings: [] };

  test('takes an alarm and its end', async () => {
    expect(await send(preset, [alarm])).toMatchObject(TAKEN);
    const target = webhook.configure(settingsOf(preset));
    if (target.skipReason?.(end) === undefined) expect(await send(preset, [end])).toMatchObject(TAKEN);
    else expect(preset.success).toContain('Ends are skipped');
  });

  test('takes the longest and the shortest alarm, cut to its limits', async () => {
    expect(await send(preset, [huge])).toMatchObject(TAKEN);
    expect(await send(preset, [bare])).toMatchObject(TAKEN);
  });

  test.each([...FILLINGS])('takes alarms and ends of nothing but %j, cut to its limits', async filling => {
    const text = filling.repeat(40_000 / filling.length);
    const link = `https://headgate.example/${'x'.repeat(9000)}`;
    const texts = { _raw: text, description: text, host: text, input: `syslog:${text.slice(0, 2000)}` };
    const filled = { ...alarm, ...texts, incidentUrl: link, runbookUrl: link };
    const short = { ...filled, runbookUrl: alarm.runbookUrl, incidentUrl: link.slice(0, 900) };
    const target = webhook.configure(settingsOf(preset));
    for (const event of [filled, short, { ...filled, id: 'e6', status: 'OK' } as const])
      if (target.skipReason?.(event) === undefined) expect(await send(preset, [event])).toMatchObject(TAKEN);
  });

  test('cuts texts that are longer than any that an expression makes', async () => {
    const texts = { _raw: 'x'.repeat(150_000), description: 'y'.repeat(100_000) };
    expect(await send(preset, [{ ...alarm, ...texts }])).toMatchObject(TAKEN);
  });

  test('takes as many at once as it is sent', async () => {
    const { batching } = webhook.configure(settingsOf(preset));
    const several = [alarm, { ...alarm, id: 'e5', incidentId: 'i5' }, huge].slice(0, batching?.maxEvents);
    expect(await send(preset, several)).toMatchObject(TAKEN);
  });

  test('refuses what its service refuses, and waits where that asks to', async () => {
    stub = stubs[preset.name] ?? stub;
    expect(stub.failures.length).toBeGreaterThan(0);
    for (const [failure, kind] of stub.failures) {
      answer = failure;
      const sent = await send(preset, [alarm]);
      expect(sent, JSON.stringify(failure)).toMatchObject({ outcome: { kind }, warnings: [] });
    }
  });

  test('is refused by the stub when what it needs is missing', async () => {
    const { outcome } = await send(preset, [alarm], { srcExpression: '"nothing"', format: 'ndjson' });
    expect(outcome.kind).toBe('refused');
  });

  test('answers of any kind fail nothing', async () => {
    for (const body of ['', '[', 'null', '"x"', '1', '[]', '{"errcode":{}}', '\ufffd'.repeat(40_000)]) {
      answer = { status: 200, body };
      const { outcome, warnings } = await send(preset, [alarm]);
      expect([outcome.kind, warnings]).toEqual([expect.stringMatching(/^(sent|refused|retry)$/), []]);
    }
  });

  test('keeps what one sets oneself', async () => {
    const own = webhook.configure({ ...settingsOf(preset), srcExpression: '{ own: 1 }', pacing: '7/hour' });
    expect(JSON.parse(JSON.stringify(own.settings))).toMatchObject({
      srcExpression: '{ own: 1 }',
      pacing: expect.objectContaining({}),
      successExpression: preset.settings.successExpression,
    });
    expect(String(own.settings.pacing?.text)).toBe('7/hour');
  });
});

test('an end goes to the address that closes the alert, with the query of both', async () => {
  const opsgenie = presets.find(({ name }) => name === 'opsgenie');
  if (opsgenie === undefined) throw new Error('there is no opsgenie');
  await send(opsgenie, [alarm]);
  await send(opsgenie, [end]);
  expect(service.received.map(({ method, path }) => `${method} ${path}`)).toEqual([
    'POST /v2/alerts',
    `POST /v2/alerts/${alarm.incidentId}/close?identifierType=alias`,
  ]);
});

const problemsOf = (settings: object): string[] => {
  const read = webhook.schema.safeParse({
    id: 't',
    type: 'webhook',
    url: 'https://hooks.example/x',
    ...settings,
  });
  return read.success ? [] : read.error.issues.map(({ path, message }) => `${path.join('.')}: ${message}`);
};

test('what a preset needs is required by its name, and what it does not know is refused', () => {
  expect(problemsOf({ preset: 'telegram' })).toEqual([
    "options.chat_id: is required with preset 'telegram': Id of the chat, or `@name` of a channel.",
  ]);
  expect(problemsOf({ preset: 'telegram', options: { chat_id: '1', chatid: '2' } })).toEqual([
    "options.chatid: is no option of preset 'telegram'; it has chat_id, message_thread_id",
  ]);
  expect(problemsOf({ preset: 'teams', secretOptions: { token: 'x' } })).toEqual([
    "secretOptions.token: is no secret option of preset 'teams'; it has none",
  ]);
  expect(problemsOf({ options: { chat_id: '1' } })).toEqual([
    "options.chat_id: is for a preset; set 'preset', or remove it",
  ]);
  expect(problemsOf({ preset: 'team' })).toHaveLength(1);
});

test.each(['dingtalk', 'feishu'])(
  'a robot of %s that wants signatures takes those by its secret, and no others',
  async name => {
    const preset = presets.find(one => one.name === name);
    if (preset === undefined) throw new Error(`there is no ${name}`);
    const url = `${service.url}/hook?access_token=a%20b&signed=1`;
    expect((await send(preset, [alarm], { url })).outcome).toMatchObject({
      kind: 'refused',
      httpStatus: 200,
    });
    const wrong = { url, secretOptions: { secret: 'SEC-of-another' } };
    expect((await send(preset, [alarm], wrong)).outcome).toMatchObject({ kind: 'refused' });
    const right = { url, secretOptions: { secret: ROBOT_SECRET } };
    for (const event of [alarm, end, huge])
      expect((await send(preset, [event], right)).outcome).toMatchObject({ kind: 'sent' });
    expect(service.received.every(({ path }) => path?.startsWith('/hook?access_token=a%20b&signed=1'))).toBe(
      true,
    );
    expect(JSON.stringify(service.received.map(({ path, body }) => [path, body]))).not.toContain('SEC-of');
  },
);
