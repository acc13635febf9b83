import { execFileSync } from 'node:child_process';
import { mkdirSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type ApiServer, startApiServer } from '../api/api-server.ts';
import { ADMIN_PASSWORD, BIN, headgate } from './bin.ts';
import { noData } from './files.ts';
import { temporaryFolder } from './harness.ts';

let server: ApiServer;

beforeAll(async () => {
  server = await startApiServer({
    settings: {
      api: { loginRateLimit: '1000/second' },
      pipelines: [{ id: 'edge', engine: 'custom', push: true, token: 'token-of-edge' }],
    },
    notifications: {
      targets: [{ id: 'log', type: 'notifications_log' }],
      notifications: [noData('silent', 'syslog:app', '1h', 'log')],
    },
  });
  const sample = { kind: 'input', type: 'syslog', id: 'app', metric: 'in_events', value: 5 };
  await server.call('POST', '/ingest/samples', {
    headers: [
      ['authorization', 'Bearer token-of-edge'],
      ['content-type', 'application/json'],
    ],
    body: JSON.stringify({ samples: [sample] }),
  });
});
afterAll(() => server.stop());

/** A person's home, and the commands run there. */
function home() {
  const XDG_CONFIG_HOME = temporaryFolder();
  const run = (args: readonly string[], input = '', environment = {}) =>
    headgate(args, { XDG_CONFIG_HOME, ...environment }, input);
  return {
    file: join(XDG_CONFIG_HOME, 'headgate/profiles.json'),
    run,
    logIn: (args: readonly string[] = [], password = ADMIN_PASSWORD) =>
      run(['login', '--url', server.url, ...args], `${password}\n`),
  };
}

describe('login', () => {
  it('keeps the token where only its owner can read it, and is known until it logs out', async () => {
    const { run, logIn, file } = home();
    expect(await logIn()).toMatchObject({
      code: 0,
      stdout: `logged in at ${server.url} as admin\n`,
      stderr: '',
    });
    expect((statSync(file).mode & 0o777).toString(8)).toBe('600');
    expect((statSync(join(file, '..')).mode & 0o777).toString(8)).toBe('700');
    const me = JSON.parse((await run(['whoami', '--json'])).stdout);
    expect(me).toMatchObject({ name: 'admin', role: 'admin', url: server.url, profile: 'default' });
    expect(me.permissions).toContain('update:targets');
    expect(Date.parse(me.until)).toBeGreaterThan(Date.now() + 3_500_000);
    expect(await run(['logout'])).toMatchObject({ code: 0, stdout: `logged out of ${server.url}\n` });
    expect(await run(['whoami'])).toMatchObject({
      code: 1,
      stdout: '',
      stderr: "headgate: nobody is logged in (profile 'default'); run headgate login\n",
    });
  });

  it('says that a password is wrong and keeps nothing', async () => {
    const { run, logIn } = home();
    expect(await logIn([], 'wrong')).toMatchObject({
      code: 1,
      stdout: '',
      stderr: expect.stringMatching(/^headgate: /),
    });
    expect((await run(['whoami'])).code).toBe(1);
  });

  it('has several at once, by name', async () => {
    const { run, logIn } = home();
    await logIn(['--profile', 'one']);
    await logIn(['--profile', 'two', '--connect', new URL(server.url).host]);
    expect((await run(['whoami'])).stdout).toMatch(/^profile +two$/m);
    expect((await run(['whoami', '--profile', 'one'])).stdout).toMatch(/^profile +one$/m);
    expect((await run(['whoami'], '', { HEADGATE_PROFILE: 'one' })).stdout).toMatch(/^profile +one$/m);
    expect((await run(['whoami', '--profile', 'three'])).stderr).toContain('headgate login --profile three');
  });

  it('connects where it is told, while the server is called by its name', async () => {
    const { run, logIn } = home();
    const url = 'http://main-acme.localhost:1';
    const login = await logIn(['--url', url, '--connect', new URL(server.url).host]);
    expect(login).toMatchObject({ code: 0, stdout: `logged in at ${url} as admin\n` });
    expect((await run(['inputs', 'list'])).code).toBe(0);
  });

  it('is not needed by a program that has a token', async () => {
    const environment = { HEADGATE_URL: server.url, HEADGATE_TOKEN: server.token };
    expect((await home().run(['inputs', 'list'], '', environment)).code).toBe(0);
    const ended = await home().run(['inputs', 'list'], '', { ...environment, HEADGATE_TOKEN: 'a.b.c' });
    expect(ended).toMatchObject({ code: 1, stderr: expect.stringContaining('run headgate login') });
  });

  it('says so when the server is not there, or when it is elsewhere and not encrypted', async () => {
    const { run } = home();
    const nobody = await run(['login', '--url', 'http://127.0.0.1:1'], 'x\n');
    expect(nobody).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('http://127.0.0.1:1 cannot be reached'),
    });
    const elsewhere = await run(['login', '--url', 'http://example.invalid'], 'x\n');
    expect(elsewhere.stderr).toContain('http://example.invalid is not encrypted');
  });

  it('says what is wrong with a file of profiles that is not ours', async () => {
    const { run, file } = home();
    mkdirSync(join(file, '..'));
    writeFileSync(file, '[]');
    expect((await run(['whoami'])).stderr).toContain(`${file} holds no profiles of headgate`);
  });

  it('wants everything that client credentials need', async () => {
    const { code, stderr } = await home().run(['login', '--client-id', 'x'], 'secret\n');
    expect([code, stderr]).toEqual([1, 'headgate: --client-id needs --auth-url and --audience as well\n']);
  });
});

