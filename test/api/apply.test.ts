import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { headgate } from '../acceptance/bin.ts';
import { writeFileText } from '../acceptance/files.ts';
import { temporaryFolder } from '../acceptance/harness.ts';
import { type ApiServer, startApiServer } from './api-server.ts';
import { type JsonAnswer, jsonCaller } from './json.ts';

const MASK = '********';
const PLAN = '/system/config/plan';
const APPLY = '/system/config/apply';

let server: ApiServer;
let call: ReturnType<typeof jsonCaller>;

beforeAll(async () => {
  server = await startApiServer({});
  call = jsonCaller(server);
});
afterAll(() => server.stop());

const HOOK = { id: 'hook', type: 'webhook', url: 'http://127.0.0.1:9/first' };
const SILENT = {
  id: 'silent',
  condition: 'no-data',
  targets: ['hook'],
  conf: { name: 'app', timeWindow: '1h' },
};

const onDisk = (name = 'notifications.yml'): string => readFileSync(join(server.config, name), 'utf8');

/** The configuration is this text, written by a person. */
async function given(content: object | string, name = 'notifications.yml'): Promise<void> {
  writeFileText(server.config, name, typeof content === 'string' ? content : JSON.stringify(content));
  expect((await call('DELETE', '/notifications/nobody')).status).toBe(404);
}

const body = (content: object | string, options: object = {}) => ({
  documents: [{ name: 'all.yml', text: typeof content === 'string' ? content : JSON.stringify(content) }],
  ...options,
});

const planned = async (content: object | string, options?: object): Promise<JsonAnswer['body']> => {
  const answer = await call('POST', PLAN, body(content, options));
  expect(answer).toMatchObject({ status: 200 });
  const [plan] = answer.body.items;
  expect(answer.etag).toBe(plan.etag);
  return plan;
};

const versions = async (): Promise<number> => (await call('GET', '/version?limit=1')).body.totalCount;

describe('a plan', () => {
  it('shows what is created, changed field by field, and removed, and changes nothing', async () => {
    const other = { ...HOOK, id: 'other' };
    await given({ targets: [HOOK, other], notifications: [SILENT] });
    const [disk, count] = [onDisk(), await versions()];
    const wanted = {
      targets: [{ ...HOOK, url: 'http://127.0.0.1:9/second', method: 'PUT' }],
      notifications: [SILENT, { ...SILENT, id: 'new' }],
      inputs: [{ id: 'app', type: 'syslog', port: 514 }],
    };
    expect((await planned(wanted, { prune: true })).changes).toEqual([
      {
        ...{ action: 'change', section: 'targets', id: 'hook', movedSecrets: [] },
        fields: [
          { path: 'url', old: HOOK.url, new: 'http://127.0.0.1:9/second' },
          { path: 'method', old: 'POST', new: 'PUT' },
        ],
      },
      {
        ...{ action: 'create', section: 'notifications', id: 'new', movedSecrets: [] },
        fields: [
          { path: 'condition', new: 'no-data' },
          { path: 'targets', new: ['hook'] },
          { path: 'conf', new: SILENT.conf },
        ],
      },
      {
        ...{ action: 'create', section: 'inputs', id: 'app', movedSecrets: [] },
        fields: [
          { path: 'type', new: 'syslog' },
          { path: 'port', new: 514 },
        ],
      },
      { action: 'remove', section: 'targets', id: 'other', fields: [], movedSecrets: [] },
    ]);
    expect(onDisk()).toBe(disk);
    expect(await versions()).toBe(count);
  });

  it('is empty for what says the same in other words', async () => {
    await given({ targets: [HOOK], notifications: [SILENT] });
    const said = {
      targets: { hook: { type: 'webhook', url: HOOK.url, method: 'POST' } },
      notifications: [{ ...SILENT, disabled: false }],
    };
    expect((await planned(said, { prune: true })).changes).toEqual([]);
  });

  it('removes nothing of sections that no text names', async () => {
    await given({ targets: [HOOK], notifications: [SILENT] });
    expect((await planned({ targets: [HOOK] }, { prune: true })).changes).toEqual([]);
    expect((await planned('inputs: []\n', { prune: true })).changes).toEqual([]);
  });

  it('is refused with every error, by its place in the texts', async () => {
    await given({ targets: [HOOK], notifications: [SILENT] });
    const text = 'targets:\n  - { id: hook, type: webhook, url: 5 }\n  - id: other\n    type: webhok\n';
    const answer = await call('POST', PLAN, body(text));
    expect(answer).toMatchObject({
      status: 400,
      body: {
        errors: [
          { path: 'targets.hook.url', message: expect.stringMatching(/^all\.yml:2:5: /) },
          { path: 'targets.other.type', message: expect.stringMatching(/^all\.yml:3:5: .*webhook/) },
        ],
      },
    });
  });

  it.each([
    ['a section that there is not', 'target:\n  - {}\n', /^all\.yml:1:1: .*target.*did you mean/i],
    ['an item without an id', 'targets:\n  - { type: log }\n', /^all\.yml:2:5: 'id' is required/],
    ['a text that is no YAML', 'targets: [\n', /^all\.yml:\d+:\d+: /],
  ])('is refused for %s', async (_, text, message) => {
    expect(await call('POST', PLAN, body(text))).toMatchObject({
      status: 400,
      body: { errors: [{ message: expect.stringMatching(message) }] },
    });
  });

  it('is refused for an item that two texts have', async () => {
    const documents = ['one.yml', 'two.yml'].map(name => ({
      name,
      text: JSON.stringify({ targets: [HOOK] }),
    }));
    expect(await call('POST', PLAN, { documents })).toMatchObject({
      status: 400,
      body: { message: expect.stringMatching(/^two\.yml:1:\d+: 'hook' of targets stands in one\.yml:1:\d+/) },
    });
  });
});

