import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type ApiServer, startApiServer } from './api-server.ts';
import { jsonCaller } from './json.ts';

const TOKEN = 'typed-by-hand-7f1e';
const MASK = '********';

let server: ApiServer;
let call: ReturnType<typeof jsonCaller>;

beforeAll(async () => {
  server = await startApiServer({
    notifications: {
      targets: [{ id: 'hook', type: 'webhook', url: 'http://h.example/', authType: 'token', token: TOKEN }],
      notifications: [],
    },
  });
  call = jsonCaller(server);
});
afterAll(() => server.stop());

const FILES = '/system/config/files';
const onDisk = (name = 'notifications.yml'): string => readFileSync(join(server.config, name), 'utf8');
const exported = async () => (await call('GET', FILES)).body.items[0].files;

it('gives the texts of all files, and no secret in them', async () => {
  const files = await exported();
  expect(Object.keys(files)).toContain('headgate.yml');
  expect(files['notifications.yml']).toBe(onDisk().replace(TOKEN, MASK));
});

it('puts texts in their places, a mask standing for the secret that is there', async () => {
  const { 'notifications.yml': text } = await exported();
  const changed = text.replace('"authType"', '"method": "PUT",\n      "authType"');
  const answer = await call('PUT', FILES, { files: { 'notifications.yml': changed }, message: 'put' });
  expect(answer).toMatchObject({
    status: 200,
    body: { items: [{ files: { 'notifications.yml': changed } }] },
  });
  expect(onDisk()).toContain('"method": "PUT"');
  expect(onDisk()).toContain(TOKEN);
  const [version] = (await call('GET', '/version')).body.items;
  expect(version).toMatchObject({ author_name: 'admin', message: 'put' });
});

it('changes nothing when one text has an error, and names its place', async () => {
  const before = onDisk('headgate.yml');
  const files = { 'headgate.yml': 'instance: { name: other }\n', 'inputs.yml': 'inputs: 5\n' };
  const answer = await call('PUT', FILES, { files });
  expect(answer).toMatchObject({
    status: 400,
    body: { errors: [{ message: expect.stringMatching(/^inputs\.yml: /) }] },
  });
  expect(onDisk('headgate.yml')).toBe(before);
});