describe('nouns', () => {
  it('are listed as a table, or as the API has them', async () => {
    const { run, logIn } = home();
    await logIn();
    const { stdout } = await run(['inputs', 'list', '--type', 'syslog']);
    expect(stdout.split('\n').map(line => line.split(/ {2,}/).slice(0, 5))).toEqual([
      ['ID', 'TYPE', 'HEALTH', 'PRESENCE', 'PIPELINE'],
      ['app', 'syslog', 'Green', 'present', 'edge'],
      [''],
    ]);
    expect((await run(['inputs', 'list', '--type', 'syslog'], '', { CI: 'true' })).stdout).toBe(stdout);
    const { items, count } = JSON.parse((await run(['inputs', 'list', '--json'])).stdout);
    expect([count, items[0].headgate.pipeline]).toEqual([1, 'edge']);
    expect((await run(['inputs', 'list', '--type', 'none'])).stdout).toBe('no inputs\n');
    expect((await run(['incidents', 'list'])).stdout).toBe('no incidents\n');
    expect((await run(['deliveries', 'list', '--state', 'sent', '--json'])).stdout).toContain('"count": 0');
  });

  it('are shown one by one', async () => {
    const { run, logIn } = home();
    await logIn();
    expect((await run(['notifications', 'get', 'silent'])).stdout).toMatch(/^conf\.timeWindow +1h$/m);
    expect(JSON.parse((await run(['targets', 'get', 'log', '--json'])).stdout).type).toBe(
      'notifications_log',
    );
    expect((await run(['deliveries', 'show', 'none'])).stderr).toBe("headgate: delivery 'none' not found\n");
    expect(await run(['targets', 'get', 'none'])).toMatchObject({
      code: 1,
      stderr: "headgate: target 'none' not found\n",
    });
  });

  it('are made, changed and removed', async () => {
    const { run, logIn } = home();
    await logIn();
    const made = JSON.stringify({ id: 'hook', type: 'webhook', url: 'https://hooks.example/x' });
    expect((await run(['targets', 'create', '--file', '-', '--json'], made)).stdout).toContain(
      '"id": "hook"',
    );
    const file = join(temporaryFolder(), 'change.json');
    writeFileSync(file, '{"description": "of the shop"}');
    expect((await run(['targets', 'update', 'hook', '--file', file])).stdout).toMatch(
      /^description +of the shop$/m,
    );
    expect((await run(['targets', 'list', '--limit', '1', '--json'])).stdout).toContain('"count": 1');
    expect((await run(['targets', 'remove', 'hook'])).code).toBe(0);
    const message = JSON.stringify({ id: 'note', text: 'hello\u001b[31m\nthere' });
    await run(['messages', 'create', '--file', '-'], message);
    expect((await run(['messages', 'list'])).stdout).toContain('hello\\u001b[31m there');
  });

  it.each([
    [
      'a wrong body',
      ['targets', 'create', '--file', '-'],
      '{"id": "a b", "type": "slack"}',
      1,
      'id: must be 1 to 512 letters',
    ],
    ['no JSON', ['targets', 'create', '--file', '-'], '{', 1, 'standard input: The body is not valid JSON'],
    [
      'a list',
      ['targets', 'create', '--file', '-'],
      '[]',
      1,
      'standard input must hold an object: names with their values',
    ],
    ['no file', ['targets', 'create', '--file', '/none.json'], '', 1, "cannot read '/none.json'"],
    ['no flag', ['targets', 'create'], '', 2, '--file'],
    ['an unknown state', ['incidents', 'list', '--state', 'odd'], '', 2, 'Allowed choices are open, closed'],
    ['no count', ['incidents', 'list', '--limit', '0'], '', 2, 'whole number from 1'],
    ['no id', ['incidents', 'get'], '', 2, "missing required argument 'id'"],
    ['an unknown verb', ['incidents', 'drop'], '', 2, "unknown command 'drop'"],
  ])('refuse %s', async (_, args, input, code, text) => {
    const { run, logIn } = home();
    await logIn();
    const refused = await run(args, input);
    expect([refused.code, refused.stdout]).toEqual([code, '']);
    expect(refused.stderr).toContain(text);
  });
});

