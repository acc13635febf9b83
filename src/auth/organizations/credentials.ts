import { randomInt } from 'node:crypto';
import type { Clock } from '../../lib/clock.ts';
import { AppError, notFound } from '../../lib/errors.ts';
import type { Ids } from '../../lib/ids.ts';
import type { Secret } from '../../lib/secret.ts';
import type { Storage, Transaction } from '../../storage/storage.ts';
import type { CredentialRow, CredentialSecretRow } from '../../storage/stores/credentials.ts';
import type { WorkspaceRoleRow } from '../../storage/stores/organizations.ts';
import type { Page, PageRequest } from '../../storage/types.ts';
import type { ChangeFeed } from '../change-feed.ts';
import type { IssuedSecrets } from '../tokens/issued-secrets.ts';
import { invalidField } from '../users/user.ts';
import {
  type Administrator,
  assertAdministersCredentials,
  assertCanGrant,
  assertNoEscalation,
  assertWorkspacesExist,
  assignmentsOf,
  type CredentialDetails,
  type CredentialFields,
  credentialDetails,
  forbidden,
  type NewCredentialSecret,
  newCredentialSecret,
  planRotation,
} from './credential.ts';
import { isReduced, type RoleAssignments } from './roles.ts';

const MOST_CREDENTIALS = 1000;
const CLIENT_ID_LENGTH = 32;
const ALPHANUMERIC = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const DEFAULT_GRACE_MS = 24 * 3_600_000;
const LONGEST_GRACE_MS = 7 * DEFAULT_GRACE_MS;

/** Its secret is shown this once. */
export interface CreatedCredential {
  readonly credential: CredentialDetails;
  readonly secret: Secret;
}

/**
 * API credentials of organizations. What ends tokens is answered once no process takes them any more. All throw
 * `forbidden` for whoever may not, and `not-found` for a credential that is not there.
 */
export interface Credentials {
  list(by: Administrator, organization: string, page: PageRequest): Promise<Page<CredentialDetails>>;
  get(by: Administrator, organization: string, clientId: string): Promise<CredentialDetails>;
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
  ): Promise<CredentialDetails>;
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
  ): Promise<CredentialDetails>;
  /** Only owners may. Answers what it was; its name is free again. */
  remove(by: Administrator, organization: string, clientId: string): Promise<CredentialDetails>;
}

interface Dependencies {
  readonly storage: Pick<Storage, 'organizations' | 'credentials' | 'transaction'>;
  readonly secrets: IssuedSecrets;
  readonly feed: Pick<ChangeFeed, 'waitForPropagation'>;
  readonly clock: Pick<Clock, 'now'>;
  readonly ids: Ids;
}

/** A credential as a transaction has it. */
interface CredentialState {
  readonly row: CredentialRow;
  readonly assignments: RoleAssignments;
}

