import { parseLabel, type Tenant } from '../auth/tenant-name.ts';
import { ofToken, roleIn } from '../auth/tenant-roles.ts';
import type { ExpiryFact } from '../conditions/fact.ts';
import type { Clock } from '../lib/clock.ts';
import { createFaultLog } from '../lib/fault-log.ts';
import type { Logger } from '../lib/logger.ts';
import { createRepeat } from '../lib/repeat.ts';
import type { CredentialRow } from '../storage/credential-store.ts';
import type { Storage } from '../storage/storage.ts';

export interface CredentialEndsOptions {
  readonly storage: Pick<Storage, 'credentials' | 'organizations'>;
  /** Its label. */
  readonly workspace: string;
  readonly clock: Pick<Clock, 'sleep' | 'monotonic'>;
  readonly logger: Logger;
}

/** When the credentials end that may come in to a workspace. */
export interface CredentialEnds {
  /** As the store said last, which may be half a minute ago. */
  facts(): readonly ExpiryFact[];
  /** Reads no more, and waits for what is being read. */
  stop(): Promise<void>;
}

const EVERY_MS = 30_000;
/** As many as an organization may have. */
const MOST = 1000;
/** As many ids as `CredentialStore.roles` takes. */
const MOST_IDS = 500;

/** Throws what the store throws: an engine that knew of none would take all of them for removed. */
export async function openCredentialEnds(options: CredentialEndsOptions): Promise<CredentialEnds> {
  const { storage, clock } = options;
  const tenant = parseLabel(options.workspace);
  const faults = createFaultLog(options.logger.child({ component: 'facts' }), {
    fields: { workspace: options.workspace },
    message: 'when credentials expire cannot be read; what was read last counts',
    over: 'when credentials expire can be read again',
  });
  let known = await read();

  async function read(): Promise<readonly ExpiryFact[]> {
    const rows = tenant === undefined ? [] : await endingIn(tenant, storage);
    return rows.map(({ name, expires_at }) => ({
      kind: 'credential',
      key: `api-credential/${name}`,
      expiresAt: expires_at ?? undefined,
    }));
  }

  const reading = createRepeat({
    clock,
    interval: EVERY_MS,
    work: async () => {
      known = await read();
    },
    faults,
  });
  reading.start();
  return { facts: () => known, stop: () => reading.stop() };
}

/** The credentials with an end that have a role in the workspace, by the rules that let tokens in. */
async function endingIn(
  { organization: id, workspace }: Tenant,
  { credentials, organizations }: CredentialEndsOptions['storage'],
): Promise<readonly CredentialRow[]> {
  const rows = await credentials.ending(id, MOST);
  if (rows.length === 0) return [];
  const organization = await organizations.get(id);
  if (organization === undefined) return [];
  const ids = rows.filter(row => row.organization_role === 'user').map(row => row.client_id);
  const roles = [
    ...(await credentials.roles(ids.slice(0, MOST_IDS))),
    ...(await credentials.roles(ids.slice(MOST_IDS))),
  ];
  return rows.filter(({ client_id, organization_role: role }) => {
    const standing = { role, roles: roles.filter(one => one.client_id === client_id) };
    return roleIn(ofToken(organization, standing), workspace) !== undefined;
  });
}
