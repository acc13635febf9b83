import { readdirSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { noData, writeFileText } from '../acceptance/files.ts';
import { listenLocally } from '../acceptance/listen-locally.ts';
import { type ApiServer, startApiServer } from './api-server.ts';
import { type JsonAnswer, jsonCaller } from './json.ts';

const TOKEN = 'tok-4f1c-9d-by-api';
const NEXT = 'tok-8e22-71-by-api';
const HAND = 'tok-by-hand-55aa';
const PUSH = 'token-of-a-pipeline';
const CHAT = 'T0000-B0000-XXXXYYYYZZZZ';
const MASK = '********';

let server: ApiServer;
let call: (...request: Parameters<ReturnType<typeof jsonCaller>>) => Promise<JsonAnswer>;
let sink: Awaited<ReturnType<typeof listenLocally>>;
const received: (string | undefined)[] = [];
const answers: string[] = [];

beforeAll(async () => {
  sink = await listenLocally(
    createServer((request, response) => {
      request.resume();
      received.push(request.headers.authorization);
      response.end();
    }),
  );
  server = await startApiServer({});
  const plain = jsonCaller(server);
  call = async (...request) => {
    const answer = await plain(...request);
    answers.push(answer.text);
    return answer;
  };
});

afterAll(async () => {
  await server.stop();
  await sink.end();
});

const file = (name = 'notifications.yml'): string => readFileSync(join(server.config, name), 'utf8');

async function given(text: string, name = 'notifications.yml'): Promise<void> {
  writeFileText(server.config, name, text);
  expect((await call('DELETE', '/notifications/nobody')).status).toBe(404);
}

const hook = (id: string) => ({ id, type: 'webhook', url: `${sink.url}/a`, authType: 'token', token: TOKEN });

/** What the receiver is shown when a notification is sent to the target. */
async function sentBy(target: string): Promise<string | undefined> {
  const id = `of_${target}`;
  received.length = 0;
  await call('POST', '/notifications', noData(id, 'x:never', '1s', target));
  await expect.poll(() => received.length).toBeGreaterThan(0);
  await call('DELETE', `/notifications/${id}`);
  return received[0];
}

describe('a secret in a body', () => {
  it('goes to the encrypted store, its reference to the file, and is what the receiver is shown', async () => {
    const answer = await call('POST', '/notification-targets', hook('one'));
    expect(answer.body.items[0]).toMatchObject({ token: MASK });
    expect(file()).toContain('${secret:target_one_token}');
    expect((await call('GET', '/system/secrets')).body.items).toMatchObject([
      { name: 'target_one_token', updatedBy: 'admin' },
    ]);
    expect(await sentBy('one')).toBe(`Bearer ${TOKEN}`);
  });

  it('stays when its mask is sent back, and when it is left out of a merge', async () => {
    await call('POST', '/notification-targets', hook('two'));
    const read = (await call('GET', '/notification-targets/two')).body.items[0];
    const before = file();
    expect((await call('PATCH', '/notification-targets/two', read)).status).toBe(200);
    expect(file()).toBe(before);
    expect((await call('PATCH', '/notification-targets/two', { ...read, description: 'x' })).status).toBe(
      200,
    );
    expect((await call('PATCH', '/notification-targets/two', { method: 'PUT' })).status).toBe(200);
    expect(await sentBy('two')).toBe(`Bearer ${TOKEN}`);
  });

  it('takes the place of the one before', async () => {
    await call('POST', '/notification-targets', hook('three'));
    expect((await call('PATCH', '/notification-targets/three', { token: NEXT })).status).toBe(200);
    expect(await sentBy('three')).toBe(`Bearer ${NEXT}`);
  });

  it('that a person wrote into the file in clear stays there as it is', async () => {
    const text = `targets:\n  - {id: hand, type: webhook, url: '${sink.url}/h', authType: token, token: ${HAND}} # ours\n`;
    await given(text);
    const read = (await call('GET', '/notification-targets/hand')).body.items[0];
    await call('PATCH', '/notification-targets/hand', read);
    expect(file()).toBe(text);
    await call('PATCH', '/notification-targets/hand', { compress: true });
    expect(file()).toContain(`token: ${HAND}`);
    expect(await sentBy('hand')).toBe(`Bearer ${HAND}`);
  });

  it.each([
    ['an environment variable', '${env:HOME}'],
    ['a file', '${file:/etc/hostname}'],
    ['a stored secret that is not there', '${secret:nobody}'],
  ])('must not be a reference to %s', async (_, token) => {
    const before = file();
    const answer = await call('POST', '/notification-targets', { ...hook('sly'), token });
    expect(answer).toMatchObject({ status: 400, body: { errors: [{ path: 'token' }] } });
    expect(file()).toBe(before);
  });

  it('may be a reference to a stored one for who may change settings', async () => {
    await call('PUT', '/system/secrets/shared', { value: NEXT });
    await call('POST', '/notification-targets', { ...hook('sharing'), token: '${secret:shared}' });
    expect(await sentBy('sharing')).toBe(`Bearer ${NEXT}`);
  });

  it.each([
    ['that no header can hold', { token: `${TOKEN} and more` }],
    ['that is a list', { token: [TOKEN] }],
    ['beside what is wrong', { token: TOKEN, colour: 'red' }],
    ['of a type that does not exist', { token: TOKEN, type: 'pigeon' }],
  ])('%s is not repeated in the refusal', async (_, change) => {
    const answer = await call('POST', '/notification-targets', { ...hook('bad'), ...change });
    expect(answer.status).toBe(400);
    expect(answer.text).not.toContain(TOKEN);
  });

  it('cannot be a mask where nothing is stored', async () => {
    const answer = await call('POST', '/notification-targets', { ...hook('empty'), token: MASK });
    expect(answer.status).toBeGreaterThanOrEqual(400);
    expect((await call('GET', '/notification-targets/empty')).status).toBe(404);
  });
});

describe('another destination', () => {
  it('asks for the secret anew, whether it is masked, left out or named by its reference', async () => {
    await call('POST', '/notification-targets', hook('sent'));
    const read = (await call('GET', '/notification-targets/sent')).body.items[0];
    const before = file();
    const url = 'https://thief.example/';
    for (const body of [{ url }, { ...read, url }, { url, token: '${secret:target_sent_token}' }])
      expect(await call('PATCH', '/notification-targets/sent', body)).toMatchObject({
        status: 422,
        body: { code: 'unprocessable' },
      });
    expect(file()).toBe(before);
    expect(
      (await call('PATCH', '/notification-targets/sent', { url: `${sink.url}/b`, token: NEXT })).status,
    ).toBe(200);
    expect(await sentBy('sent')).toBe(`Bearer ${NEXT}`);
  });

  it('of a target without secrets is a change like any other', async () => {
    await call('POST', '/notification-targets', { id: 'open', type: 'webhook', url: 'https://a.example/' });
    const { body } = await call('PATCH', '/notification-targets/open', { url: 'https://b.example/' });
    expect(body.items[0].url).toBe('https://b.example/');
  });

  it('that is the secret itself is sent anew by its nature', async () => {
    const slackUrl = `https://hooks.slack.com/services/${CHAT}`;
    const { body } = await call('POST', '/notification-targets', { id: 'chat', type: 'slack', slackUrl });
    expect(body.items[0]).toMatchObject({
      slackUrl: `https://hooks.slack.com/${MASK}`,
      url: `https://hooks.slack.com/${MASK}`,
    });
    expect((await call('PATCH', '/notification-targets/chat', body.items[0])).body).toEqual(body);
    const other = await call('PATCH', '/notification-targets/chat', { url: `https://chat.example/${CHAT}` });
    expect(other.body.items[0].slackUrl).toBe(`https://chat.example/${MASK}`);
    expect(file()).toContain('${secret:target_chat_slackUrl}');
  });

  it('of a mail server asks for the password anew', async () => {
    const mail = { type: 'smtp', host: 'a.example', port: 587, smtpUsername: 'u', smtpPassword: TOKEN };
    await call('POST', '/notification-targets', { id: 'mail', ...mail, from: 'a@a.example' });
    for (const body of [{ host: 'thief.example' }, { port: 25 }])
      expect((await call('PATCH', '/notification-targets/mail', body)).status).toBe(422);
    expect((await call('PATCH', '/notification-targets/mail', { from: 'b@a.example' })).status).toBe(200);
  });
});

describe('secrets of settings', () => {
  const PATH = '/system/settings/conf';

  it('go to the store as well, and their masks keep them', async () => {
    const own = { id: 'own', engine: 'custom', push: true, token: PUSH };
    const { body } = await call('PATCH', PATH, { pipelines: [own] });
    expect(body.items[0].pipelines).toMatchObject([{ id: 'own', token: MASK }]);
    expect(file('headgate.yml')).toMatch(/\$\{secret:[\w-]+\}/);
    const before = file('headgate.yml');
    await call('PATCH', PATH, { pipelines: body.items[0].pipelines });
    expect(file('headgate.yml')).toBe(before);
    const answer = await server.call('POST', '/ingest/samples', {
      headers: [
        ['authorization', `Bearer ${PUSH}`],
        ['content-type', 'application/json'],
      ],
      body: JSON.stringify({ instance: 'a', temporality: 'delta', samples: [] }),
    });
    expect(answer.status).toBe(200);
  });

  it('do not go to another address unless they are sent anew', async () => {
    const edge = { id: 'edge', engine: 'vector', url: `${sink.url}/metrics`, token: PUSH };
    await call('PATCH', PATH, { pipelines: [edge] });
    const moved = { ...edge, url: 'http://thief.example/metrics', token: MASK };
    expect((await call('PATCH', PATH, { pipelines: [moved] })).status).toBe(422);
    // Under another name it is another pipeline, which has no secret to keep.
    expect(
      (await call('PATCH', PATH, { pipelines: [{ ...moved, id: 'other' }] })).status,
    ).toBeGreaterThanOrEqual(400);
    expect(
      (await call('PATCH', PATH, { pipelines: [{ ...moved, url: `${sink.url}/m`, token: NEXT }] })).status,
    ).toBe(200);
  });
});

it('shows no secret in any answer, any log line or any file it wrote', () => {
  const written = [server.config, server.data].flatMap(folder =>
    readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter(entry => entry.isFile())
      .map(entry => readFileSync(join(entry.parentPath, entry.name), 'latin1')),
  );
  expect(answers.length).toBeGreaterThan(50);
  for (const text of [...answers, server.log(), ...written])
    for (const secret of [TOKEN, NEXT, PUSH, CHAT]) expect(text).not.toContain(secret);
  for (const text of [...answers, server.log()]) expect(text).not.toContain(HAND);
});
