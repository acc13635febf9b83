import { afterAll, beforeAll, expect, it } from 'vitest';
import { isMap, type PlainMap } from '../../src/config/plain.ts';
import { ADMIN_PASSWORD } from '../acceptance/bin.ts';
import { noData, writeFileText } from '../acceptance/files.ts';
import { until } from '../helpers/until.ts';
import { addedUser } from '../helpers/users.ts';
import { type ApiServer, startApiServer } from './api-server.ts';
import { documented, exampleOf } from './document.ts';
import { jsonCaller } from './json.ts';

let count = 0;
const canaries: string[] = [];
const variables: Record<string, string> = {};
const stored: Record<string, string> = {};

/** A value that must be seen nowhere. */
function canary(form: (text: string) => string = text => text): string {
  const text = `canary${String(++count).padStart(4, '0')}x7e1`;
  canaries.push(text);
  return form(text);
}

/** A reference to such a value, in turn to the environment and to the store. */
function referred(form?: (text: string) => string): string {
  const name = `C${count + 1}`;
  const value = canary(form);
  if (count % 2 === 0) variables[name] = value;
  else stored[name] = value;
  return count % 2 === 0 ? `\${env:${name}}` : `\${secret:${name}}`;
}

const path = (text: string): string => `http://127.0.0.1:9/${text}?key=${text}`;
const hook = { type: 'webhook', url: 'http://127.0.0.1:9/open', authType: 'token' };

/** Canaries in every setting that is a secret, and references in those that take any text. */
const targets: readonly PlainMap[] = [
  { ...hook, id: 'clear', token: canary(), extraHttpHeaders: [{ name: 'X-Key', value: canary() }] },
  { ...hook, id: 'basic', authType: 'basic', username: referred(), password: canary() },
  {
    ...hook,
    ...{
      id: 'referred',
      url: referred(path),
      token: referred(),
      description: referred(),
      safeHeaders: [referred()],
    },
    extraHttpHeaders: [{ name: referred(), value: referred() }],
  },
  { id: 'chat', type: 'slack', slackUrl: referred(path), description: referred() },
  { id: 'chat_clear', type: 'slack', slackUrl: canary(path) },
  {
    ...{ id: 'pager', type: 'pager_duty', severity: 'error', url: referred(path), routingKey: referred() },
    ...{ group: referred(), class: referred(), component: referred() },
  },
  {
    ...{
      id: 'mail',
      type: 'smtp',
      host: referred(text => `${text}.invalid`),
      port: 9,
      smtpUsername: referred(),
    },
    ...{ smtpPassword: referred(), from: referred(text => `${text}@h.example`) },
  },
  {
    ...{ id: 'sns', type: 'sns', region: 'eu-west-1', destinationType: 'topic', messageGroupId: '' },
    ...{ topicArn: 'arn:aws:sns:eu-west-1:123456789012:alarms', awsAuthenticationMethod: 'manual' },
    ...{
      awsApiKey: canary(),
      awsSecretKey: referred(),
      assumeRoleExternalId: referred(),
      endpoint: referred(path),
    },
  },
  { id: 'bell', type: 'bulletin_message', title: referred(), description: referred() },
];

const declared = {
  ...{ id: 'in1', type: 'http', authToken: canary(), authTokens: [canary(), { token: canary() }] },
  ...{ tls: { passphrase: canary() }, awsSecretKey: canary(), password: canary() },
  ...{ extraHttpHeaders: [{ name: 'a', value: canary() }], connectionString: canary() },
  url: canary(text => `https://user:${text}@h.example/`),
};

let server: ApiServer;
let admin: ReturnType<typeof jsonCaller>;
let reader: typeof admin;
const seen: { readonly from: string; readonly text: string }[] = [];

beforeAll(async () => {
  const pipeline = { id: 'edge', engine: 'vector', url: referred(path), token: canary(), interval: '1s' };
  server = await startApiServer(
    { settings: { pipelines: [pipeline], instance: { heartbeatUrl: canary(path) } } },
    variables,
  );
  admin = jsonCaller(server);
  reader = (await addedUser(server, 'rea', { roles: ['reader'] })).call;
  for (const [name, value] of Object.entries(stored))
    await admin('PUT', `/system/secrets/${name}`, { value });
  const notifications = targets
    .filter(({ type }) => type !== 'smtp')
    .map(({ id }) => noData(`of_${id}`, 'x:never', '3s', String(id)));
  writeFileText(server.config, 'notifications.yml', JSON.stringify({ targets, notifications }));
  writeFileText(server.config, 'inputs.yml', JSON.stringify({ inputs: [declared] }));
  writeFileText(server.config, 'outputs.yml', JSON.stringify({ outputs: [{ ...declared, id: 'out1' }] }));
  await admin('DELETE', '/notifications/nobody');
  expect((await admin('GET', '/system/config/status')).body.items[0]).toMatchObject({ errors: [] });
});
afterAll(() => server.stop());

it('shows no secret and nothing a reference stands for in results of tests', async () => {
  for (const { id } of targets)
    seen.push({
      from: `test of ${id}`,
      text: (await admin('POST', `/notification-targets/${id}/test`, {})).text,
    });
  expect(leaks()).toEqual([]);
});

it('shows none in any read, to an admin or to a reader, nor in the log', async () => {
  const attempted = async () =>
    (await admin('GET', '/deliveries?limit=100')).body.items.filter(
      ({ attempts }: { attempts: number }) => attempts > 0,
    );
  await until(async () => (await attempted()).length >= 3, 'some deliveries that were tried');
  for (const { id } of await attempted())
    for (const call of [admin, reader])
      seen.push({ from: 'a delivery', text: (await call('GET', `/deliveries/${id}`)).text });
  const paths = documented
    .filter(({ method, path: place }) => method === 'GET' && place.startsWith('/api/v1'))
    .map(operation => exampleOf(operation))
    .map(({ path: place, query }) => `${place.slice('/api/v1'.length)}?${query}`);
  const own = targets.map(({ id }) => `/notification-targets/${id}`);
  const lists = ['/notification-targets', '/system/inputs/in1', '/system/outputs/out1', '/audit?limit=1000'];
  for (const place of [...paths, ...own, ...lists])
    for (const call of [admin, reader]) seen.push({ from: place, text: (await call('GET', place)).text });
  seen.push({ from: 'the log', text: server.log() });
  for (const [place, headers] of [
    ['/metrics', []],
    ['/openapi.json', []],
  ] as const)
    seen.push({ from: place, text: (await server.call('GET', place, { headers })).text });
  expect(seen.length).toBeGreaterThan(100);
  expect(leaks()).toEqual([]);
});

/** Where a canary was seen; the password is one too. */
const leaks = (): string[] =>
  seen.flatMap(({ from, text }) =>
    [...canaries, ADMIN_PASSWORD].flatMap(one => (text.includes(one) ? [`${from}: ${one}`] : [])),
  );

it('shows readers the hosts of addresses only, and those who change targets the whole', async () => {
  const urlFor = async (call: typeof admin): Promise<unknown> => {
    const [item] = (await call('GET', '/notification-targets/clear')).body.items;
    return isMap(item) ? item.url : undefined;
  };
  expect(await urlFor(admin)).toBe(hook.url);
  expect(await urlFor(reader)).toBe('http://127.0.0.1:9/********');
});
