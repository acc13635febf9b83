import { afterAll, beforeAll, expect, it } from 'vitest';
import { noData } from '../acceptance/files.ts';
import { type ApiServer, JSON_BODY, startApiServer } from './api-server.ts';
import { jsonCaller } from './json.ts';

const TOKEN = 'token-of-the-engine';
const MESSAGE = "no input that was seen has a name like 'nosuch:*'; nothing is sent until one has";

let server: ApiServer;
let call: ReturnType<typeof jsonCaller>;

beforeAll(async () => {
  server = await startApiServer({
    settings: { pipelines: [{ id: 'own', engine: 'custom', push: true, token: TOKEN }] },
    notifications: {
      targets: [{ id: 'board', type: 'bulletin_message' }],
      notifications: [
        noData('found', 'http:*', '1h', 'board'),
        noData('lost', 'nosuch:*', '1h', 'board'),
        { ...noData('off', 'nothing:*', '1h', 'board'), disabled: true },
      ],
    },
  });
  call = jsonCaller(server);
  await push('http');
});

afterAll(() => server.stop());

async function push(type: string): Promise<void> {
  const answer = await server.call('POST', '/ingest/samples', {
    headers: [['authorization', `Bearer ${TOKEN}`], JSON_BODY],
    body: JSON.stringify({ samples: [{ kind: 'input', type, id: 'shop', metric: 'in_events', value: 1 }] }),
  });
  expect(answer.status).toBe(200);
}

const messages = async (method: string, path: string, body?: object): Promise<string[]> =>
  (await call(method, path, body)).body.items[0].warnings.map(({ message }: { message: string }) => message);

it('warns of a pattern that matches nothing, in status, check and list, until something of it is seen', async () => {
  const [status] = (await call('GET', '/system/config/status')).body.items;
  expect(status.warnings).toContainEqual(
    expect.objectContaining({ path: 'notifications[1].conf.name', message: MESSAGE }),
  );
  expect(
    status.warnings.filter(({ message }: { message: string }) => message.includes('that was seen')),
  ).toHaveLength(1);
  expect(await messages('POST', '/system/config/check', { files: {} })).toContain(MESSAGE);
  const text =
    'targets: [{ id: board, type: bulletin_message }]\nnotifications:\n  - { id: a, condition: backpressure-dest, targets: [board], conf: { name: "s4:*" } }\n';
  expect(
    (await call('POST', '/system/config/check', { files: { 'notifications.yml': text } })).body.items[0]
      .warnings,
  ).toContainEqual(
    expect.objectContaining({
      line: 3,
      message: expect.stringMatching(/^no output that was seen .*'s4:\*'/),
    }),
  );
  const listed = (await call('GET', '/notifications')).body.items;
  expect(listed.map(({ id, headgate }: { id: string; headgate?: object }) => [id, headgate])).toEqual([
    ['found', undefined],
    ['lost', { warning: MESSAGE }],
    ['off', undefined],
  ]);

  await push('nosuch');
  expect(await messages('GET', '/system/config/status')).not.toContain(MESSAGE);
  expect((await call('GET', '/notifications')).body.items[1]).not.toHaveProperty('headgate');
});
