import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Operation } from '../../src/api/operation.ts';
import { servedRoutes } from '../../src/api/v1/index.ts';
import { RESOURCES } from '../../src/auth/permissions.ts';
import { systemClock } from '../../src/lib/clock.ts';
import type { HostedCall } from '../helpers/hosted.ts';
import { type HostedApp, startHostedApp } from '../helpers/hosted-app.ts';
import { nounOf, pathOf } from '../helpers/naming.ts';
import { apiOf, GROUP, MARK, makeThings, type Things } from '../helpers/tenant-things.ts';

const LABEL = 'main-acme';
const FILES = '/system/config/files';

/** What stands behind the hosts of addresses, by the permission to change it; of targets also what stood there before. */
const KEYS = {
  'update:targets': [
    ...['key-of-webhook', 'key-of-end', 'key-of-pager', 'key-of-endpoint', 'key-of-proxy', 'key-of-comment'],
    ...['key-of-anchor', 'key-in-escapes', 'key-of-yesterday', `${MARK}_path`],
  ],
  'update:inputs': ['key-of-input'],
  'update:outputs': ['key-of-output'],
  'update:settings': ['key-of-pipeline'],
};

const NOTIFICATIONS = (key: string) => `
# ${'large enough to be read in a thread '.repeat(500)}
# the old one was https://hooks.example/key-of-comment
x-shared: &shared https://hooks.example/services/key-of-anchor
targets:
  - { id: ${MARK}_hook, type: webhook, url: 'https://hooks.example/services/${key}?key-of-webhook=1',
      resolveUrl: 'https://hooks.example/key-of-end', proxyUrl: 'http://proxy.example:3128/key-of-proxy' }
  - id: shared # https://hooks.example/key-of-comment, too
    type: webhook
    url: *shared
  - { id: escaped, type: webhook, url: "https:\\/\\/hooks.example/k\\x65y-in-\\
      escapes" }
  - { id: pager, type: pager_duty, severity: error, url: https://pager.example/key-of-pager, routingKey: '\${secret:${MARK}_key}' }
  - id: topic
    type: sns
    region: eu-west-1
    destinationType: topic
    topicArn: arn:aws:sns:eu-west-1:123456789012:alarms
    messageGroupId: ''
    awsAuthenticationMethod: secret
    awsSecret: ${MARK}_key
    endpoint: >-
      https://sns.example/key-of-endpoint
notifications:
  - id: ${MARK}_found
    condition: search
    group: ${GROUP}
    targets: [${MARK}_hook]
    runbookUrl: https://wiki.example/what-to-do
    conf: { savedQueryId: ${MARK}_query, message: 'found' }
`;

let app: HostedApp;
let things: Things;

const call = async (scope: string | undefined, path: string, sent?: HostedCall) =>
  apiOf(app, LABEL, await app.tokenFor('acme', scope))(path, sent);

async function imported(key: string): Promise<void> {
  const component = (id: string, name: string) =>
    `${name}: [{ id: ${id}, type: http, url: 'https://h.example/`;
  const files = {
    'notifications.yml': NOTIFICATIONS(key),
    'inputs.yml': `${component(`${MARK}_input`, 'inputs')}key-of-input' }]`,
    'outputs.yml': `${component(`${MARK}_output`, 'outputs')}key-of-output' }]`,
    'headgate.yml': `pipelines:
  - { id: ${MARK}_edge, engine: custom, push: true, group: ${GROUP} }
  - { id: read, engine: vector, url: 'https://metrics.example/m?key-of-pipeline=1' }`,
  };
  const answer = await call(undefined, FILES, { method: 'PUT', body: { files } });
  expect([answer.status, answer.body]).toEqual([200, expect.anything()]);
}

beforeAll(async () => {
  app = await startHostedApp({ clock: systemClock });
  const api = apiOf(app, LABEL, await app.tokenFor('acme'));
  const pushed = (path: string, sent?: HostedCall) =>
    app.call(path, { host: `${LABEL}.localhost:${app.port}`, ...sent });
  things = await makeThings(api, pushed);
  await imported('key-of-yesterday');
  await imported('key-of-webhook');
});
afterAll(() => app.stop());

const known = (row: Operation, name: string): string | undefined =>
  name === 'group'
    ? GROUP
    : (things.places.get(`${nounOf(row)}.${name}`) ?? { id: 'no-data', product: 'stream' }[name]);

const PERMISSIONS = RESOURCES.flatMap(resource => [`read:${resource}`, `update:${resource}`]);
const scopeOf = (permissions: readonly string[]): string => permissions.map(one => `user:${one}`).join(' ');

/** The keys in a text that a token with these permissions may not show. */
const leaks = (permissions: readonly string[], text: string): string[] =>
  Object.entries(KEYS).flatMap(([permission, keys]) =>
    permissions.includes(permission) ? [] : keys.filter(key => text.includes(key)),
  );

const SETS = [
  ...RESOURCES.map(resource => [`read:${resource}`]),
  ...RESOURCES.map(resource => [`update:${resource}`, 'read:settings']),
  ...Object.keys(KEYS).map(permission => PERMISSIONS.filter(one => one !== permission)),
];

/** Every version there is, as texts, and each of the others. */
async function reads(): Promise<[string, string][]> {
  const { body } = await call(undefined, '/version');
  const versions = body.items.map(({ hash }: { hash: string }) => `/version/show?commit=${hash}`);
  const rows = servedRoutes
    .filter(({ method, isOfInstallation }) => method === 'GET' && !isOfInstallation)
    .map((row): [string, string] => [row.id, pathOf(row, name => known(row, name))]);
  return [...rows, ...versions.map((path: string) => ['versions.show', path])];
}

