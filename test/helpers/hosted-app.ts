import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startApp } from '../../src/app/app.ts';
import { createCredentialInStore, createOrganizationInStore } from '../../src/cli/tenants-in-store.ts';
import type { Clock } from '../../src/lib/clock.ts';
import { monotonicIds } from '../../src/lib/ids.ts';
import { silentLogger } from '../../src/lib/logger.ts';
import { writeConfiguration } from '../acceptance/files.ts';
import { ask, freePort, type HostedCall } from './hosted.ts';
import { AUDIENCE } from './tenants.ts';

const ORGANIZATIONS = ['acme', 'corp'];

/**
 * A hosted installation in this process, with its login service and the organizations `acme` and `corp`: each has the
 * workspace `main` and an owner's credential, whose token calls send that name no other.
 */
export async function startHostedApp({
  clock,
  settings = {},
}: {
  readonly clock: Clock;
  readonly settings?: object;
}) {
  const root = mkdtempSync(join(tmpdir(), 'headgate-hosted-'));
  const folders = { config: join(root, 'config'), data: join(root, 'data') };
  const port = await freePort();
  const authUrl = `http://127.0.0.1:${port + 1}`;
  writeConfiguration(folders.config, {
    settings: {
      api: { rateLimit: { perSecond: 0 } },
      auth: { signingAlgorithm: 'ES256' },
      delivery: { allowedAddresses: ['127.0.0.0/8'] },
      hosted: { cloudDomain: 'localhost', authUrl, audience: [AUDIENCE] },
      ...settings,
    },
  });
  const owners = new Map<string, { readonly client_id: string; readonly client_secret: string }>();
  for (const id of ORGANIZATIONS) {
    await createOrganizationInStore(folders, { id, owner: `ann@${id}.example`, workspace: 'main' });
    const fields = { name: 'robot', organizationRole: 'owner' } as const;
    const { credential, secret } = await createCredentialInStore(folders, id, fields);
    owners.set(id, { client_id: credential.clientId, client_secret: secret.reveal() });
  }
  const app = await startApp({
    ...{ configFolder: folders.config, dataFolder: folders.data, environment: {} },
    flags: { 'api.port': String(port) },
    ...{ clock, ids: monotonicIds(clock), random: Math.random, logger: silentLogger },
  });
  const tokens = new Map<string, string>();
  for (const [id, owner] of owners) {
    const body = { grant_type: 'client_credentials', audience: AUDIENCE, ...owner };
    const { body: answer } = await ask(`${authUrl}/oauth/token`, { method: 'POST', body });
    tokens.set(id, answer.access_token);
  }
  const tokenOf = (organization: string): string => tokens.get(organization) ?? '';
  return {
    url: app.url,
    /** Asks the server by a host; that of its address when left out. */
    call: (path: string, call: HostedCall = {}) => ask(`${app.url}${path}`, call),
    /** Asks the API of a workspace in the name of its owner. */
    api: (label: string, path: string, call: HostedCall = {}) =>
      ask(`${app.url}/api/v1${path}`, {
        host: `${label}.localhost:${port}`,
        token: tokenOf(label.slice(label.indexOf('-') + 1)),
        ...call,
      }),
    /** Asks the management plane of an organization in the name of its owner. */
    plane: (organization: string, path: string, call: HostedCall = {}) =>
      ask(`${authUrl}/v1/organizations/${organization}${path}`, { token: tokenOf(organization), ...call }),
    async stop() {
      await app.stop();
      rmSync(root, { recursive: true, force: true });
    },
  };
}
