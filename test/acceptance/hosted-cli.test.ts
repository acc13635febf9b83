import { describe, expect, it } from 'vitest';
import { ask, hostedInstallation } from '../helpers/hosted.ts';
import { AUDIENCE } from '../helpers/tenants.ts';
import { until } from '../helpers/until.ts';
import { headgate, temporaryFolder } from './harness.ts';

const PASSWORD = 'forty-two purple elephants';
const OWNER = 'ann@acme.example';

/** A person's home, and the commands run there. */
function home() {
  const XDG_CONFIG_HOME = temporaryFolder();
  return (args: readonly string[], input = '', environment = {}) =>
    headgate(args, { XDG_CONFIG_HOME, ...environment }, input);
}

/** An installation that runs, with an organization whose owner has not signed in yet. */
async function organization() {
  const installed = await hostedInstallation();
  const { cli, port, authUrl } = installed;
  const made = await cli('org', 'create', 'acme', '--owner', OWNER, '--workspace', 'main', '--json');
  await cli('org', 'create', 'corp', '--owner', 'bob@corp.example', '--workspace', 'main');
  await installed.serve();
  const { password }: { readonly password: string } = JSON.parse(made);
  return {
    ...installed,
    password,
    loginArguments: ['login', '--auth-url', authUrl, '--org', 'acme'],
    /** Asks the API of the workspace main. */
    async statusOf(token: string): Promise<number> {
      const host = `main-acme.localhost:${port}`;
      return (await ask(`http://127.0.0.1:${port}/api/v1/system/inputs`, { host, token })).status;
    },
  };
}

/** The same, with the owner logged in who has chosen a password. */
async function ownedOrganization() {
  const installed = await organization();
  const { password, loginArguments } = installed;
  const run = home();
  const login = await run([...loginArguments, '--username', OWNER], `${password}\n${PASSWORD}\n`);
  expect(login).toMatchObject({ code: 0, stderr: '' });
  /** Runs a command that must succeed, and answers what it says as JSON. */
  const json = async (...args: string[]) => {
    const end = await run([...args, '--json']);
    expect(end).toMatchObject({ code: 0, stderr: '' });
    return JSON.parse(end.stdout);
  };
  return { ...installed, run, json };
}

describe('headgate login, at the login service', () => {
  it('takes the one-time password of an owner, and the one that takes its place', async () => {
    const { password, loginArguments, authUrl } = await organization();
    const run = home();
    const asOwner = [...loginArguments, '--username', OWNER];
    expect(await run(asOwner, 'wrong\n')).toMatchObject({ code: 1, stdout: '' });
    const half = await run(asOwner, `${password}\n`);
    expect([half.code, half.stderr]).toEqual([1, expect.stringContaining('as second line')]);
    expect((await run(['org', 'members', 'list'])).stderr).toContain('nobody is logged in');
    const weak = await run(asOwner, `${password}\nshort\n`);
    expect([weak.code, weak.stdout]).toEqual([1, '']);
    expect(await run(asOwner, `${password}\n${PASSWORD}\n`)).toMatchObject({
      code: 0,
      stdout: `logged in at ${authUrl} as ${OWNER}\n`,
      stderr: '',
    });
    expect((await run(['org', 'members', 'list'])).stdout).toContain(OWNER);
    expect((await run(asOwner, `${password}\n`)).code).toBe(1);
    expect((await run(asOwner, `${PASSWORD}\n`)).code).toBe(0);
    const nowhere = await run(['inputs', 'list']);
    expect([nowhere.code, nowhere.stderr]).toEqual([1, expect.stringContaining('--url as well')]);
    const left = await run(['logout']);
    expect(left).toMatchObject({ code: 0, stdout: `logged out of ${authUrl}\n` });
    expect(left.stderr).toContain('until its time is over');
    expect((await run(['credentials', 'list'])).stderr).toContain('nobody is logged in');
  });

  it('takes a credential, and with a workspace both planes are asked', async () => {
    const { loginArguments, port, json } = await ownedOrganization();
    const made = await json('credentials', 'create', 'robot', '--role', 'admin');
    const run = home();
    const url = `http://main-acme.localhost:${port}`;
    const place = ['--url', url, '--connect', `127.0.0.1:${port}`];
    const asRobot = [...loginArguments, ...place, '--client-id', made.clientId, '--audience', AUDIENCE];
    expect(await run(asRobot, 'hgs_wrong\n')).toMatchObject({ code: 1, stdout: '' });
    expect(await run(asRobot, `${made.clientSecret}\n`)).toMatchObject({
      code: 0,
      stdout: `logged in at ${url} as robot\n`,
      stderr: '',
    });
    expect(await run(['inputs', 'list'])).toMatchObject({ code: 0, stdout: 'no inputs\n' });
    expect((await run(['credentials', 'list'])).stdout).toMatch(/^\w{32} +robot +admin/m);
    expect(await run(['logout'])).toMatchObject({ code: 0, stderr: '' });
  });

  it('wants to know who logs in', async () => {
    const { code, stderr } = await home()(['login', '--auth-url', 'http://127.0.0.1:1'], 'x\n');
    expect([code, stderr]).toEqual([1, expect.stringContaining('--auth-url needs the --username')]);
  });
});