describe('what is applied', () => {
  it('takes effect in one version, keeps comments, and changes nothing a second time', async () => {
    await given(
      `# ours\ntargets:\n  # the first\n  - id: hook\n    type: webhook\n    url: ${HOOK.url} # there\n`,
    );
    const count = await versions();
    const wanted = {
      targets: [
        { ...HOOK, method: 'PUT' },
        { id: 'two', type: 'bulletin_message' },
      ],
      notifications: [SILENT],
      outputs: [{ id: 'out', type: 'splunk' }],
    };
    const { etag } = await planned(wanted);
    const headers = { 'if-match': etag };
    const answer = await call('POST', APPLY, body(wanted, { message: 'all of it' }), headers);
    expect(answer).toMatchObject({ status: 200 });
    expect(answer.body.items[0].changes).toHaveLength(4);
    expect(onDisk()).toMatch(/# ours\n.*# the first\n.*# there\n.*method: PUT/s);
    expect(onDisk('outputs.yml')).toContain('splunk');
    expect(await versions()).toBe(count + 1);
    const [version] = (await call('GET', '/version')).body.items;
    expect(version).toMatchObject({ author_name: 'admin', message: 'all of it' });
    const disk = onDisk();
    const again = await call('POST', APPLY, body(wanted));
    expect(again.body.items[0].changes).toEqual([]);
    expect(onDisk()).toBe(disk);
    expect(await versions()).toBe(count + 1);
    await given('', 'outputs.yml');
  });

  it('is nothing when another writer came between: 412, and all as that one left it', async () => {
    await given({ targets: [HOOK] });
    const wanted = { targets: [{ ...HOOK, method: 'PUT' }], inputs: [{ id: 'raced', type: 'syslog' }] };
    const { etag } = await planned(wanted);
    await call('PATCH', '/notification-targets/hook', { description: 'another writer' });
    const disk = onDisk();
    expect(await call('POST', APPLY, body(wanted), { 'if-match': etag })).toMatchObject({
      status: 412,
      body: { code: 'precondition-failed' },
    });
    expect(onDisk()).toBe(disk);
    expect((await call('GET', '/system/inputs/raced')).status).toBe(404);
  });

  it('is one of two plans that race', async () => {
    await given({ targets: [HOOK] });
    const wanted = (method: string) => ({ targets: [{ ...HOOK, method }] });
    const plans = [await planned(wanted('PUT')), await planned(wanted('PATCH'))];
    const answers = await Promise.all(
      ['PUT', 'PATCH'].map((method, index) =>
        call('POST', APPLY, body(wanted(method)), { 'if-match': plans[index].etag }),
      ),
    );
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 412]);
  });

  it('is nothing when one item is wrong', async () => {
    await given({ targets: [HOOK] });
    const disk = onDisk();
    const wanted = {
      targets: [{ ...HOOK, method: 'PUT' }],
      notifications: [{ ...SILENT, targets: ['gone'] }],
    };
    expect((await call('POST', APPLY, body(wanted))).status).toBe(400);
    expect(onDisk()).toBe(disk);
  });

  it('merges settings, pipelines by their ids, and replaces those named with prune', async () => {
    const pipeline = (id: string) => ({ id, engine: 'custom', push: true, token: `token-of-${id}` });
    const settings = onDisk('headgate.yml');
    await given(`${settings}\npipelines: ${JSON.stringify([pipeline('one')])}\n`, 'headgate.yml');
    const wanted = { pipelines: [{ id: 'two', engine: 'rsyslog', push: true, token: 'token-of-two' }] };
    const [change] = (await planned(wanted)).changes;
    expect(change).toMatchObject({ action: 'change', section: 'settings', id: '' });
    expect(change.fields.map(({ path }: { path: string }) => path)).toEqual(['pipelines.two']);
    expect(JSON.stringify(change)).not.toContain('token-of');
    expect((await call('POST', APPLY, body(wanted))).status).toBe(200);
    const ids = async (): Promise<string[]> =>
      (await call('GET', '/system/engines')).body.items.map(({ id }: { id: string }) => id);
    expect(await ids()).toEqual(['one', 'two']);
    expect((await planned(wanted)).changes).toEqual([]);
    expect((await call('POST', APPLY, body(wanted, { prune: true }))).status).toBe(200);
    expect(await ids()).toEqual(['two']);
    await given(settings, 'headgate.yml');
  });

  it('may be hundreds of items at once', async () => {
    await given('targets: []\n');
    const targets = Array.from({ length: 600 }, (_, index) => ({
      id: `t${index}`,
      type: 'bulletin_message',
    }));
    expect((await call('POST', APPLY, body({ targets }))).status).toBe(200);
    const fewer = targets.slice(0, 450).map(one => ({ ...one, description: 'changed' }));
    const answer = await call('POST', APPLY, body({ targets: fewer }, { prune: true }));
    expect(answer.body.items[0].changes).toHaveLength(600);
    expect((await call('GET', '/notification-targets?limit=1')).body.totalCount).toBe(450);
  });

  it('is refused whole when the texts are larger than a request may be', async () => {
    const answer = await call('POST', PLAN, body('#'.repeat(10 * 1024 * 1024)));
    expect(answer).toMatchObject({ status: 413, body: { code: 'body-too-large' } });
  });
});

