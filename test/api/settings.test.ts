import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ADMIN_PASSWORD } from '../acceptance/bin.ts';
import { login } from '../acceptance/client.ts';
import { writeFileText } from '../acceptance/files.ts';
import { type ApiServer, startApiServer } from './api-server.ts';
import { jsonCaller } from './json.ts';

const TOKEN = 'token-of-the-engine';
const METRICS_TOKEN = 'token-of-the-environment';
const SETTINGS = `# ours
instance:
  name: north   # by the sea
pipelines:
  - {id: own, engine: custom, push: true, token: ${TOKEN}}
`;
const PATH = '/system/settings/conf';
const AUTH = '/system/settings/auth';
const OVERRIDDEN = 'what the file says has no effect until that goes';

let server: ApiServer;
let call: ReturnType<typeof jsonCaller>;

beforeAll(async () => {
  server = await startApiServer(
    { settings: { auth: { signingAlgorithm: 'RS256' } } },
    { HEADGATE_METRICS_TOKEN: METRICS_TOKEN, HEADGATE_AUTH_FALLBACK: 'true' },
  );
  call = jsonCaller(server);
});

afterAll(() => server.stop());

const file = (): string => readFileSync(join(server.config, 'headgate.yml'), 'utf8');

async function given(text = SETTINGS): Promise<void> {
  writeFileText(server.config, 'headgate.yml', text);
  expect((await call('DELETE', '/notifications/nobody')).status).toBe(404);
}

/** What is said of a setting beside the settings. */
const noteOf = (answer: Awaited<ReturnType<typeof call>>, path: string): string | undefined =>
  answer.body.items[0].headgate.notes.find((note: { path: string }) => note.path === path)?.message;

