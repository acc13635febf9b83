import { createRemoteJWKSet, jwtVerify } from 'jose';
import * as oauth from 'oauth4webapi';
import * as openid from 'openid-client';
import { expect, it, onTestFinished } from 'vitest';
import * as z from 'zod';
import { openChangeFeed } from '../../src/auth/change-feed.ts';
import { createCredentialSecrets } from '../../src/auth/organizations/credential.ts';
import { createCredentials } from '../../src/auth/organizations/credentials.ts';
import { openPepper } from '../../src/auth/tokens/issued-secrets.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { monotonicIds } from '../../src/lib/ids.ts';
import { openKeyRing } from '../../src/lib/keyring.ts';
import { silentLogger } from '../../src/lib/logger.ts';
import { openStorage } from '../../src/storage/open.ts';
import { freePort } from '../helpers/hosted.ts';
import { createPostgresDatabase } from '../helpers/postgres.ts';
import { AUDIENCE, OWNER } from '../helpers/tenants.ts';
import { errorOf, poster, tokenRequest } from '../helpers/token-calls.ts';
import { startServer } from './bin.ts';
import { type Folders, headgate, installation } from './harness.ts';

const created = z.strictObject({ clientId: z.string(), clientSecret: z.string(), name: z.string() });
const answer = z.object({ access_token: z.string(), expires_in: z.literal(86_400) });

/** A hosted installation on PostgreSQL that holds the organization acme. */
async function hosted() {
  const { url, remove } = await createPostgresDatabase();
  onTestFinished(remove);
  const port = await freePort();
  const issuer = `http://127.0.0.1:${port}`;
  const folders = installation({
    settings: {
      storage: { url: '${env:DATABASE_URL}' },
      auth: { signingAlgorithm: 'ES256' },
      hosted: { cloudDomain: 'localhost', authUrl: issuer, audience: [AUDIENCE] },
    },
  });
  const environment = { DATABASE_URL: url };
  const cli = async (...args: string[]) => {
    const end = await headgate([...args, '--config', folders.config, '--data', folders.data], environment);
    expect(end.code, end.stderr).toBe(0);
    return end.stdout;
  };
  const org = await cli('org', 'create', 'acme', '--owner', 'Ann@acme.example', '--workspace', 'main');
  expect(org).toMatch(/One-time password: [a-z0-9-]{23}\n/);
  return {
    url,
    issuer,
    folders,
    async credential(name: string, ...more: string[]) {
      const asked = more.length > 0 ? more : ['--role', 'admin'];
      const text = await cli('credentials', 'create', name, '--org', 'acme', ...asked, '--json');
      return created.parse(JSON.parse(text));
    },
    async start() {
      const served = await startServer({
        ...folders,
        command: 'serve-login',
        environment,
        arguments: ['--port', String(port)],
      });
      onTestFinished(() => served.kill());
      expect(served.url).toBe(issuer);
      return served;
    },
  };
}

/** Credentials as another process of the installation administers them. */
async function administration(url: string, folders: Folders) {
  const clock = systemClock;
  const ids = monotonicIds(clock);
  const opened = { url, dataFolder: folders.data, logger: silentLogger, clock };
  const storage = await openStorage(opened);
  onTestFinished(() => storage.close());
  const keyRing = await openKeyRing({ path: `${folders.data}/keys`, mayCreate: false });
  const feed = await openChangeFeed({
    ...{ storage, clock, logger: silentLogger, isShared: true },
    changed: async () => {},
  });
  onTestFinished(feed.stop);
  const secrets = createCredentialSecrets(await openPepper({ storage, keyRing }));
  return createCredentials({ storage, secrets, feed, clock, ids });
}

