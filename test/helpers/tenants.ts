import { join } from 'node:path';
import { startLoginService } from '../../src/app/login-service.ts';
import { createAccessTokens } from '../../src/auth/access-tokens.ts';
import { openChangeFeed } from '../../src/auth/change-feed.ts';
import type { Administrator } from '../../src/auth/credential-rules.ts';
import { credentialSecrets } from '../../src/auth/credential-secrets.ts';
import { createCredentials } from '../../src/auth/credentials.ts';
import { openKeyLife } from '../../src/auth/key-life.ts';
import { createOrganization } from '../../src/auth/organizations.ts';
import { openPepper } from '../../src/auth/pepper.ts';
import { createTenantIdentity } from '../../src/auth/tenant-identity.ts';
import { hostedSchema } from '../../src/config/hosted-settings.ts';
import { settingsSchema } from '../../src/config/settings.ts';
import { monotonicIds } from '../../src/lib/ids.ts';
import { openKeyRing } from '../../src/lib/keyring.ts';
import { silentLogger } from '../../src/lib/logger.ts';
import { notedAudit } from './audit.ts';
import { testClock } from './clock.ts';
import { openTestStorage } from './storage.ts';

export const AUDIENCE = 'https://api.cloud.example';
export const ISSUER = 'https://login.cloud.example';
export const OWNER: Administrator = { name: 'ann@acme.example', role: 'owner' };
export const ADMIN: Administrator = { name: 'bob@acme.example', role: 'admin' };

/** A hosted installation with the organizations `acme` and `beta`, each with the workspaces `main` and `test`. */
export async function openTenants(
  overrides: { readonly tokenRateLimit?: object; readonly api?: object } = {},
) {
  const { storage, folder, close } = await openTestStorage();
  const clock = testClock();
  const ids = monotonicIds(clock);
  const keyRing = await openKeyRing({ path: join(folder, 'keys'), mayCreate: true });
  const keys = await openKeyLife({
    storage,
    keyRing,
    clock,
    logger: silentLogger,
    audit: notedAudit(),
    isShared: false,
    settings: () => ({ signingAlgorithm: 'ES256', keyLifetimeMs: 90 * 86_400_000 }),
    takenOver: async () => {},
  });
  const feed = await openChangeFeed({
    storage,
    isShared: false,
    clock,
    logger: silentLogger,
    changed: keys.reload,
  });
  const hosted = hostedSchema.parse({
    cloudDomain: 'cloud.example',
    authUrl: ISSUER,
    audience: [AUDIENCE, 'https://other.cloud.example'],
    ...(overrides.tokenRateLimit && { tokenRateLimit: overrides.tokenRateLimit }),
  });
  const { api } = settingsSchema.parse({ api: overrides.api ?? {} });
  const passwords = { hash: async (password: string) => `hash of ${password}` };
  for (const id of ['acme', 'beta']) {
    const made = { storage, passwords, clock, ids, actor: 'headgate' };
    await createOrganization(made, { id, owner: `owner@${id}.example`, workspace: 'main' });
    const main = await storage.organizations.workspace(id, 'main');
    if (main !== undefined) await storage.transaction(tx => tx.addWorkspace({ ...main, id: 'test' }));
  }
  const secrets = credentialSecrets(await openPepper({ storage, keyRing }));
  const credentials = createCredentials({ storage, secrets, feed, clock, ids });
  const tokens = createAccessTokens({
    keys: keys.tokenKeys,
    clock,
    ids,
    issuer: ISSUER,
    audience: hosted.audience,
  });
  return {
    storage,
    clock,
    ids,
    keys,
    feed,
    credentials,
    tokens,
    identity: createTenantIdentity({ storage, feed, keys: keys.tokenKeys, clock, ids, settings: hosted }),
    /** A credential of `acme`, made by its owner. */
    async credential(fields: Partial<Parameters<typeof credentials.create>[2]> = {}) {
      const { credential, secret } = await credentials.create(OWNER, 'acme', {
        name: ids.next(),
        organizationRole: 'admin',
        ...fields,
      });
      return { ...credential, clientSecret: secret.reveal() };
    },
    /** Starts the login service on a free port. */
    serve: () =>
      startLoginService({
        ...{ storage, keyRing, feed, keys, hosted, clock, ids },
        tls: undefined,
        api: () => api,
        host: '127.0.0.1',
        port: 0,
        logger: silentLogger,
      }),
    async close() {
      feed.stop();
      await keys.stop();
      await close();
    },
  };
}

export type Tenants = Awaited<ReturnType<typeof openTenants>>;