describe('/system/settings/conf', () => {
  it("answers our sections and those the family's clients insist on, secrets masked", async () => {
    await given();
    const { body, text, etag } = await call('GET', PATH);
    expect(etag).toMatch(/^"[\w-]{22}"$/);
    expect(text).not.toContain(TOKEN);
    expect(text).not.toContain(METRICS_TOKEN);
    expect(body.items[0]).toMatchObject({
      api: { host: '127.0.0.1', port: 0, disabled: false, authTokenTTL: 3600, ssl: { disabled: true } },
      instance: { name: 'north' },
      pipelines: [{ id: 'own', token: '********' }],
      metrics: { token: '********' },
      system: { upgrade: 'false' },
      apps: { enabled: false },
      workers: {},
      proxy: {},
      shutdown: {},
    });
    for (const section of [
      'tls',
      'sni',
      'pii',
      'upgradeSettings',
      'upgradeGroupSettings',
      'backups',
      'rollback',
    ])
      expect(body.items[0][section]).toEqual({});
  });

  it('changes nothing when what was read is sent back, whatever flags and environment set', async () => {
    await given();
    const { body, etag } = await call('GET', PATH);
    const answer = await call('PATCH', PATH, body.items[0]);
    expect([answer.status, answer.etag, answer.body]).toEqual([200, etag, body]);
    expect(file()).toBe(SETTINGS);
  });

  it('merges what is sent into the sections, and leaves the rest with its comments', async () => {
    await given();
    await call('PATCH', PATH, { api: { authTokenTTL: 60, loginRateLimit: '5/second' } });
    const answer = await call('PATCH', PATH, { api: { authTokenTTL: 120 }, workers: { count: 1 } });
    expect(answer.body.items[0].api).toMatchObject({ authTokenTTL: 120, loginRateLimit: '5/second' });
    expect(answer.body.items[0].instance.name).toBe('north');
    expect(file()).toContain(SETTINGS.trimEnd());
    await call('PATCH', PATH, { api: { loginRateLimit: null } });
    expect(file()).toContain('authTokenTTL: 120');
    expect(file()).not.toContain('loginRateLimit');
    await call('PATCH', PATH, { api: null, instance: { name: 'south' } });
    expect(file()).toBe(SETTINGS.replace('north', 'south'));
  });

  it('is in force at once', async () => {
    await given();
    await call('PATCH', PATH, { api: { authTokenTTL: 77 } });
    const { token } = await login(server.url, ADMIN_PASSWORD);
    const { iat, exp } = JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString());
    expect(exp - iat).toBe(77);
  });

  it('says of host, port and storage that they wait for a restart, in every answer until they are as before', async () => {
    await given();
    const changed = await call('PATCH', PATH, {
      api: { host: 'localhost' },
      storage: { url: 'sqlite:other.db' },
    });
    for (const answer of [changed, await call('GET', PATH)]) {
      expect(noteOf(answer, 'api.host')).toBe('takes effect after a restart; until then it is "127.0.0.1"');
      expect(noteOf(answer, 'storage.url')).toContain('until then it is "sqlite:headgate.db"');
    }
    const back = await call('PATCH', PATH, { api: { host: null }, storage: null });
    expect(noteOf(back, 'api.host')).toBeUndefined();
    expect(noteOf(back, 'storage.url')).toBeUndefined();
  });

  it('refuses what is no address to listen on, with which it would not start again, and shows no secret that is', async () => {
    await given();
    const value = 'https://hooks.example.com/key-of-the-hook';
    expect((await call('PUT', '/system/secrets/hook', { value })).status).toBe(200);
    for (const host of [
      value,
      'no such host',
      '127.0.0.1:9000',
      '[::1]',
      '*.example.com',
      '${secret:hook}',
    ]) {
      const { status, body } = await call('PATCH', PATH, { api: { host } });
      expect([host, status, body.message]).toEqual([
        host,
        400,
        expect.stringMatching(/^api\.host: must be an address such as 127\.0\.0\.1 or ::, or a host name/),
      ]);
      if (host !== value) expect(body.message).not.toContain('key-of-the-hook');
    }
    expect(file()).toBe(SETTINGS);
    for (const host of ['::1', '0.0.0.0', 'gate_1.internal'])
      expect([host, (await call('PATCH', PATH, { api: { host } })).status]).toEqual([host, 200]);
  });

  it('says of a certificate that https waits for a restart, and shows it where the family looks', async () => {
    await given();
    const tls = { certPath: 'a.pem', privKeyPath: 'a.key', passphrase: 'open-sesame' };
    const answer = await call('PATCH', PATH, { api: { tls } });
    expect(noteOf(answer, 'api.tls')).toBe('takes effect after a restart; until then http is spoken');
    const ssl = { disabled: false, certPath: 'a.pem', privKeyPath: 'a.key', passphrase: '********' };
    expect(answer.body.items[0]).toMatchObject({ api: { ssl }, tls: { minVersion: 'TLSv1.2' } });
    expect(answer.text + file()).not.toContain('open-sesame');
    expect((await call('PATCH', PATH, answer.body.items[0])).etag).toBe(answer.etag);
    await call('PATCH', PATH, { api: { tls: null } });
    expect(file()).not.toContain('tls');
  });

  it('says of what a flag or the environment sets that a change waits until that goes', async () => {
    await given();
    const answer = await call('PATCH', PATH, { api: { port: 9001 }, metrics: { token: 'another-token' } });
    expect(answer.body.items[0].api.port).toBe(0);
    expect(noteOf(answer, 'api.port')).toBe(`is set by --port; ${OVERRIDDEN}`);
    expect(noteOf(answer, 'metrics.token')).toBe(`is set by HEADGATE_METRICS_TOKEN; ${OVERRIDDEN}`);
    expect(file()).toContain('port: 9001');
    expect(file()).toMatch(/token: \$\{secret:[\w-]+\}/);
    expect(file()).not.toContain('another-token');
  });

  it('keeps the secret of a pipeline that is moved in the list', async () => {
    await given();
    const first = { id: 'edge', engine: 'vector', url: 'http://127.0.0.1:1/metrics' };
    const own = { id: 'own', engine: 'custom', push: true, token: '********' };
    const answer = await call('PATCH', PATH, { pipelines: [first, own] });
    expect(answer.body.items[0].pipelines).toMatchObject([{ id: 'edge' }, { id: 'own', token: '********' }]);
    expect(file()).toContain(`token: ${TOKEN}`);
  });

  it.each([
    ['a wrong value', { api: { authTokenTTL: 'long' } }, 'api.authTokenTTL', 'must be a number'],
    ['an unknown key', { instance: { nmae: 'red' } }, 'instance.nmae', "did you mean 'name'?"],
    ['an unknown section', { pipeline: [] }, 'pipeline', "did you mean 'pipelines'?"],
    ["a change of a section that is the family's", { workers: { count: 4 } }, 'workers', 'cannot be changed'],
    ["a section of the family's as a list", { workers: [] }, 'workers', 'cannot be changed'],
    ['being disabled', { api: { disabled: true } }, 'api.disabled', 'cannot be changed'],
    ['a section that is no map', { api: 7 }, 'api', 'must be a map'],
    [
      'the value of a variable',
      { instance: { name: '${env:HOME}' } },
      'instance.name',
      'must not be read from the environment',
    ],
  ])('refuses %s', async (_, body, path, message) => {
    await given();
    const refused = { status: 400, body: { errors: [{ path, message: expect.stringContaining(message) }] } };
    expect(await call('PATCH', PATH, body)).toMatchObject(refused);
    expect(file()).toBe(SETTINGS);
  });

  it.each([
    ['nothing', undefined],
    ['a list', []],
    ['a text', 'api'],
  ])('refuses %s for a body', async (_, body) => {
    await given();
    expect((await call('PATCH', PATH, body)).status).toBe(400);
    expect(file()).toBe(SETTINGS);
  });

  it('lets one of two through that change the same state at once', async () => {
    await given();
    const { etag = '' } = await call('GET', PATH);
    const answers = await Promise.all(
      ['west', 'east'].map(name => call('PATCH', PATH, { instance: { name } }, { 'if-match': etag })),
    );
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 412]);
    const taken = answers.find(({ status }) => status === 200);
    expect(taken?.etag).not.toBe(etag);
    expect((await call('GET', PATH)).body).toEqual(taken?.body);
    expect(file()).toContain(`name: ${taken?.body.items[0].instance.name}   # by the sea`);
  });

  it('answers 409 while the file on disk has errors, and what they are', async () => {
    await given();
    writeFileText(server.config, 'headgate.yml', 'api: {authTokenTTL: no}');
    const answer = await call('PATCH', PATH, { instance: { name: 'west' } });
    expect(answer).toMatchObject({ status: 409, body: { code: 'configuration-broken' } });
    expect(file()).toBe('api: {authTokenTTL: no}');
    await given();
  });
});

