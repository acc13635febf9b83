import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startApp } from '../../src/app/app.ts';
import type { NewOrganization } from '../../src/auth/organizations/organizations.ts';
import { type OpenStore, withStore } from '../../src/cli/store.ts';
import { createCredentialInStore, createOrganizationInStore } from '../../src/cli/store-identity.ts';
import type { Clock } from '../../src/lib/clock.ts';
import { monotonicIds } from '../../src/lib/ids.ts';
import { silentLogger } from '../../src/lib/logger.ts';
import { writeConfiguration } from '../acceptance/files.ts';
import { ask, type Credential, freePort, type HostedCall, tokenFrom } from './hosted.ts';
import { AUDIENCE } from './tenants.ts';

const ORGANIZATIONS: readonly NewOrganization[] = ['acme', 'corp'].map(id => ({
  id,
  owner: `ann@${id}.example`,
  workspace: 'main',
}));

interface HostedAppOptions {
  readonly clock: Clock;
  readonly settings?: { readonly api?: object; readonly [section: string]: unknown };
  readonly organizations?: readonly NewOrganization[];
  /** What workspaces send through. */
  readonly egressProxy?: string;
  /** Works on the store before the installation starts. */
  readonly prepare?: (store: OpenStore) => Promise<void>;
}

export type HostedApp = Awaited<ReturnType<typeof startHostedApp>>;

/**
 * A hosted installation in this process, with its login service and, when not told others, the organizations `acme` and
 * `corp` with the workspace `main`. Each has an owner's credential, whose token calls send that name no other.
 */
export async function startHostedApp({
  clock,
  settings = {},
  organizations = ORGANIZATIONS,
  egressProxy,
  prepare,
}: HostedAppOptions) {
  const root = mkdtempSync(join(tmpdir(), 'headgate-hosted-'));
  const folders = { config: join(root, 'config'), data: join(root, 'data') };
  const port = await freePort();
  const authUrl = `http://127.0.0.1:${port + 1}`;
  writeConfiguration(folders.config, {
    settings: {
      auth: { signingAlgorithm: 'ES256' },
      delivery: { allowedAddresses: ['127.0.0.0/8'] },
      hosted: {
        ...{ cloudDomain: 'localhost', authUrl, audience: [AUDIENCE] },
        tokenRateLimit: { perSecond: 0 },
        ...(egressProxy !== undefined && { egressProxy }),
        // Tests that walk over every operation ask faster than people.
        quotas: { requestsPerSecond: 1_000_000, changesPerMinute: 1_000_000 },
      },
      ...settings,
      api: { rateLimit: { perSecond: 0 }, ...settings.api },
    },
  });
  const owners = new Map<string, Credential>();
  for (const organization of organizations) {
    await createOrganizationInStore(folders, organization);
    const fields = { name: 'robot', organizationRole: 'owner' } as const;
    const { credential, secret } = await createCredentialInStore(folders, organization.id, fields);
    owners.set(organization.id, { clientId: credential.clientId, clientSecret: secret.reveal() });
  }
  if (prepare !== undefined) await withStore({ ...folders, mayCreate: false }, prepare);
  const app = await startApp({
    ...{ configFolder: folders.config, dataFolder: folders.data, environment: {} },
    flags: { 'api.port': String(port) },
    ...{ clock, ids: monotonicIds(clock), random: Math.random, logger: silentLogger },
  });
  const ofCredential = tokenFrom(authUrl);
  /** A new one for a credential, or for the owner's of the organization of that id; with a scope a narrowed one. */
  function tokenFor(who: Credential | string, scope?: string): Promise<string> {
    const credential = typeof who === 'string' ? owners.get(who) : who;
    if (credential === undefined) throw new Error(`there is no organization ${String(who)}`);
    return ofCredential(credential, scope);
  }
  const tokens = new Map<string, string>();
  async function tokenOf(organization: string): Promise<string> {
    const token = tokens.get(organization) ?? (await tokenFor(organization));
    tokens.set(organization, token);
    return token;
  }
  return {
    url: app.url,
    port,
    authUrl,
    tokenFor,
    /** Asks the server by a host; that of its address when left out. */
    call: (path: string, call: HostedCall = {}) => ask(`${app.url}${path}`, call),
    /** Asks the API of a workspace in the name of its owner. */
    api: async (label: string, path: string, call: HostedCall = {}) =>
      ask(`${app.url}/api/v1${path}`, {
        host: `${label}.localhost:${port}`,
        token: await tokenOf(label.slice(label.indexOf('-') + 1)),
        ...call,
      }),
    /** Asks the management plane of an organization in the name of its owner. */
    plane: async (organization: string, path: string, call: HostedCall = {}) =>
      ask(`${authUrl}/v1/organizations/${organization}${path}`, {
        token: await tokenOf(organization),
        ...call,
      }),
    async stop() {
      await app.stop();
      rmSync(root, { recursive: true, force: true });
    },
  };
}
