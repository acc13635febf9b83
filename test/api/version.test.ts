import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { writeFileText } from '../acceptance/files.ts';
import { type ApiServer, startApiServer } from './api-server.ts';
import { jsonCaller } from './json.ts';

const TOKEN = 'typed-by-hand-7f1e';
const MASK = '********';
const FIRST = `# ours
targets:
  - { id: hook, type: webhook, url: 'http://h.example/', authType: token, token: ${TOKEN} }  # theirs
`;

let server: ApiServer;
let call: ReturnType<typeof jsonCaller>;

beforeAll(async () => {
  server = await startApiServer({});
  call = jsonCaller(server);
});

afterAll(() => server.stop());

const file = (): string => readFileSync(join(server.config, 'notifications.yml'), 'utf8');

async function given(text: string): Promise<void> {
  writeFileText(server.config, 'notifications.yml', text);
  // Any write loads first what a person has written.
  expect((await call('DELETE', '/notifications/nobody')).status).toBe(404);
}

const log = async () => (await call('GET', '/version')).body.items;

describe('/version', () => {
  it('has the configuration the server started with, and every one since, whoever made it', async () => {
    const [start, ...earlier] = await log();
    expect(earlier).toEqual([]);
    expect(start).toMatchObject({ author_name: 'file', headgate: { door: 'file' } });
    await given(FIRST);
    await call('POST', '/notification-targets', { id: 'bell', type: 'bulletin_message' });
    const [api, hand] = await log();
    expect(api).toMatchObject({ author_name: 'admin', headgate: { door: 'api' } });
    expect(hand).toMatchObject({ author_name: 'file', message: 'Changed in the file' });
    expect(Date.parse(api.date)).toBeGreaterThan(Date.now() - 60_000);
    expect(api.hash).toContain(api.short);
    expect((await call('GET', '/version/count')).body.items).toEqual([{ count: 0 }]);
    expect((await call('GET', `/version/count?ID=${start.hash}`)).body.items).toEqual([{ count: 1 }]);
    expect((await call('GET', '/version?limit=1&offset=1')).body).toMatchObject({
      items: [{ hash: hand.hash }],
      totalCount: 3,
    });
    expect((await call('GET', '/m/default/version?count=2')).body.count).toBe(2);
  });

  it('shows what a version changed, secrets masked wherever they stand', async () => {
    const [api, hand] = await log();
    const shown = (await call('GET', `/version/show?commit=${hand.hash}`)).body.items[0];
    expect(shown.diffJson).toMatchObject([{ newName: 'notifications.yml', isNew: false, isTooBig: false }]);
    expect(shown.diff).toContain(
      `+  - { id: hook, type: webhook, url: 'http://h.example/', authType: token, token: "${MASK}" }  # theirs`,
    );
    const last = (await call('GET', '/version/diff')).body.items[0];
    expect(last.diffJson[0]).toMatchObject({ addedLines: 1, deletedLines: 0 });
    expect(last.diffJson[0].blocks[0].lines.at(-1)).toEqual({
      type: 'insert',
      content: '+  - { id: bell, type: bulletin_message }',
      newNumber: 4,
    });
    expect(
      (await call('GET', `/version/show?commit=${hand.hash}&diffLineLimit=1`)).body.items[0].diffJson,
    ).toMatchObject([{ isTooBig: true, blocks: [] }]);
    expect((await call('GET', '/version/diff?filename=headgate.yml')).body.items[0].diffJson).toEqual([]);
    expect((await call('GET', `/version/files?commit=${api.hash}`)).body.items[0]).toMatchObject({
      count: 1,
      items: [{ name: 'notifications.yml', state: 'M' }],
    });
  });

  it('commits nothing, as everything is a version already', async () => {
    const [newest] = await log();
    const { body } = await call('POST', '/m/default/version/commit', { message: 'mine', effective: true });
    expect(body.items).toMatchObject([
      { branch: 'main', commit: newest.hash, summary: { changes: 1, insertions: 1, deletions: 0 } },
    ]);
    expect(await log()).toHaveLength(3);
  });

  it('goes back to a version with the secrets that are stored now', async () => {
    const [api, hand] = await log();
    const before = file();
    await call('PATCH', '/notification-targets/hook', { description: 'x', token: 'another-secret' });
    const { status, body } = await call('POST', '/version/revert', { commit: hand.hash });
    expect(status).toBe(200);
    const [newest] = await log();
    expect(body.items).toMatchObject([{ reverted: true, audit: { id: newest.hash } }]);
    expect(newest.message).toBe(`back to ${hand.hash}`);
    expect(file()).toBe(FIRST.replace(`token: ${TOKEN}`, "token: '${secret:target_hook_token}'"));
    expect((await call('GET', '/notification-targets')).body.count).toBe(1);
    await call('POST', '/version/revert', { commit: api.hash });
    expect(file().length).toBeGreaterThan(before.length - TOKEN.length);
    expect((await call('GET', '/notification-targets')).body.count).toBe(2);
  });

  it('does nothing when the files read so already', async () => {
    const [newest] = await log();
    const { body } = await call('POST', '/version/revert', { commit: newest.hash });
    expect(body.items).toMatchObject([{ reverted: false }]);
  });

  it('names each secret of a version that is stored nowhere any more', async () => {
    const [, , , , hand] = await log();
    expect(hand.message).toBe('Changed in the file');
    await given('targets: []\n');
    const before = file();
    const answer = await call('POST', '/version/revert', { commit: hand.hash });
    expect(answer).toMatchObject({
      status: 422,
      body: { code: 'unprocessable', errors: [{ path: 'notifications.yml targets[0].token' }] },
    });
    expect(file()).toBe(before);
  });

  it('tells which files wait because of errors, and that there is one branch', async () => {
    expect((await call('GET', '/version/status')).body.items).toMatchObject([
      { current: 'main', not_added: [] },
    ]);
    writeFileText(server.config, 'notifications.yml', 'targets: [\n');
    expect((await call('DELETE', '/notification-targets/nobody')).status).toBe(409);
    expect((await call('GET', '/version/status')).body.items).toMatchObject([
      { not_added: ['notifications.yml'] },
    ]);
    await given('targets: []\n');
    expect((await call('GET', '/version/branch')).body.items).toEqual([{ id: 'main' }]);
    expect((await call('GET', '/version/current-branch')).body.items).toEqual([{ branch: 'main' }]);
    expect((await call('GET', '/version/info')).body.items).toEqual([{ versioning: true, remote: '' }]);
  });

  it('is told apart from what is not there', async () => {
    expect((await call('GET', '/version/show?commit=nobody')).status).toBe(404);
    expect((await call('POST', '/version/revert', { commit: 'nobody' })).status).toBe(404);
    expect((await call('POST', '/version/revert', {})).status).toBe(400);
    expect((await call('GET', '/version/show?diffLineLimit=x')).status).toBe(400);
  });

  it('never shows a secret', async () => {
    const versions = await log();
    for (const { hash } of versions)
      expect((await call('GET', `/version/show?commit=${hash}&diffLineLimit=0`)).text).not.toContain(TOKEN);
  });
});