describe('headgate credentials, asking the login service', () => {
  it('make a credential and lead it through all of its life', async () => {
    const { run, json, tokenFor, statusOf } = await ownedOrganization();
    const asked = ['--role', 'user', '--workspace', 'main=reader', '--description', 'builds'];
    const made = await run(['credentials', 'create', 'ci', ...asked]);
    expect([made.code, made.stderr]).toEqual([0, 'Keep the secret now: nobody can read it again.\n']);
    const clientId = /^clientId: (\w{32})$/m.exec(made.stdout)?.[1] ?? '';
    const clientSecret = /^clientSecret: (hgs_\w+)$/m.exec(made.stdout)?.[1] ?? '';
    const token = await tokenFor({ clientId, clientSecret });
    expect(await statusOf(token)).toBe(200);

    const { stdout: table } = await run(['credentials', 'list']);
    expect(table).toMatch(/^CLIENT ID +NAME +ROLE +WORKSPACES +DISABLED +EXPIRES +LAST USED +DESCRIPTION$/m);
    expect(table).toMatch(new RegExp(`^${clientId} +ci +user +main=reader .*builds$`, 'm'));
    expect((await json('credentials', 'list')).count).toBe(1);
    const one = await json('credentials', 'get', clientId);
    expect(one).toMatchObject({ clientId, name: 'ci', enabled: true, secrets: [{ notAfter: null }] });
    expect(table + JSON.stringify(one)).not.toContain(clientSecret);

    const changes = ['--name', 'builds', '--expires', '30d', '--allow-from', '127.0.0.0/8'];
    const changed = await json('credentials', 'update', clientId, ...changes);
    expect(changed).toMatchObject({ name: 'builds', description: 'builds', ipAllowlist: ['127.0.0.0/8'] });
    expect(Date.parse(changed.expiresDate)).toBeGreaterThan(Date.now());
    const again = [
      '--expires',
      'never',
      '--allow-from',
      'any',
      '--role',
      'user',
      '--workspace',
      'main=editor',
    ];
    const back = await json('credentials', 'update', clientId, ...again);
    expect(back).toMatchObject({ expiresDate: null, ipAllowlist: [] });
    expect((await run(['credentials', 'list'])).stdout).toContain('main=editor');

    expect((await json('credentials', 'disable', clientId)).enabled).toBe(false);
    expect(await statusOf(token)).toBe(401);
    expect((await run(['credentials', 'list'])).stdout).toMatch(/ disabled /);
    expect((await json('credentials', 'enable', clientId)).enabled).toBe(true);

    const rotated = await json('credentials', 'rotate', clientId, '--grace', '1h');
    const next = { clientId, clientSecret: rotated.clientSecret };
    await tokenFor({ clientId, clientSecret });
    const late = await tokenFor(next);
    const { secrets }: { secrets: { id: string; notAfter: string | null }[] } = rotated;
    const [old] = secrets.filter(({ notAfter }) => notAfter !== null);
    expect(Date.parse(old?.notAfter ?? '')).toBeLessThan(Date.now() + 3_700_000);
    const left = await json('credentials', 'revoke-secret', clientId, old?.id ?? '');
    expect(left.secrets).toHaveLength(1);
    await expect(tokenFor({ clientId, clientSecret })).rejects.toThrow('invalid_client');
    expect(await statusOf(late)).toBe(401);
    await tokenFor(next);

    const { code, stderr } = await run(['credentials', 'delete', clientId]);
    expect([code, stderr]).toEqual([2, expect.stringContaining('--yes')]);
    await tokenFor(next);
    expect(await json('credentials', 'delete', clientId, '--yes')).toMatchObject({ name: 'builds' });
    await expect(tokenFor(next)).rejects.toThrow('invalid_client');
    expect(await run(['credentials', 'list'])).toMatchObject({ code: 0, stdout: 'no credentials\n' });
  });

  it('are asked for by a program that has a token', async () => {
    const { json, tokenFor, authUrl } = await ownedOrganization();
    const token = await tokenFor(await json('credentials', 'create', 'robot', '--role', 'owner'));
    const environment = { HEADGATE_TOKEN: token, HEADGATE_AUTH_URL: authUrl, HEADGATE_ORG: 'acme' };
    expect((await home()(['credentials', 'list'], '', environment)).stdout).toContain('robot');
    const { HEADGATE_AUTH_URL: _, ...half } = environment;
    const nowhere = await home()(['credentials', 'list'], '', half);
    expect([nowhere.code, nowhere.stderr]).toEqual([1, expect.stringContaining('set HEADGATE_AUTH_URL')]);
  });

  it('tell what is refused, and end with an exit code that says so', async () => {
    const { run, json, loginArguments } = await ownedOrganization();
    const refused = async (text: string, ...args: string[]) => {
      const { code, stdout, stderr } = await run(args);
      expect([code, stdout, stderr]).toEqual([1, '', expect.stringContaining(text)]);
    };
    await refused("organization 'corp' not found", 'credentials', 'list', '--org', 'corp');
    await refused("'none' not found", 'credentials', 'get', 'none');
    await refused('name what is to be changed', 'credentials', 'update', 'none');
    await refused('--workspace needs --role', 'credentials', 'update', 'none', '--workspace', 'main=editor');
    await refused(
      'is no workspace of the organization',
      'credentials',
      'create',
      'x',
      '--role',
      'user',
      '--workspace',
      'none=user',
    );
    await json('credentials', 'create', 'ci', '--role', 'admin');
    await refused('ci', 'credentials', 'create', 'ci', '--role', 'admin');

    const bob = await json(
      'org',
      'members',
      'add',
      'bob@acme.example',
      '--role',
      'user',
      '--workspace',
      'main=reader',
    );
    const asBob = [...loginArguments, '--profile', 'bob', '--username', 'bob@acme.example'];
    expect(await run(asBob, `${bob.initialPassword}\nseven quiet otters paint a bridge\n`)).toMatchObject({
      code: 0,
    });
    await refused('Only owners and admins', 'credentials', 'list');
    expect((await run(['credentials', 'list', '--profile', 'default'])).code).toBe(0);
  });
});