export function createCredentials({ storage, secrets, feed, clock, ids }: Dependencies): Credentials {
  const newSecretFor = (clientId: string): NewCredentialSecret =>
    newCredentialSecret({ secrets, ids, clientId, now: clock.now() });

  async function describe(
    row: CredentialRow,
    roles?: readonly WorkspaceRoleRow[],
  ): Promise<CredentialDetails> {
    const [known, secretRows] = await Promise.all([
      roles ?? storage.credentials.roles([row.client_id]),
      storage.credentials.secrets(row.client_id),
    ]);
    return credentialDetails(row, known, secretRows);
  }

  /** Runs a change of the one credential; then all processes have taken it over, and who was let in or out is so everywhere. */
  async function applyChange(
    { organization, clientId }: { readonly organization: string; readonly clientId: string },
    work: (tx: Transaction, before: CredentialState, number: number) => Promise<CredentialRow>,
  ): Promise<CredentialDetails> {
    const after = await storage.transaction(async tx => {
      const number = await tx.incrementUserChanges();
      const row = requireIn(await tx.credential(clientId), organization, clientId);
      const credentialState = {
        row,
        assignments: assignmentsOf(row.organization_role, await tx.credentialRoles(clientId)),
      };
      return work(tx, credentialState, number);
    });
    const described = await describe(after);
    await feed.waitForPropagation();
    return described;
  }

  return {
    async list(by, organization, page) {
      assertAdministersCredentials(by);
      const { rows, total } = await storage.credentials.list(organization, page);
      const roles = await storage.credentials.roles(rows.map(row => row.client_id));
      const described = rows.map(row =>
        describe(
          row,
          roles.filter(({ client_id }) => client_id === row.client_id),
        ),
      );
      return { rows: await Promise.all(described), total };
    },

    async get(by, organization, clientId) {
      assertAdministersCredentials(by);
      return describe(requireIn(await storage.credentials.get(clientId), organization, clientId));
    },

    async create(by, organization, fields) {
      assertAdministersCredentials(by);
      assertCanGrant(by, fields.organizationRole);
      const clientId = newClientId();
      const { secret, row: secretRow } = newSecretFor(clientId);
      const now = clock.now();
      assertInFuture(fields.expiresAt, now);
      const { row, assignments } = await storage.transaction(async tx => {
        const version = await tx.incrementUserChanges();
        if ((await tx.organization(organization)) === undefined) throw notFound('organization', organization);
        if ((await tx.countCredentials(organization)) >= MOST_CREDENTIALS)
          throw new AppError(
            'unprocessable',
            `the organization has ${MOST_CREDENTIALS} credentials already; delete one first`,
          );
        const added = credentialState(
          newCredentialRow({ clientId, organization, by: by.name, now, version }),
          [],
          fields,
        );
        await assertWorkspacesExist(tx, organization, added.assignments);
        await tx.addCredential(added.row);
        await tx.setCredentialRoles(clientId, added.assignments.roles);
        await tx.addCredentialSecret(secretRow);
        return added;
      });
      return { credential: credentialDetails(row, assignments.roles, [secretRow]), secret };
    },

    async update(by, organization, clientId, fields) {
      assertAdministersCredentials(by);
      const now = clock.now();
      return applyChange({ organization, clientId }, async (tx, before, number) => {
        const after = credentialState(before.row, before.assignments.roles, fields);
        if (isReduced(before.assignments, after.assignments)) assertCanGrant(by, after.assignments.role);
        if (by.clientId === clientId) assertNoEscalation(before, after);
        if (after.row.expires_at !== before.row.expires_at) assertInFuture(after.row.expires_at, now);
        if (fields.workspaces !== undefined || after.assignments.role !== before.assignments.role)
          await assertWorkspacesExist(tx, organization, after.assignments);
        const endsTokens =
          isReduced(after.assignments, before.assignments) || after.row.enabled < before.row.enabled;
        const row = {
          ...after.row,
          version: endsTokens ? number : after.row.version,
          updated_by: by.name,
          updated_at: now,
        };
        await tx.updateCredential(row);
        await tx.setCredentialRoles(clientId, after.assignments.roles);
        return row;
      });
    },

    async rotate(by, organization, clientId, graceMs = DEFAULT_GRACE_MS) {
      assertAdministersCredentials(by);
      if (!Number.isInteger(graceMs) || graceMs < 0 || graceMs > LONGEST_GRACE_MS)
        throw invalidField('grace', 'must be from 0 to 7 days');
      const now = clock.now();
      const { secret, row: secretRow } = newSecretFor(clientId);
      const described = await applyChange({ organization, clientId }, async (tx, { row }, number) => {
        // Whoever holds the secret holds the role.
        assertCanGrant(by, row.organization_role);
        const plan = planRotation(await tx.credentialSecrets(clientId), { now, graceMs });
        for (const { id } of plan.removed) await tx.removeCredentialSecret(clientId, id);
        for (const { id, notAfter } of plan.ended) await tx.endCredentialSecret(clientId, id, notAfter);
        await tx.addCredentialSecret(secretRow);
        const version = graceMs === 0 ? number : row.version;
        const next = { ...row, version, updated_by: by.name, updated_at: now };
        await tx.updateCredential(next);
        return next;
      });
      return { credential: described, secret };
    },

    async revokeSecret(by, organization, clientId, secretId) {
      assertAdministersCredentials(by);
      return applyChange({ organization, clientId }, async (tx, { row }, version) => {
        const secretRows = await tx.credentialSecrets(clientId);
        if (!secretRows.some(({ id }: CredentialSecretRow) => id === secretId))
          throw notFound('secret', secretId);
        await tx.removeCredentialSecret(clientId, secretId);
        const next = { ...row, version, updated_by: by.name, updated_at: clock.now() };
        await tx.updateCredential(next);
        return next;
      });
    },

    async remove(by, organization, clientId) {
      if (by.role !== 'owner') throw forbidden('Only an owner of the organization may delete a credential');
      const now = clock.now();
      return applyChange({ organization, clientId }, async (tx, { row }, version) => {
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
function requireIn(row: CredentialRow | undefined, organization: string, clientId: string): CredentialRow {
  if (row === undefined || row.organization !== organization || row.deleted_at !== null)
    throw notFound('credential', clientId);
  return row;
}

function assertInFuture(expiresAt: number | null | undefined, now: number): void {
  if (typeof expiresAt === 'number' && expiresAt <= now) throw invalidField('expiresAt', 'must not be over');
}

/** What a credential is with the fields that are said. */
function credentialState(
  row: CredentialRow,
  roles: readonly WorkspaceRoleRow[],
  fields: CredentialFields,
): CredentialState {
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
    assignments: assignmentsOf(role, fields.workspaces ?? roles),
  };
}

const newCredentialRow = (made: {
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