describe('secrets in texts', () => {
  const guarded = (extra: object) => ({ targets: [{ ...HOOK, authType: 'token', ...extra }] });

  it('are stored, masked in plans, and no change when they are what is stored', async () => {
    await given({ targets: [HOOK] });
    const wanted = guarded({ token: 'entered-in-clear' });
    const plan = await planned(wanted);
    expect(JSON.stringify(plan)).not.toContain('entered');
    expect((await call('POST', APPLY, body(wanted))).status).toBe(200);
    expect(onDisk()).not.toContain('entered');
    expect((await planned(wanted)).changes).toEqual([]);
    expect((await planned(guarded({ token: MASK }))).changes).toEqual([]);
    const [change] = (await planned(guarded({ token: 'another' }))).changes;
    expect(change.fields).toEqual([{ path: 'token', old: MASK, new: MASK }]);
  });

  it.each([MASK, '${secret:other}'])('are listed when they would move, and then refused: %s', async token => {
    await call('PUT', '/system/secrets/other', { value: 'stored-as-other' });
    await given(guarded({ token: token === MASK ? 'typed-by-hand' : token }));
    const moved = guarded({ token, url: 'http://127.0.0.1:9/elsewhere' });
    const plan = await planned(moved);
    expect(plan.changes).toMatchObject([{ movedSecrets: [{ path: 'token', setting: 'url' }] }]);
    const disk = onDisk();
    expect(await call('POST', APPLY, body(moved), { 'if-match': plan.etag })).toMatchObject({
      status: 422,
      body: { errors: [{ path: 'targets.hook.token' }] },
    });
    expect(onDisk()).toBe(disk);
    expect((await call('POST', APPLY, body(guarded({ ...moved.targets[0], token: 'anew' })))).status).toBe(
      200,
    );
  });

  it.each(['${env:HEADGATE_ADMIN_PASSWORD}', '${file:/etc/hostname}'])('may not be %s', async token => {
    await given({ targets: [HOOK] });
    expect((await call('POST', PLAN, body(guarded({ token })))).status).toBe(400);
  });

  it('are not written as masks', async () => {
    await given({ targets: [HOOK] });
    expect(await call('POST', APPLY, body(guarded({ token: MASK })))).toMatchObject({ status: 422 });
    const note = { targets: [{ ...HOOK, description: `was ${MASK}` }] };
    expect(await call('POST', APPLY, body(note))).toMatchObject({ status: 422 });
  });
});