describe('headgate org members', () => {
  it('come, are given other roles, and go', async () => {
    const { run, json, loginArguments } = await ownedOrganization();
    const added = await run(['org', 'members', 'add', 'Eve@acme.example', '--role', 'admin']);
    expect([added.code, added.stderr]).toEqual([0, expect.stringContaining('Keep the password now')]);
    const password = /^initialPassword +(\S+)$/m.exec(added.stdout)?.[1] ?? '';
    const eve = home();
    const asEve = [...loginArguments, '--username', 'eve@acme.example'];
    expect((await eve(asEve, `${password}\n${PASSWORD}\n`)).code).toBe(0);
    expect((await eve(['org', 'members', 'list'])).stdout).toMatch(/^\S+ +eve@acme.example +admin$/m);
    const toOwner = await eve(['org', 'members', 'remove', OWNER, '--yes']);
    expect([toOwner.code, toOwner.stderr]).toEqual([1, expect.stringContaining('Only an owner')]);

    const toOwnersPassword = await eve(['org', 'members', 'reset-password', OWNER]);
    expect([toOwnersPassword.code, toOwnersPassword.stderr]).toEqual([
      1,
      expect.stringContaining('Only an owner'),
    ]);
    const reset = await run(['org', 'members', 'reset-password', 'eve@acme.example']);
    expect([reset.code, reset.stderr]).toEqual([0, expect.stringContaining('Keep the password now')]);
    expect((await eve(['org', 'members', 'list'])).code).toBe(1);
    const another = /^initialPassword +(\S+)$/m.exec(reset.stdout)?.[1] ?? '';
    expect((await eve(asEve, `${another}\nnine calm herons count the stars\n`)).code).toBe(0);

    const lowered = ['--role', 'user', '--workspace', 'main=editor'];
    const changed = await json('org', 'members', 'update', 'eve@acme.example', ...lowered);
    expect(changed.roles.organizationRole).toBe('user');
    expect((await run(['org', 'members', 'list'])).stdout).toMatch(/ +user +main=editor$/m);
    expect((await eve(['org', 'members', 'list'])).code).toBe(1);

    const gone = ['org', 'members', 'remove', changed.userId];
    expect((await run(gone)).code).toBe(2);
    expect((await json(...gone, '--yes')).email).toBe('eve@acme.example');
    expect((await run(['org', 'members', 'get', 'eve@acme.example'])).stderr).toContain('not found');
    const last = await run(['org', 'members', 'remove', OWNER, '--yes']);
    expect([last.code, last.stderr]).toEqual([1, expect.stringContaining('last owner')]);

    await json('org', 'members', 'add', 'sue@acme.example', '--role', 'owner');
    const own = await run(['org', 'members', 'update', OWNER, ...lowered]);
    expect([own.code, own.stderr]).toEqual([
      0,
      expect.stringContaining('it is changed, and cannot be shown'),
    ]);
  });
});