it('keeps secrets on the server when no folder is named', async () => {
  const { run, logIn } = home();
  await logIn();
  expect((await run(['secrets', 'set', 'ops_hook'], 'hunter2')).stdout).toContain('${secret:ops_hook}');
  expect((await run(['secrets', 'list'])).stdout).toMatch(/^ops_hook +\S+ +admin$/m);
  expect(JSON.parse((await run(['secrets', 'remove', 'ops_hook', '--json'])).stdout).name).toBe('ops_hook');
  expect((await run(['secrets', 'list'])).stdout).toBe('no secrets\n');
});

it('tells its version, and the one of the server', async () => {
  const { run, logIn } = home();
  await logIn();
  const { version } = JSON.parse((await run(['version', '--json'])).stdout);
  expect((await run(['version'])).stdout).toBe(`${version}\n`);
  expect((await run(['version', '--server'])).stdout).toMatch(/^\S+, server \S+\n$/);
});

describe('completion', () => {
  const complete = async (...words: string[]): Promise<string[]> =>
    (await headgate(['complete', '--', ...words])).stdout.split('\n').filter(line => line !== '');

  it('offers commands, verbs, choices and flags', async () => {
    expect(await complete('inc')).toEqual(['incidents']);
    expect(await complete('targets', '')).toEqual(['list', 'get', 'create', 'update', 'remove', 'help']);
    expect(await complete('completion', 'z')).toEqual(['zsh']);
    expect(await complete('incidents', 'list', '--st')).toEqual(['--state']);
    expect(await complete('nonsense', '')).toEqual(await complete(''));
  });

  const SHELLS = {
    bash: [
      '--norc',
      `COMP_WORDS=(headgate deliveries l); COMP_CWORD=2; source <(headgate completion bash); _headgate; echo "\${COMPREPLY[@]}"`,
    ],
    zsh: [
      '-f',
      `compdef() { :; }; compadd() { print -l -- \${(P)2} }; source <(headgate completion zsh)
       words=(headgate deliveries l); CURRENT=3; _headgate`,
    ],
    fish: ['--no-config', 'headgate completion fish | source; complete -C "headgate deliveries l"'],
  } as const;

  it.each(Object.entries(SHELLS))('works in a real %s', (shell, [flag, script]) => {
    const folder = temporaryFolder();
    symlinkSync(BIN, join(folder, 'headgate'));
    const env = { PATH: `${folder}:${process.env.PATH}`, HOME: folder };
    expect(execFileSync(shell, [flag, '-c', script], { env, encoding: 'utf8' })).toBe('list\n');
  });
});

