import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { noData, writeFileText } from '../acceptance/files.ts';
import { type ApiServer, startApiServer } from './api-server.ts';
import { type JsonAnswer, jsonCaller } from './json.ts';

const FILE = `# what we watch
targets:
  - id: ops      # the team
    type: webhook
    url: https://hooks.example/ops
  - id: bulletin
    type: bulletin_message
  - id: chat
    type: slack
    url: https://hooks.slack.com/services/T0/B0/chat-secret
notifications:
  # the shop
  - id: shop
    condition: no-data
    targets: [ops]
    conf:
      name: syslog:shop   # by name
`;

let server: ApiServer;
let call: ReturnType<typeof jsonCaller>;

beforeAll(async () => {
  server = await startApiServer({});
  call = jsonCaller(server);
});

afterAll(() => server.stop());

const file = (): string => readFileSync(join(server.config, 'notifications.yml'), 'utf8');

/** Sets the file anew and has it loaded, as every write does before it looks at anything. */
async function given(text = FILE): Promise<void> {
  writeFileText(server.config, 'notifications.yml', text);
  expect((await call('DELETE', '/notifications/nobody')).status).toBe(404);
}

const refusal = ({ status, body }: JsonAnswer) => ({ status, code: body.code });

describe('POST', () => {
  it('adds an item behind the others, answers it with every default, and says so in the file', async () => {
    await given();
    const answer = await call('POST', '/notifications', noData('new', 'syslog:new', '5m', 'ops'));
    expect(answer).toMatchObject({
      status: 200,
      body: { count: 1, items: [{ id: 'new', disabled: false, group: 'default', severity: 'warn' }] },
    });
    expect(answer.etag).toMatch(/^"[\w-]{22}"$/);
    expect(file()).toContain(FILE.trimEnd());
    expect(file()).not.toContain('severity');
    expect((await call('GET', '/notifications/new')).etag).toBe(answer.etag);
  });

  it('takes the id from the query as well as from the body', async () => {
    await given();
    const target = { type: 'bulletin_message' };
    expect((await call('POST', '/notification-targets?id=one', target)).body.items).toMatchObject([
      { id: 'one' },
    ]);
    expect(
      (await call('POST', '/notification-targets?id=two', { ...target, id: 'two' })).body.items,
    ).toMatchObject([{ id: 'two' }]);
    expect(refusal(await call('POST', '/notification-targets?id=x', { ...target, id: 'y' }))).toEqual({
      status: 400,
      code: 'invalid-request',
    });
  });

  it.each([
    ['a known id', { id: 'ops', type: 'bulletin_message' }, 409, 'conflict'],
    ['no id', { type: 'bulletin_message' }, 400, 'invalid-request'],
    ['an id with a slash', { id: 'a/b', type: 'bulletin_message' }, 400, 'invalid-request'],
    ['an id that is no text', { id: 7, type: 'bulletin_message' }, 400, 'invalid-request'],
    ['an id of 513 characters', { id: 'x'.repeat(513), type: 'bulletin_message' }, 400, 'invalid-request'],
    ['no type', { id: 'x' }, 400, 'invalid-request'],
    ['an unknown type', { id: 'x', type: 'pigeon' }, 400, 'invalid-request'],
    ['an unknown key', { id: 'x', type: 'bulletin_message', colour: 'red' }, 400, 'invalid-request'],
    ['a missing key', { id: 'x', type: 'webhook' }, 400, 'invalid-request'],
    ['a list', [], 400, 'invalid-request'],
    ['nothing', undefined, 400, 'invalid-request'],
    ['null', null, 400, 'invalid-request'],
  ])('refuses %s and leaves the file alone', async (_, body, status, code) => {
    await given();
    expect(refusal(await call('POST', '/notification-targets', body))).toEqual({ status, code });
    expect(file()).toBe(FILE);
  });

  it('names each wrong key by its path in the item', async () => {
    await given();
    const { body } = await call('POST', '/notifications', {
      id: 'wrong',
      condition: 'no-data',
      targets: ['nobody'],
      conf: { timeWindow: 'soon' },
    });
    expect(body.errors.map(({ path }: { path: string }) => path).sort()).toEqual([
      'conf.name',
      'conf.timeWindow',
      'targets[0]',
    ]);
  });

  it.each([
    ['a key twice', '{"id":"x","type":"bulletin_message","type":"webhook"}', 400],
    ['__proto__', '{"id":"x","type":"bulletin_message","__proto__":{"message":"m"}}', 400],
    ['33 levels', `{"id":"x","type":"bulletin_message","a":${'['.repeat(32)}${']'.repeat(32)}}`, 400],
    [
      'more than 5 MB',
      JSON.stringify({ id: 'x', type: 'bulletin_message', message: 'x'.repeat(5 << 20) }),
      413,
    ],
  ])('refuses a body of %s', async (_, body, status) => {
    expect((await call('POST', '/notification-targets', body)).status).toBe(status);
  });
});

