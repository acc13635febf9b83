import { randomInt } from 'node:crypto';
import type { Clock } from '../lib/clock.ts';
import { AppError, notFound } from '../lib/errors.ts';
import type { Ids } from '../lib/ids.ts';
import type { Secret } from '../lib/secret.ts';
import type { CredentialRow, CredentialSecretRow } from '../storage/credential-store.ts';
import type { WorkspaceRoleRow } from '../storage/organization-store.ts';
import type { Page, PageRequest, Storage, Transaction } from '../storage/storage.ts';
import type { ChangeFeed } from './change-feed.ts';
import { type CredentialFacts, factsOf } from './credential-facts.ts';
import {
  type Administrator,
  assertAdministers,
  assertMayGrant,
  assertNotUpward,
  assertWorkspaces,
  type CredentialFields,
  forbidden,
  standingOf,
} from './credential-rules.ts';
import { type Issued, newSecret, rotated } from './credential-secrets.ts';
import type { IssuedSecrets } from './issued-secret.ts';
import { isLower, type Standing } from './tenant-roles.ts';
import { invalidField } from './users.ts';

const MOST_CREDENTIALS = 1000;
const CLIENT_ID_LENGTH = 32;
const ALPHANUMERIC = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const DEFAULT_GRACE_MS = 24 * 3_600_000;
const LONGEST_GRACE_MS = 7 * DEFAULT_GRACE_MS;

/** Its secret is shown this once. */
export interface CreatedCredential {
  readonly credential: CredentialFacts;
  readonly secret: Secret;
}

/**
 * API credentials of organizations. What ends tokens is answered once no process takes them any more. All throw
 * `forbidden` for whoever may not, and `not-found` for a credential that is not there.
 */
export interface Credentials {
  list(by: Administrator, organization: string, page: PageRequest): Promise<Page<CredentialFacts>>;
  get(by: Administrator, organization: string, clientId: string): Promise<CredentialFacts>;
  /** Throws `invalid-request`, `conflict` when the name is taken, `unprocessable` when there are too many. */
  create(
    by: Administrator,
    organization: string,
    fields: CredentialFields & {
      readonly name: string;
      readonly organizationRole: CredentialRow['organization_role'];
    },
  ): Promise<CreatedCredential>;
  /** Throws as `create` does. Disabling and lowering end its tokens; enabling revives none. */
  update(
    by: Administrator,
    organization: string,
    clientId: string,
    fields: CredentialFields,
  ): Promise<CredentialFacts>;
  /**
   * Gives it another secret, and ends the present one after `graceMs`, 24 hours when left out and at most 7 days; at 0 its
   * tokens end too. Of more than two the oldest goes.
   */
  rotate(
    by: Administrator,
    organization: string,
    clientId: string,
    graceMs?: number,
  ): Promise<CreatedCredential>;
  /** Ends one secret and all tokens of the credential. */
  revokeSecret(
    by: Administrator,
    organization: string,
    clientId: string,
    secretId: string,
  ): Promise<CredentialFacts>;
  /** Only owners may. Answers what it was; its name is free again. */
  remove(by: Administrator, organization: string, clientId: string): Promise<CredentialFacts>;
}

interface Dependencies {
  readonly storage: Pick<Storage, 'organizations' | 'credentials' | 'transaction'>;
  readonly secrets: IssuedSecrets;
  readonly feed: Pick<ChangeFeed, 'takenOver'>;
  readonly clock: Pick<Clock, 'now'>;
  readonly ids: Ids;
}

/** A credential as a transaction has it. */
interface Whole {
  readonly row: CredentialRow;
  readonly standing: Standing;
}