describe('test-send', () => {
  it('sends a test, and shows what was sent and what came of it', async () => {
    const { run, logIn } = home();
    await logIn();
    const { code, stdout } = await run(['test-send', 'log']);
    expect([code, stdout]).toEqual([
      0,
      expect.stringMatching(/^log: sent\n> \{"id":.*Test of target log, asked for by admin/),
    ]);
    const { stdout: json } = await run(['test-send', 'log', '--json']);
    expect(JSON.parse(json)).toMatchObject({ target: 'log', success: true, verdict: 'sent' });
  });

  it('fails when it does not arrive, tests settings that are not kept, and says who nobody is', async () => {
    const { run, logIn } = home();
    await logIn();
    const settings = {
      type: 'webhook',
      url: 'http://127.0.0.1:9/hook',
      authType: 'token',
      token: 'never-to-be-seen',
    };
    const tried = await run(['test-send', 'not_kept', '--file', '-'], JSON.stringify(settings));
    expect([tried.code, tried.stdout]).toEqual([
      1,
      expect.stringMatching(
        /^not_kept: retry, .*\n> POST http:\/\/127\.0\.0\.1:9\/hook\n(?:> .*\n)*> authorization: \*{8}\n/,
      ),
    ]);
    expect(tried.stdout + tried.stderr).not.toContain('never-to-be-seen');
    expect(await run(['test-send', 'not_kept'])).toMatchObject({
      code: 1,
      stderr: "headgate: target 'not_kept' not found\n",
    });
  });
});

describe('ingest-tokens', () => {
  const push = async (token: string): Promise<number> => {
    const sample = { kind: 'input', type: 'syslog', id: 'app', metric: 'in_events', value: 5 };
    const answer = await server.call('POST', '/ingest/samples', {
      headers: [
        ['authorization', `Bearer ${token}`],
        ['content-type', 'application/json'],
      ],
      body: JSON.stringify({ samples: [sample] }),
    });
    return answer.status;
  };

  it('are made, rotated, changed and removed, and their secret is shown when it is made', async () => {
    const { run, logIn } = home();
    await logIn();
    const made = await run([
      'ingest-tokens',
      'create',
      '--pipeline',
      'edge',
      '--id',
      'shop',
      '--expires',
      '90d',
    ]);
    expect([made.code, made.stderr]).toEqual([0, 'Keep the secret now: nobody can read it again.\n']);
    const secret = /^secret +(hgi_\w+)$/m.exec(made.stdout)?.[1] ?? '';
    expect(await push(secret)).toBe(200);
    const rotated = await run(['ingest-tokens', 'rotate', 'shop', '--grace', '0s', '--json']);
    const issued = JSON.parse(rotated.stdout);
    expect([await push(secret), await push(issued.secret)]).toEqual([401, 200]);
    const listed = await run(['ingest-tokens', 'list', '--pipeline', 'edge']);
    expect(listed.stdout).toMatch(/^shop +edge +20/m);
    expect(listed.stdout).not.toContain(issued.secret.slice(4, 12));
    await run(['ingest-tokens', 'update', 'shop', '--file', '-'], '{"enabled":false}');
    expect((await run(['ingest-tokens', 'list'])).stdout).toMatch(/^shop +edge +disabled/m);
    expect(await push(issued.secret)).toBe(401);
    expect((await run(['ingest-tokens', 'remove', 'shop'])).code).toBe(0);
    expect((await run(['ingest-tokens', 'get', 'shop'])).stderr).toContain("'shop' not found");
  });

  it('of nobody are not made, and a time that is none is wrong usage', async () => {
    const { run, logIn } = home();
    await logIn();
    const nobody = await run(['ingest-tokens', 'create', '--pipeline', 'nobody']);
    expect(nobody).toMatchObject({ code: 1, stderr: expect.stringContaining("'nobody' is not configured") });
    const soon = await run(['ingest-tokens', 'create', '--pipeline', 'edge', '--expires', 'soon']);
    expect(soon).toMatchObject({ code: 2, stderr: expect.stringContaining('such as 90d') });
  });
});
