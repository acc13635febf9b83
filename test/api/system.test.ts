import { readFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { writeFileText } from '../acceptance/files.ts';
import { type ApiServer, startApiServer } from './api-server.ts';
import { jsonCaller } from './json.ts';

const TOKEN = 'token-of-the-engine';
const SETTINGS = `# ours
instance:
  name: north   # by the sea
pipelines:
  - {id: own, engine: custom, push: true, token: ${TOKEN}}
`;

let server: ApiServer;
let call: ReturnType<typeof jsonCaller>;

beforeAll(async () => {
  server = await startApiServer({});
  call = jsonCaller(server);
});

afterAll(() => server.stop());

const file = (): string => readFileSync(join(server.config, 'headgate.yml'), 'utf8');

async function given(text = SETTINGS): Promise<void> {
  writeFileText(server.config, 'headgate.yml', text);
  expect((await call('DELETE', '/notifications/nobody')).status).toBe(404);
}

describe('/system/messages', () => {
  const message = { id: 'outage', title: 'Outage', text: 'The mains fail at noon.', severity: 'warn' };

  it('keeps what people write, newest first, and gives it back', async () => {
    const created = await call('POST', '/system/messages', {
      ...message,
      time: 1_700_000_000_000,
      group: 'shop',
      metadata: [{ floor: 2 }],
    });
    expect(created).toMatchObject({
      status: 200,
      body: { count: 1, items: [{ ...message, group: 'shop' }] },
    });
    expect((await call('GET', '/system/messages/outage')).body).toEqual(created.body);
    await call('POST', '/system/messages', { ...message, id: 'older', time: 1_600_000_000 });
    const { items } = (await call('GET', '/system/messages')).body;
    expect(items).toMatchObject([
      { id: 'outage', time: 1_700_000_000_000, metadata: [{ floor: 2 }] },
      { id: 'older', time: 1_600_000_000_000 },
    ]);
  });

  it('sets the time itself when none is given', async () => {
    const { time } = (await call('POST', '/system/messages', { ...message, id: 'now' })).body.items[0];
    expect(Math.abs(Date.now() - time)).toBeLessThan(60_000);
  });

  it('writes each id once and has no way to change it', async () => {
    await call('POST', '/system/messages', { ...message, id: 'once' });
    expect(
      (await call('POST', '/system/messages', { ...message, id: 'once', text: 'other' })).body.code,
    ).toBe('conflict');
    expect((await call('GET', '/system/messages/once')).body.items[0].text).toBe(message.text);
    expect((await call('PATCH', '/system/messages/once', message)).status).toBe(405);
  });

  it('answers what it cleared, and nothing the second time', async () => {
    await call('POST', '/system/messages', { ...message, id: 'gone' });
    expect((await call('DELETE', '/system/messages/gone')).body).toMatchObject({
      count: 1,
      items: [{ id: 'gone' }],
    });
    expect(await call('DELETE', '/system/messages/gone')).toMatchObject({
      status: 200,
      body: { items: [], count: 0 },
    });
    expect((await call('GET', '/system/messages/gone')).status).toBe(404);
  });

  it.each([
    ['no text', { text: undefined }, 'text'],
    ['an unknown severity', { severity: 'high' }, 'severity'],
    ['a slash in the id', { id: 'a/b' }, 'id'],
    ['an unknown key', { colour: 'red' }, ''],
    ['a time that is no number', { time: 'noon' }, 'time'],
    ['metadata that is no list', { metadata: {} }, 'metadata'],
  ])('refuses %s', async (_, change, path) => {
    const answer = await call('POST', '/system/messages', { ...message, id: 'wrong', ...change });
    expect(answer).toMatchObject({ status: 400, body: { errors: [{ path }] } });
  });
});

describe('/conditions', () => {
  it('tells what there is to wait for, with the JSON Schema of its conf', async () => {
    const { items } = (await call('GET', '/conditions')).body;
    const found = items.find(({ id }: { id: string }) => id === 'no-data');
    expect(found).toMatchObject({
      name: 'No Data Received',
      type: 'metric',
      category: 'sources',
      description: expect.any(String),
      schema: {
        type: 'object',
        required: ['name'],
        additionalProperties: false,
        properties: { timeWindow: { type: 'string', format: 'duration', default: '60s' } },
      },
    });
    expect((await call('GET', '/conditions/no-data')).body.items).toEqual([found]);
    expect((await call('GET', '/m/default/conditions/no-data')).body.items).toEqual([found]);
    expect((await call('GET', '/conditions/no-luck')).status).toBe(404);
    expect((await call('GET', '/conditions?category=none')).body.count).toBe(0);
    expect((await call('POST', '/conditions', {})).status).toBe(405);
  });
});

describe('/system/config/check', () => {
  it('says of a text what headgate check would, and changes nothing', async () => {
    await given();
    const files = { 'notifications.yml': 'targets:\n  - {id: hook, type: webhok}\n' };
    const { body } = await call('POST', '/system/config/check', { files });
    expect(body.items[0]).toMatchObject({
      ok: false,
      errors: [{ file: expect.stringMatching(/notifications\.yml$/), line: 2, path: 'targets[0].type' }],
    });
    expect((await call('POST', '/system/config/check', { files: {} })).body.items[0].ok).toBe(true);
    expect((await call('GET', '/notification-targets')).body.count).toBe(0);
    expect(file()).toBe(SETTINGS);
  });

  it('says what a body must hold that names no files', async () => {
    const { status, body } = await call('POST', '/system/config/check', { text: 'targets: []' });
    expect(status).toBe(400);
    expect(body.message).toContain('must map names of files (headgate.yml, notifications.yml');
  });

  it.each([
    ['no files', {}],
    ['another file', { files: { 'passwd.yml': '' } }],
    ['a path', { files: { '../headgate.yml': '' } }],
    ['a text that is none', { files: { 'headgate.yml': 7 } }],
  ])('refuses %s', async (_, body) => {
    expect((await call('POST', '/system/config/check', body)).status).toBe(400);
  });

  it('shows nothing of what a reference in the text stands for, nor whether there is such a thing', async () => {
    await given();
    await call('PUT', '/system/secrets/hidden', { value: 'do-not-show-this' });
    const path = writeFileText(server.data, 'other-secret', 'do-not-show-this');
    const nothing = path.replace('other-secret', 'other-absent');
    /** What is said of a text that is full of the reference. */
    const said = async (reference: string): Promise<string> => {
      const pipeline = `{id: '${reference}', engine: vector, url: '${reference}', interval: '${reference}'}`;
      const text = [
        `instance: {name: '${reference}'}`,
        `api: {host: '${reference}', port: '${reference}', loginRateLimit: '${reference}'}`,
        `delivery: {retrySchedule: ['${reference}'], privateAddresses: '${reference}'}`,
        `pipelines: [${pipeline}, ${pipeline}]`,
      ].join('\n');
      const target = `{id: hook, type: webhook, url: '${reference}', authType: token, token: '${reference}'}`;
      const files = { 'headgate.yml': text, 'notifications.yml': `targets: [${target}]` };
      const answer = await call('POST', '/system/config/check', { files });
      expect(answer.status).toBe(200);
      expect(answer.text).not.toContain('do-not-show-this');
      return answer.text.replaceAll(reference, 'it').replaceAll('absent', 'secret');
    };
    expect(await said(`\${file:${path}}`)).toBe(await said(`\${file:${nothing}}`));
    expect(await said('${secret:hidden}')).toBe(await said('${secret:absent}'));
    expect(await said('${env:HOME}')).toBe(await said('${env:NONE}'));
  });

  it('takes a text whose references are left alone as valid, with a warning for each', async () => {
    await given();
    const text =
      "api: {authTokenTTL: '${env:TTL}'}\npipelines: [{id: a, engine: custom, push: true, token: '${env:X}'}]";
    const { body } = await call('POST', '/system/config/check', { files: { 'headgate.yml': text } });
    expect(body.items[0]).toMatchObject({
      ok: true,
      errors: [],
      warnings: [{ path: 'api.authTokenTTL' }, { path: 'pipelines[0].token' }],
    });
  });
});

it('tells what the server runs on', async () => {
  expect((await call('GET', '/system/info')).body.items[0]).toMatchObject({
    hostname: hostname(),
    version: expect.any(String),
    distMode: 'single',
    uptime: expect.any(Number),
    memory: { free: expect.any(Number), total: expect.any(Number) },
    loadavg: [expect.any(Number), expect.any(Number), expect.any(Number)],
  });
});