it('issues tokens that others verify, and stops at once for what another process takes away', async () => {
  const { issuer, url, folders, credential, start } = await hosted();
  const ci = await credential('ci', '--role', 'user', '--workspace', 'main=editor');
  const service = await start();
  const post = poster(issuer);
  const ask = (shown = ci) => post(tokenRequest(shown));

  const { access_token: token } = answer.parse(JSON.parse((await ask()).text));
  const published = createRemoteJWKSet(new URL(`${issuer}/.well-known/jwks.json`));
  const checks = { issuer, audience: AUDIENCE, typ: 'at+jwt' };
  expect((await jwtVerify(token, published, checks)).payload).toMatchObject({
    sub: ci.clientId,
    org: 'acme',
    role: 'user',
  });

  const credentials = await administration(url, folders);
  await credentials.update(OWNER, ci.clientId, { enabled: false });
  expect(errorOf(await ask())).toEqual([401, 'invalid_client']);
  await credentials.update(OWNER, ci.clientId, { enabled: true });
  expect((await ask()).status).toBe(200);

  const rotated = await credentials.rotate(OWNER, ci.clientId, 0);
  const next = { ...ci, clientSecret: rotated.secret.reveal() };
  expect([(await ask()).status, (await ask(next)).status]).toEqual([401, 200]);

  await service.kill();
  await start();
  const again = answer.parse(JSON.parse((await ask(next)).text)).access_token;
  await jwtVerify(again, published, checks);
  await jwtVerify(token, createRemoteJWKSet(new URL(`${issuer}/.well-known/jwks.json`)), checks);

  await credentials.remove(OWNER, ci.clientId);
  expect(errorOf(await ask(next))).toEqual([401, 'invalid_client']);
  expect(service.stdout() + service.stderr()).not.toContain(ci.clientSecret);
});

it('serves the clients that others have written, each in its own way', async () => {
  const { issuer, credential, start } = await hosted();
  const ci = await credential('ci');
  await start();
  const ways = [
    [openid.ClientSecretBasic, oauth.ClientSecretBasic],
    [openid.ClientSecretPost, oauth.ClientSecretPost],
  ] as const;
  const parameters = { audience: AUDIENCE };
  for (const [first, second] of ways) {
    const configured = await openid.discovery(
      new URL(issuer),
      ci.clientId,
      undefined,
      first(ci.clientSecret),
      { algorithm: 'oauth2', execute: [openid.allowInsecureRequests] },
    );
    const granted = await openid.clientCredentialsGrant(configured, parameters);
    expect(granted).toMatchObject({ expires_in: 86_400, token_type: 'bearer' });
    await openid.tokenRevocation(configured, granted.access_token);

    const insecure = { [oauth.allowInsecureRequests]: true };
    const found = await oauth.discoveryRequest(new URL(issuer), { ...insecure, algorithm: 'oauth2' });
    const server = await oauth.processDiscoveryResponse(new URL(issuer), found);
    const client = { client_id: ci.clientId };
    const asked = await oauth.clientCredentialsGrantRequest(
      server,
      client,
      second(ci.clientSecret),
      parameters,
      insecure,
    );
    const read = await oauth.processClientCredentialsResponse(server, client, asked);
    expect(read.scope?.split(' ')).toContain('user:update:credentials');
  }
});

it('is of hosted installations only, and says so', async () => {
  const folders = installation({ settings: {} });
  const end = await headgate(['serve-login', '--config', folders.config, '--data', folders.data]);
  expect(end.code).toBe(1);
  expect(end.stderr).toContain('hosted.cloudDomain');
});

it('tells on the command line what is wrong with an organization or a credential', async () => {
  const { folders, data } = await hosted().then(({ folders: own }) => ({ folders: own, data: own.data }));
  const run = (...args: string[]) => headgate([...args, '--config', folders.root, '--data', `${data}-trial`]);
  const made = await run('org', 'create', 'beta', '--owner', 'bob@beta.example', '--workspace', 'main');
  expect(made.code, made.stderr).toBe(0);
  for (const [args, text] of [
    [['org', 'create', 'beta', '--owner', 'x@y.example', '--workspace', 'main'], 'already exists'],
    [['org', 'create', 'abc', '--owner', 'x@y.example', '--workspace', 'main'], 'organization must be'],
    [['org', 'create', 'gamma', '--owner', 'nobody', '--workspace', 'main'], 'e-mail'],
    [['org', 'update', 'none', '--role-selector', 'off'], 'not found'],
    [['credentials', 'create', 'x', '--org', 'beta', '--role', 'user'], 'workspaces'],
    [['credentials', 'create', 'x', '--org', 'none', '--role', 'admin'], 'not found'],
  ] as const) {
    const end = await run(...args);
    expect([end.code, end.stderr]).toEqual([1, expect.stringContaining(text)]);
  }
  const off = await run('org', 'update', 'beta', '--role-selector', 'off', '--json');
  expect(JSON.parse(off.stdout)).toEqual({ organization: 'beta', roleSelector: false });
});
