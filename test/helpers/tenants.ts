import { join } from 'node:path';
import { createHostedIdentity } from '../../src/app/deployments/identity.ts';
import { startLoginService } from '../../src/app/deployments/login-service.ts';
import type { OrganizationActor } from '../../src/auth/actor.ts';
import { createOrganizationAudits } from '../../src/auth/audit.ts';
import { createCredentialSecrets } from '../../src/auth/organizations/credential.ts';
import { createCredentials } from '../../src/auth/organizations/credentials.ts';
import { createMembers } from '../../src/auth/organizations/members.ts';
import { createOrganization } from '../../src/auth/organizations/organizations.ts';
import { createTenantIdentity } from '../../src/auth/organizations/workspace-access.ts';
import { createAccessTokens } from '../../src/auth/tokens/access-tokens.ts';
import { openPepper } from '../../src/auth/tokens/issued-secrets.ts';
import { hostedSchema, settingsSchema } from '../../src/config/settings.ts';
import type { HttpClient } from '../../src/lib/http/client.ts';
import { monotonicIds } from '../../src/lib/ids.ts';
import { openKeyRing } from '../../src/lib/keyring.ts';
import { silentLogger } from '../../src/lib/logger.ts';
import { testClock } from './clock.ts';
import { noHttp } from './no-http.ts';
import { openTestStorage } from './storage.ts';

export const AUDIENCE = 'https://api.cloud.example';
export const ISSUER = 'https://login.cloud.example';
export const OWNER: OrganizationActor = {
  ...{ kind: 'member', id: 'ann', name: 'ann@acme.example' },
  ...{ organization: 'acme', role: 'owner' },
};
export const ADMIN: OrganizationActor = { ...OWNER, id: 'bob', name: 'bob@acme.example', role: 'admin' };

/** A hosted installation with the organizations `acme` and `beta`, each with the workspaces `main` and `test`. */
export async function openTenants(
  overrides: {
    readonly tokenRateLimit?: object;
    readonly api?: object;
    readonly auth?: object;
    readonly authUrl?: string;
    readonly http?: HttpClient;
  } = {},
) {
  const { storage, folder, close } = await openTestStorage();
  const clock = testClock();
  const ids = monotonicIds(clock);
  const keyRing = await openKeyRing({ path: join(folder, 'keys'), mayCreate: true });
  const hosted = hostedSchema.parse({
    cloudDomain: 'cloud.example',
    authUrl: overrides.authUrl ?? ISSUER,
    audience: [AUDIENCE, 'https://other.cloud.example'],
    ...(overrides.tokenRateLimit && { tokenRateLimit: overrides.tokenRateLimit }),
  });
  const settings = settingsSchema.parse({
    api: overrides.api ?? {},
    auth: { signingAlgorithm: 'ES256', ...overrides.auth },
  });
  const { api } = settings;
  const audits = createOrganizationAudits({ storage, clock, ids, logger: silentLogger });
  const people = await createHostedIdentity({
    ...{ storage, keyRing, clock, ids, logger: silentLogger, isShared: false, audits, hosted },
    http: overrides.http ?? noHttp,
    settings: () => settings,
  });
  const { keys, feed } = people;
  const passwords = { hash: async (password: string) => `hash of ${password}` };
  for (const id of ['acme', 'beta']) {
    const made = { storage, passwords, clock, ids, actor: 'headgate' };
    await createOrganization(made, { id, owner: `owner@${id}.example`, workspace: 'main' });
    const main = await storage.organizations.workspace(id, 'main');
    if (main !== undefined) await storage.transaction(tx => tx.addWorkspace({ ...main, id: 'test' }));
  }
  const secrets = createCredentialSecrets(await openPepper({ storage, keyRing }));
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
    secrets,
    credentials,
    members: createMembers({ storage, passwords: people.passwords, feed, clock, ids }),
    tokens,
    identity: createTenantIdentity({ storage, feed, keys: keys.tokenKeys, clock, ids, settings: hosted }),
    /** A credential of `acme`, made by its owner. */
    async credential(fields: Partial<Parameters<typeof credentials.create>[1]> = {}) {
      const { credential, secret } = await credentials.create(OWNER, {
        name: ids.next(),
        organizationRole: 'admin',
        ...fields,
      });
      return { ...credential, clientSecret: secret.reveal() };
    },
    /** What the code holds that signs a browser in at a workspace. */
    unseal: (code: string) => keyRing.decrypt(code, 'code|sign-in'),
    /** Starts the login service, on a free port unless one is given. */
    serve: (port = 0) =>
      startLoginService({
        ...{ storage, keyRing, identity: people, hosted, clock, ids },
        externalUrl: undefined,
        tls: undefined,
        api: () => api,
        host: '127.0.0.1',
        port,
        logger: silentLogger,
      }),
    async close() {
      await people.stop();
      await audits.stop();
      await close();
    },
  };
}

export type Tenants = Awaited<ReturnType<typeof openTenants>>;