describe('the commands', () => {
  const run = (...args: readonly string[]) =>
    headgate(args, { HEADGATE_URL: server.url, HEADGATE_TOKEN: server.token });

  it('show a plan, ask, apply it, and say by exit code 4 that there is something to change', async () => {
    await given({ targets: [HOOK] });
    const folder = temporaryFolder();
    const file = join(folder, 'alerts.yml');
    writeFileSync(
      file,
      `targets:\n  hook: { type: webhook, url: "${HOOK.url}", method: PUT }\n  new: { type: bulletin_message }\n`,
    );
    const diff = await run('diff', '-f', file);
    expect(diff).toMatchObject({ code: 4, stderr: '' });
    expect(diff.stdout).toBe(
      '~ targets hook\n    method: "POST" -> "PUT"\n+ targets new\n    type: "bulletin_message"\n1 to create, 1 to change, 0 to remove\n',
    );
    expect((await run('apply', '-f', file, '--check')).code).toBe(4);
    expect(await run('apply', '-f', file)).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('--yes'),
    });
    expect(await run('apply', '-f', file, '--yes', '--message', 'by hand')).toMatchObject({ code: 0 });
    expect((await call('GET', '/version')).body.items[0].message).toBe('by hand');
    expect(await run('diff', '-f', folder)).toMatchObject({ code: 0, stdout: 'nothing to change\n' });
    writeFileSync(file, 'targets:\n  hook: { type: webhok }\n');
    expect(await run('diff', '-f', file)).toMatchObject({
      code: 1,
      stderr: expect.stringContaining(`${file}:2:3: `),
    });
  });

  it('take a whole configuration out of a server and into it', async () => {
    await given({
      targets: [{ ...HOOK, authType: 'token', token: 'typed-by-hand' }],
      notifications: [SILENT],
    });
    const folder = temporaryFolder();
    expect(await run('export', folder)).toMatchObject({ code: 0 });
    expect(await run('export', folder)).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('empty folder'),
    });
    expect(await run('import', folder, '--check')).toMatchObject({ code: 0 });
    const file = join(folder, 'notifications.yml');
    expect(readFileSync(file, 'utf8')).not.toContain('typed-by-hand');
    writeFileSync(file, readFileSync(file, 'utf8').replace('1h', '2h'));
    expect(await run('import', folder, '--yes')).toMatchObject({ code: 0 });
    expect(onDisk()).toMatch(/2h/);
    expect(onDisk()).toContain('typed-by-hand');
    expect(await run('import', join(folder, 'nowhere'))).toMatchObject({ code: 1 });
  });
});