describe('PATCH', () => {
  it('merges a partial body, keeps comments, and removes by null', async () => {
    await given();
    const answer = await call('PATCH', '/notifications/shop', {
      severity: 'fatal',
      conf: { timeWindow: '2m' },
    });
    expect(answer.body.items[0]).toMatchObject({
      severity: 'fatal',
      conf: { name: 'syslog:shop', timeWindow: '2m' },
    });
    expect(file()).toContain('name: syslog:shop   # by name');
    expect(file()).toContain('# the shop');
    await call('PATCH', '/notifications/shop', { severity: null, conf: { timeWindow: null } });
    expect((await call('GET', '/notifications/shop')).body.items[0]).toMatchObject({
      severity: 'warn',
      conf: { name: 'syslog:shop' },
    });
    expect(file()).toBe(FILE);
  });

  it('replaces by a body that has all that is required', async () => {
    await given();
    await call('PATCH', '/notifications/shop', { description: 'Sells.', severity: 'fatal' });
    const whole = { id: 'shop', condition: 'no-data', conf: { name: 'syslog:till' } };
    const { body } = await call('PATCH', '/notifications/shop', whole);
    expect(body.items[0]).toMatchObject({ severity: 'warn', targets: [], conf: { name: 'syslog:till' } });
    expect(body.items[0]).not.toHaveProperty('description');
  });

  it('changes nothing when what was read is sent back, masks, other names and read-only keys included', async () => {
    await given();
    for (const path of ['/notifications/shop', '/notification-targets/chat', '/notification-targets/ops']) {
      const { body, etag } = await call('GET', path);
      const extra = { status: { health: 'Green' }, notifications: [], count: 3, headgate: {} };
      const answer = await call('PATCH', path, { ...body.items[0], ...extra });
      expect([answer.status, answer.etag]).toEqual([200, etag]);
      expect(answer.body).toEqual(body);
    }
    expect(file()).toBe(FILE);
  });

  it.each([
    ['/notifications/shop', { id: 'other' }],
    ['/notification-targets/ops', { id: 'other' }],
    ['/notification-targets/ops', { type: 'bulletin_message' }],
    ['/notification-targets/ops', { id: 'ops', type: 'bulletin_message' }],
    ['/notifications/shop', { condition: null }],
    ['/notifications/shop', { targets: 'ops' }],
    ['/notifications/shop', { targets: ['nobody'] }],
    ['/notifications/shop', { colour: 'red' }],
    ['/notification-targets/ops', { url: null }],
    ['/notification-targets/chat', { url: 'https://a.example/x', slackUrl: 'https://b.example/x' }],
  ])('answers 400 to %s %j', async (path, body) => {
    await given();
    expect(refusal(await call('PATCH', path, body))).toEqual({ status: 400, code: 'invalid-request' });
    expect(file()).toBe(FILE);
  });

  it('answers 404 to an id that nobody has', async () => {
    expect((await call('PATCH', '/notifications/nobody', { disabled: true })).status).toBe(404);
    expect((await call('DELETE', '/notification-targets/nobody')).status).toBe(404);
  });
});

describe('If-Match', () => {
  it('lets a write pass that knows the present state, and answers 412 to any other', async () => {
    await given();
    const path = '/notifications/shop';
    const { etag = '' } = await call('GET', path);
    const stale = '"AAAAAAAAAAAAAAAAAAAAAA"';
    for (const ifMatch of [stale, `W/${etag}`, `${stale}, "x"`])
      expect(refusal(await call('PATCH', path, { severity: 'info' }, { 'if-match': ifMatch }))).toEqual({
        status: 412,
        code: 'precondition-failed',
      });
    expect((await call('DELETE', path, undefined, { 'if-match': stale })).status).toBe(412);
    expect((await call('PATCH', path, { severity: 'info' }, { 'if-match': 'none' })).status).toBe(400);
    expect(file()).toBe(FILE);
    const answer = await call('PATCH', path, { severity: 'info' }, { 'if-match': `${stale}, ${etag}` });
    expect(answer.status).toBe(200);
    expect(answer.etag).not.toBe(etag);
    expect((await call('PATCH', path, { severity: 'warn' }, { 'if-match': '*' })).etag).toBe(etag);
    expect((await call('DELETE', path, undefined, { 'if-match': etag })).status).toBe(200);
  });
});

describe('DELETE', () => {
  it('answers what it removed, once', async () => {
    await given();
    const before = await call('GET', '/notifications/shop');
    const answer = await call('DELETE', '/notifications/shop');
    expect(answer).toMatchObject({ status: 200, body: before.body });
    expect(file()).not.toContain('id: shop');
    expect((await call('DELETE', '/notifications/shop')).status).toBe(404);
  });

  it('keeps a target that something sends to, and names who does', async () => {
    const users = `
  - {id: stand_in, type: bulletin_message, fallback: bulletin}
  - {id: ways, type: router, routes: [{filter: 'true', output: bulletin}]}
notifications:`;
    await given(FILE.replace('\nnotifications:', users));
    const used = await call('DELETE', '/notification-targets/ops');
    expect(refusal(used)).toEqual({ status: 409, code: 'conflict' });
    expect(used.body.message).toContain("notification 'shop'");
    const stood = await call('DELETE', '/notification-targets/bulletin');
    expect(stood.body.message).toContain("target 'stand_in'");
    expect(stood.body.message).toContain("target 'ways'");
    await call('PATCH', '/notifications/shop', { targets: ['bulletin'] });
    expect((await call('DELETE', '/notification-targets/ops')).body.items).toMatchObject([{ id: 'ops' }]);
  });
});