it('shows what stands behind the host of an address by no read to a token that may not change it', async () => {
  const paths = await reads();
  for (const permissions of SETS) {
    const api = apiOf(app, LABEL, await app.tokenFor('acme', scopeOf(permissions)));
    for (const [id, path] of paths) {
      const answer = await api(path);
      expect([answer.status, path]).not.toEqual([500, path]);
      expect([permissions, id, path, leaks(permissions, JSON.stringify(answer.body))]).toEqual([
        ...[permissions, id, path],
        [],
      ]);
    }
  }
});

/** Changes the addresses that keys stand in. */
const ELSEWHERE = {
  targets: [{ id: `${MARK}_hook`, type: 'webhook', url: 'https://hooks.example.net/' }],
  inputs: [{ id: `${MARK}_input`, type: 'http', url: 'https://h.example.net/' }],
  outputs: [{ id: `${MARK}_output`, type: 'http', url: 'https://h.example.net/' }],
  pipelines: [{ id: 'read', engine: 'vector', url: 'https://metrics.example.net/m' }],
};

it('shows it by no plan either, which takes settings to read, and whether a guessed secret is right to nobody who may not set it', async () => {
  const bodyOf = (content: object) => ({ documents: [{ name: 'all.yml', text: JSON.stringify(content) }] });
  const plan = async (permissions: readonly string[], content: object) => {
    const api = apiOf(app, LABEL, await app.tokenFor('acme', scopeOf(permissions)));
    return api('/system/config/plan', { method: 'POST', body: bodyOf(content) });
  };
  const seen = JSON.stringify((await plan(PERMISSIONS, ELSEWHERE)).body);
  for (const key of ['key-of-webhook', 'key-of-input', 'key-of-pipeline']) expect(seen).toContain(key);
  for (const permission of Object.keys(KEYS)) {
    const permissions = ['read:settings', ...PERMISSIONS.filter(one => one !== permission)];
    const answer = await plan(permissions, ELSEWHERE);
    expect([permission, answer.status]).toEqual([permission, 200]);
    const old = answer.body.items[0].changes.map(({ fields }: { fields: object }) => fields);
    expect([permission, leaks(permissions, JSON.stringify(old))]).toEqual([permission, []]);
  }
  const guess = (routingKey: string) => ({ targets: [{ ...PAGER, routingKey }] });
  const applied = { method: 'POST', body: bodyOf(guess('the-right-guess')) } as const;
  expect((await call(undefined, '/system/config/apply', applied)).status).toBe(200);
  for (const routingKey of ['the-right-guess', 'a-wrong-guess']) {
    const { body } = await plan(['read:settings'], guess(routingKey));
    expect(body.items[0].changes).toHaveLength(1);
  }
});

const PAGER = { id: 'guessed', type: 'pager_duty', severity: 'error' };

it('shows all of it to one that may', async () => {
  const seen = await Promise.all((await reads()).map(async ([, path]) => (await call(undefined, path)).body));
  const text = JSON.stringify(seen);
  for (const key of Object.values(KEYS).flat()) {
    // As it was written, with escapes in it.
    if (key === 'key-in-escapes') expect(text).toContain('https:\\\\/\\\\/hooks.example/k\\\\x65y-in-');
    expect([key, text.includes(key)]).toEqual([key, true]);
  }
});

it('keeps what is stored when texts come back as they were shown, and shows no more in the answer', async () => {
  const scope = scopeOf(['read:settings', 'update:settings']);
  const before = (await call(undefined, FILES)).body.items[0].files;
  const shown = (await call(scope, FILES)).body.items[0].files;
  expect(shown['notifications.yml']).toContain('https://hooks.example/********');
  expect(shown['notifications.yml']).toContain('https://wiki.example/what-to-do');
  const { 'headgate.yml': _, ...others } = shown;
  const put = (text: string) =>
    call(scope, FILES, { method: 'PUT', body: { files: { ...others, 'notifications.yml': text } } });
  const text: string = others['notifications.yml'].replace("'found'", "'seen'");
  // By an anchor, another item could hold it.
  expect(await put(text)).toMatchObject({
    status: 422,
    body: { message: expect.stringContaining('shares a masked value by an anchor') },
  });
  const answer = await put(
    text.replace(/^x-shared.*\n/m, '').replace('*shared', "'https://hooks.example/********'"),
  );
  expect([answer.status, leaks(['update:settings'], JSON.stringify(answer.body))]).toEqual([200, []]);
  const targets = async () => (await call(undefined, '/notification-targets')).body.items;
  const urls = (await targets()).map(({ id, url }: { id: string; url?: string }) => [id, url]);
  expect(urls).toContainEqual([
    `${MARK}_hook`,
    'https://hooks.example/services/key-of-webhook?key-of-webhook=1',
  ]);
  expect(urls).toContainEqual(['shared', 'https://hooks.example/services/key-of-anchor']);
  expect(urls).toContainEqual(['pager', 'https://pager.example/key-of-pager']);
  const back = await call(undefined, FILES, { method: 'PUT', body: { files: before } });
  expect(back.status).toBe(200);
});

it('shows no more in the answer to a change', async () => {
  for (const without of Object.keys(KEYS)) {
    const permissions = PERMISSIONS.filter(one => one !== without);
    for (const row of servedRoutes.filter(one => one.method !== 'GET' && !one.isOfInstallation)) {
      if (row.method === 'DELETE') continue;
      const { example, method } = row;
      const sent = { method, ...(example.body !== undefined && { body: example.body }) };
      const answer = await call(
        scopeOf(permissions),
        pathOf(row, name => known(row, name)),
        sent,
      );
      expect([without, row.id, leaks(permissions, JSON.stringify(answer.body))]).toEqual([
        without,
        row.id,
        [],
      ]);
    }
  }
});