describe('/system/settings/auth', () => {
  const openid = {
    issuer: 'https://login.example/realms/staff',
    client_id: 'headgate',
    client_secret: 'secret-of-the-client',
    groups: { mapping: { platform: ['admin'] } },
  };

  it('answers the section with every default, and the members the family insists on', async () => {
    await given();
    const { body, etag } = await call('GET', AUTH);
    expect(etag).toMatch(/^"[\w-]{22}"$/);
    expect(body.items[0]).toMatchObject({
      type: 'local',
      fallback: true,
      fallbackBadLogin: false,
      host: '',
      port: 0,
      ssl: false,
      filter_type: '',
      headgate: {
        notes: [{ path: 'fallback', message: `is set by HEADGATE_AUTH_FALLBACK; ${OVERRIDDEN}` }],
      },
    });
    const again = await call('PATCH', AUTH, body.items[0]);
    expect([again.status, again.etag, again.body]).toEqual([200, etag, body]);
    expect(file()).toBe(SETTINGS);
  });

  it('merges, keeps a secret whose mask comes back, and lets null take back', async () => {
    await given();
    const made = await call('PATCH', AUTH, { openid });
    expect(made.body.items[0].openid).toMatchObject({ client_id: 'headgate', client_secret: '********' });
    expect(made.text + file()).not.toContain(openid.client_secret);
    expect(file()).toContain('client_secret: ${secret:settings_auth_openid_client_secret-');
    const named = await call('PATCH', AUTH, { openid: { ...made.body.items[0].openid, name: 'Example' } });
    expect(named.body.items[0].openid).toMatchObject({ name: 'Example', groups: openid.groups });
    expect(file()).toContain('client_secret: ${secret:settings_auth_openid_client_secret-');
    expect((await call('GET', PATH)).body.items[0].auth.openid.name).toBe('Example');
    await call('PATCH', AUTH, { openid: null });
    expect(file()).not.toContain('openid');
  });

  it('gives the secret of a client to no other provider', async () => {
    await given();
    await call('PATCH', AUTH, { openid });
    const moved = await call('PATCH', AUTH, { openid: { issuer: 'https://thief.example' } });
    expect(moved).toMatchObject({ status: 422, body: { errors: [{ path: 'openid.client_secret' }] } });
  });

  it('knows its own state by its own tag', async () => {
    await given();
    const { etag = '' } = await call('GET', AUTH);
    await call('PATCH', PATH, { instance: { name: 'west' } });
    const answers = await Promise.all(
      ['a', 'b'].map(name => call('PATCH', AUTH, { openid: { ...openid, name } }, { 'if-match': etag })),
    );
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 412]);
  });

  it.each([
    ['an unknown type', { type: 'saml' }, 'type', 'must be one of local, openid'],
    ['an unknown key', { fallbck: true }, 'fallbck', "did you mean 'fallback'?"],
    [
      'an unknown role',
      { openid: { ...openid, groups: { default: 'boss' } } },
      'openid.groups.default',
      'one of',
    ],
    ["a change of the family's member", { fallbackBadLogin: true }, 'fallbackBadLogin', 'cannot be changed'],
  ])('refuses %s', async (_, body, path, message) => {
    await given();
    const answer = await call('PATCH', AUTH, body);
    expect(answer).toMatchObject({
      status: 400,
      body: {
        message: expect.stringMatching(new RegExp(`^${path}`)),
        errors: [{ path, message: expect.stringContaining(message) }],
      },
    });
    expect(file()).toBe(SETTINGS);
  });
});