describe('headgate org workspaces', () => {
  it('come, are described, and go', async () => {
    const { run, json, port } = await ownedOrganization();
    const made = await json(
      'org',
      'workspaces',
      'create',
      'test',
      '--alias',
      'Trial',
      '--tag',
      'a',
      '--tag',
      'b',
    );
    expect(made).toMatchObject({ workspaceId: 'test', alias: 'Trial', tags: ['a', 'b'] });
    expect(made.leaderFQDN).toBe('test-acme.localhost');
    const reached = async () => {
      const host = `test-acme.localhost:${port}`;
      return (await ask(`http://127.0.0.1:${port}/api/v1/system/inputs`, { host })).status;
    };
    await until(async () => (await reached()) === 401);
    const changed = await json('org', 'workspaces', 'update', 'test', '--description', 'for trials');
    expect(changed).toMatchObject({ alias: 'Trial', description: 'for trials' });
    expect((await run(['org', 'workspaces', 'list'])).stdout).toMatch(
      /^test +test-acme\.localhost +Active +Trial +a b +for trials$/m,
    );
    expect((await run(['org', 'workspaces', 'update', 'test'])).stderr).toContain(
      'name what is to be changed',
    );
    expect((await run(['org', 'workspaces', 'create', 'x'])).stderr).toContain('4 to 41');
    expect((await run(['org', 'workspaces', 'delete', 'test'])).code).toBe(2);
    expect((await json('org', 'workspaces', 'delete', 'test', '--yes')).alias).toBe('Trial');
    await until(async () => (await reached()) === 404);
    expect((await run(['org', 'workspaces', 'get', 'test'])).stderr).toContain("workspace 'test' not found");
  });
});

describe('whether the store or the login service is meant', () => {
  it('is said by --config and --data, or by a login; never by both, and never by nothing', async () => {
    const { folders, cli } = await hostedInstallation();
    await cli('org', 'create', 'acme', '--owner', OWNER, '--workspace', 'main');
    const run = home();
    const create = ['credentials', 'create', 'ci', '--role', 'admin'];
    const store = ['--config', folders.config, '--data', folders.data];
    const nothing = await run([...create, '--org', 'acme'], '', { HEADGATE_DATA: folders.data });
    expect([nothing.code, nothing.stdout]).toEqual([1, '']);
    expect(nothing.stderr).toContain(
      'run headgate login, or act on the store itself with --config and --data',
    );
    const both = await run([...create, '--org', 'acme', ...store, '--profile', 'default']);
    expect([both.code, both.stderr]).toEqual([2, expect.stringContaining('name one of the two')]);
    const which = await run([...create, ...store]);
    expect([which.code, which.stderr]).toEqual([1, expect.stringContaining('--org')]);
    const made = await run([...create, '--org', 'acme', ...store, '--expires', '1d', '--json']);
    expect(Object.keys(JSON.parse(made.stdout))).toEqual(['clientId', 'clientSecret', 'name']);
  });
});

it('is completed by the shell, and says what it does not know', async () => {
  const complete = async (...words: string[]) =>
    (await headgate(['complete', '--', ...words])).stdout.split('\n');
  expect(await complete('org', 'members', 'a')).toEqual(['add', '']);
  expect(await complete('credentials', 're')).toEqual(['revoke-secret', '']);
  expect(await complete('credentials', 'create', '--al')).toEqual(['--allow-from', '']);
  const unknown = await headgate(['org', 'workspaces', 'drop']);
  expect([unknown.code, unknown.stderr]).toEqual([2, expect.stringContaining("unknown command 'drop'")]);
});