export function createCredentials({ storage, secrets, feed, clock, ids }: Dependencies): Credentials {
  const make = (clientId: string): Issued => newSecret({ secrets, ids, clientId, now: clock.now() });

  async function facts(row: CredentialRow, roles?: readonly WorkspaceRoleRow[]): Promise<CredentialFacts> {
    const [known, held] = await Promise.all([
      roles ?? storage.credentials.roles([row.client_id]),
      storage.credentials.secrets(row.client_id),
    ]);
    return factsOf(row, known, held);
  }

  /** Runs a change of the one credential; then all processes have taken it over, and who was let in or out is so everywhere. */
  async function changed(
    { organization, clientId }: { readonly organization: string; readonly clientId: string },
    work: (tx: Transaction, before: Whole, number: number) => Promise<CredentialRow>,
  ): Promise<CredentialFacts> {
    const after = await storage.transaction(async tx => {
      const number = await tx.numberUserChange();
      const row = presentIn(await tx.credential(clientId), organization, clientId);
      const whole = { row, standing: standingOf(row.organization_role, await tx.credentialRoles(clientId)) };
      return work(tx, whole, number);
    });
    const told = await facts(after);
    await feed.takenOver();
    return told;
  }

  return {
    async list(by, organization, page) {
      assertAdministers(by);
      const { rows, total } = await storage.credentials.list(organization, page);
      const roles = await storage.credentials.roles(rows.map(row => row.client_id));
      const told = rows.map(row =>
        facts(
          row,
          roles.filter(({ client_id }) => client_id === row.client_id),
        ),
      );
      return { rows: await Promise.all(told), total };
    },

    async get(by, organization, clientId) {
      assertAdministers(by);
      return facts(presentIn(await storage.credentials.get(clientId), organization, clientId));
    },

    async create(by, organization, fields) {
      assertAdministers(by);
      assertMayGrant(by, fields.organizationRole);
      const clientId = newClientId();
      const { secret, row: secretRow } = make(clientId);
      const now = clock.now();
      assertLater(fields.expiresAt, now);
      const { row, standing } = await storage.transaction(async tx => {
        const version = await tx.numberUserChange();
        if ((await tx.organization(organization)) === undefined) throw notFound('organization', organization);
        if ((await tx.countCredentials(organization)) >= MOST_CREDENTIALS)
          throw new AppError(
            'unprocessable',
            `the organization has ${MOST_CREDENTIALS} credentials already; delete one first`,
          );
        const added = whole(newRow({ clientId, organization, by: by.name, now, version }), [], fields);
        await assertWorkspaces(tx, organization, added.standing);
        await tx.addCredential(added.row);
        await tx.setCredentialRoles(clientId, added.standing.roles);
        await tx.addCredentialSecret(secretRow);
        return added;
      });
      return { credential: factsOf(row, standing.roles, [secretRow]), secret };
    },

    async update(by, organization, clientId, fields) {
      assertAdministers(by);
      const now = clock.now();
      return changed({ organization, clientId }, async (tx, before, number) => {
        const after = whole(before.row, before.standing.roles, fields);
        if (isLower(before.standing, after.standing)) assertMayGrant(by, after.standing.role);
        if (by.clientId === clientId) assertNotUpward(before, after);
        if (after.row.expires_at !== before.row.expires_at) assertLater(after.row.expires_at, now);
        if (fields.workspaces !== undefined || after.standing.role !== before.standing.role)
          await assertWorkspaces(tx, organization, after.standing);
        const endsTokens = isLower(after.standing, before.standing) || after.row.enabled < before.row.enabled;
        const row = {
          ...after.row,
          version: endsTokens ? number : after.row.version,
          updated_by: by.name,
          updated_at: now,
        };
        await tx.updateCredential(row);
        await tx.setCredentialRoles(clientId, after.standing.roles);
        return row;
      });
    },

    async rotate(by, organization, clientId, graceMs = DEFAULT_GRACE_MS) {
      assertAdministers(by);
      if (!Number.isInteger(graceMs) || graceMs < 0 || graceMs > LONGEST_GRACE_MS)
        throw invalidField('grace', 'must be from 0 to 7 days');
      const now = clock.now();
      const { secret, row: secretRow } = make(clientId);
      const told = await changed({ organization, clientId }, async (tx, { row }, number) => {
        // Whoever holds the secret holds the role.
        assertMayGrant(by, row.organization_role);
        const plan = rotated(await tx.credentialSecrets(clientId), { now, graceMs });
        for (const { id } of plan.removed) await tx.removeCredentialSecret(clientId, id);
        for (const { id, notAfter } of plan.ended) await tx.endCredentialSecret(clientId, id, notAfter);
        await tx.addCredentialSecret(secretRow);
        const version = graceMs === 0 ? number : row.version;
        const next = { ...row, version, updated_by: by.name, updated_at: now };
        await tx.updateCredential(next);
        return next;
      });
      return { credential: told, secret };
    },

    async revokeSecret(by, organization, clientId, secretId) {
      assertAdministers(by);
      return changed({ organization, clientId }, async (tx, { row }, version) => {
        const held = await tx.credentialSecrets(clientId);
        if (!held.some(({ id }: CredentialSecretRow) => id === secretId)) throw notFound('secret', secretId);
        await tx.removeCredentialSecret(clientId, secretId);
        const next = { ...row, version, updated_by: by.name, updated_at: clock.now() };
        await tx.updateCredential(next);
        return next;
      });
    },

    async remove(by, organization, clientId) {
      if (by.role !== 'owner') throw forbidden('Only an owner of the organization may delete a credential');
      const now = clock.now();
      return changed({ organization, clientId }, async (tx, { row }, version) => {
        const next = { ...row, version, enabled: 0, deleted_at: now, updated_by: by.name, updated_at: now };
        await tx.updateCredential(next);
        for (const { id } of await tx.credentialSecrets(clientId))
          await tx.removeCredentialSecret(clientId, id);
        return next;
      });
    },
  };
}

/** One of another organization is as if it was not there. */
function presentIn(row: CredentialRow | undefined, organization: string, clientId: string): CredentialRow {
  if (row === undefined || row.organization !== organization || row.deleted_at !== null)
    throw notFound('credential', clientId);
  return row;
}

function assertLater(expiresAt: number | null | undefined, now: number): void {
  if (typeof expiresAt === 'number' && expiresAt <= now) throw invalidField('expiresAt', 'must not be over');
}

/** What a credential is with the fields that are said. */
function whole(row: CredentialRow, roles: readonly WorkspaceRoleRow[], fields: CredentialFields): Whole {
  const role = fields.organizationRole ?? row.organization_role;
  return {
    row: {
      ...row,
      name: fields.name ?? row.name,
      description: fields.description ?? row.description,
      enabled: (fields.enabled ?? row.enabled === 1) ? 1 : 0,
      organization_role: role,
      ip_allowlist: fields.ipAllowlist === undefined ? row.ip_allowlist : JSON.stringify(fields.ipAllowlist),
      expires_at: fields.expiresAt === undefined ? row.expires_at : fields.expiresAt,
    },
    standing: standingOf(role, fields.workspaces ?? roles),
  };
}

const newRow = (made: {
  readonly clientId: string;
  readonly organization: string;
  readonly by: string;
  readonly now: number;
  readonly version: number;
}): CredentialRow => ({
  client_id: made.clientId,
  organization: made.organization,
  name: '',
  description: '',
  enabled: 1,
  organization_role: 'user',
  ip_allowlist: '[]',
  version: made.version,
  expires_at: null,
  created_by: made.by,
  created_at: made.now,
  updated_by: made.by,
  updated_at: made.now,
  last_used_at: null,
  deleted_at: null,
});

const newClientId = (): string =>
  Array.from({ length: CLIENT_ID_LENGTH }, () => ALPHANUMERIC[randomInt(ALPHANUMERIC.length)]).join('');
