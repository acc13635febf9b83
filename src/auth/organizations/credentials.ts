import { randomInt } from 'node:crypto';
import type { Clock } from '../../lib/clock.ts';
import { AppError, notFound } from '../../lib/errors.ts';
import type { Ids } from '../../lib/ids.ts';
import type { Secret } from '../../lib/secret.ts';
import type { Storage, Transaction } from '../../storage/storage.ts';
import type { CredentialRow } from '../../storage/stores/credentials.ts';
import type { WorkspaceRoleRow } from '../../storage/stores/organizations.ts';
import type { Page, PageRequest } from '../../storage/types.ts';
import { assertManagesOrganization, assertMayActOn, type OrganizationActor } from '../actor.ts';
import type { ChangeFeed } from '../change-feed.ts';
import type { IssuedSecrets } from '../tokens/issued-secrets.ts';
import { invalidField } from '../users/user.ts';
import {
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

/** A new credential or a new secret of one: the secret is shown this once. */
export interface CreatedCredential {
  readonly credential: CredentialDetails;
  readonly secret: Secret;
}

/**
 * API credentials of the actor's organization. A change that ends tokens is answered once no process accepts them any
 * more. All throw `forbidden` for an actor that may not, and `not-found` for a credential that is not there.
 */
export interface Credentials {
  list(actor: OrganizationActor, page: PageRequest): Promise<Page<CredentialDetails>>;
  get(actor: OrganizationActor, clientId: string): Promise<CredentialDetails>;
  /** Throws `invalid-request`, `conflict` when the name is taken, `unprocessable` when there are too many. */
  create(
    actor: OrganizationActor,
    fields: CredentialFields & { readonly name: string; readonly organizationRole: RoleAssignments['role'] },
  ): Promise<CreatedCredential>;
  /** Throws as `create` does. Disabling it or lowering its roles ends its tokens; enabling revives none. */
  update(actor: OrganizationActor, clientId: string, fields: CredentialFields): Promise<CredentialDetails>;
  /**
   * Adds a secret and ends the present one after `graceMs`, 24 hours when left out and at most 7 days; at 0 its tokens
   * end too. The oldest of more than two is removed.
   */
  rotate(actor: OrganizationActor, clientId: string, graceMs?: number): Promise<CreatedCredential>;
  /** Ends one secret and all tokens of the credential. */
  revokeSecret(actor: OrganizationActor, clientId: string, secretId: string): Promise<CredentialDetails>;
  /** Only owners may. Returns the removed credential; its name is free again. */
  remove(actor: OrganizationActor, clientId: string): Promise<CredentialDetails>;
}

interface Dependencies {
  readonly storage: Pick<Storage, 'organizations' | 'credentials' | 'transaction'>;
  readonly secrets: IssuedSecrets;
  readonly feed: Pick<ChangeFeed, 'waitForPropagation'>;
  readonly clock: Pick<Clock, 'now'>;
  readonly ids: Ids;
}

/** A credential as a transaction sees it. */
interface CredentialState {
  readonly row: CredentialRow;
  readonly assignments: RoleAssignments;
}

export const createCredentials = (dependencies: Dependencies): Credentials =>
  new CredentialService(dependencies);

class CredentialService implements Credentials {
  readonly #storage: Dependencies['storage'];
  readonly #secrets: IssuedSecrets;
  readonly #feed: Dependencies['feed'];
  readonly #clock: Dependencies['clock'];
  readonly #ids: Ids;

  constructor({ storage, secrets, feed, clock, ids }: Dependencies) {
    this.#storage = storage;
    this.#secrets = secrets;
    this.#feed = feed;
    this.#clock = clock;
    this.#ids = ids;
  }

  async list(actor: OrganizationActor, page: PageRequest): Promise<Page<CredentialDetails>> {
    assertManagesOrganization(actor);
    const { rows, total } = await this.#storage.credentials.list(actor.organization, page);
    const roles = await this.#storage.credentials.roles(rows.map(row => row.client_id));
    const described = rows.map(row =>
      this.#describe(
        row,
        roles.filter(({ client_id }) => client_id === row.client_id),
      ),
    );
    return { rows: await Promise.all(described), total };
  }

  async get(actor: OrganizationActor, clientId: string): Promise<CredentialDetails> {
    assertManagesOrganization(actor);
    return this.#describe(requireOwned(await this.#storage.credentials.get(clientId), actor, clientId));
  }

  async create(
    actor: OrganizationActor,
    fields: Parameters<Credentials['create']>[1],
  ): Promise<CreatedCredential> {
    assertMayActOn(actor, fields.organizationRole);
    const { organization, name: createdBy } = actor;
    const clientId = newClientId();
    const { secret, row: secretRow } = this.#newSecret(clientId);
    const now = this.#clock.now();
    assertInFuture(fields.expiresAt, now);
    const { row, assignments } = await this.#storage.transaction(async tx => {
      const version = await tx.incrementUserChanges();
      if ((await tx.organization(organization)) === undefined) throw notFound('organization', organization);
      if ((await tx.countCredentials(organization)) >= MOST_CREDENTIALS)
        throw new AppError(
          'unprocessable',
          `the organization has ${MOST_CREDENTIALS} credentials already; delete one first`,
        );
      const empty = newCredentialRow({ clientId, organization, createdBy, now, version });
      const added = applyFields(empty, [], fields);
      await assertWorkspacesExist(tx, organization, added.assignments);
      await tx.addCredential(added.row);
      await tx.setCredentialRoles(clientId, added.assignments.roles);
      await tx.addCredentialSecret(secretRow);
      return added;
    });
    return { credential: credentialDetails(row, assignments.roles, [secretRow]), secret };
  }

  async update(
    actor: OrganizationActor,
    clientId: string,
    fields: CredentialFields,
  ): Promise<CredentialDetails> {
    assertManagesOrganization(actor);
    const now = this.#clock.now();
    return this.#change(actor, clientId, async (tx, before, number) => {
      const after = applyFields(before.row, before.assignments.roles, fields);
      assertMayActOn(actor, after.assignments.role);
      if (actor.kind === 'credential' && actor.id === clientId) assertNoEscalation(before, after);
      if (after.row.expires_at !== before.row.expires_at) assertInFuture(after.row.expires_at, now);
      if (fields.workspaces !== undefined || after.assignments.role !== before.assignments.role)
        await assertWorkspacesExist(tx, actor.organization, after.assignments);
      const endsTokens =
        isReduced(after.assignments, before.assignments) || after.row.enabled < before.row.enabled;
      const row = {
        ...after.row,
        version: endsTokens ? number : after.row.version,
        updated_by: actor.name,
        updated_at: now,
      };
      await tx.updateCredential(row);
      await tx.setCredentialRoles(clientId, after.assignments.roles);
      return row;
    });
  }

  async rotate(
    actor: OrganizationActor,
    clientId: string,
    graceMs = DEFAULT_GRACE_MS,
  ): Promise<CreatedCredential> {
    assertManagesOrganization(actor);
    if (!Number.isInteger(graceMs) || graceMs < 0 || graceMs > LONGEST_GRACE_MS)
      throw invalidField('grace', 'must be from 0 to 7 days');
    const now = this.#clock.now();
    const { secret, row: secretRow } = this.#newSecret(clientId);
    const credential = await this.#change(actor, clientId, async (tx, { row }, number) => {
      const plan = planRotation(await tx.credentialSecrets(clientId), { now, graceMs });
      for (const { id } of plan.removed) await tx.removeCredentialSecret(clientId, id);
      for (const { id, notAfter } of plan.ended) await tx.endCredentialSecret(clientId, id, notAfter);
      await tx.addCredentialSecret(secretRow);
      const version = graceMs === 0 ? number : row.version;
      const next = { ...row, version, updated_by: actor.name, updated_at: now };
      await tx.updateCredential(next);
      return next;
    });
    return { credential, secret };
  }

  async revokeSecret(
    actor: OrganizationActor,
    clientId: string,
    secretId: string,
  ): Promise<CredentialDetails> {
    assertManagesOrganization(actor);
    return this.#change(actor, clientId, async (tx, { row }, version) => {
      const secretRows = await tx.credentialSecrets(clientId);
      if (!secretRows.some(({ id }) => id === secretId)) throw notFound('secret', secretId);
      await tx.removeCredentialSecret(clientId, secretId);
      const next = { ...row, version, updated_by: actor.name, updated_at: this.#clock.now() };
      await tx.updateCredential(next);
      return next;
    });
  }

  async remove(actor: OrganizationActor, clientId: string): Promise<CredentialDetails> {
    if (actor.role !== 'owner') throw forbidden('Only an owner of the organization may delete a credential');
    const updated = { updated_by: actor.name, updated_at: this.#clock.now() };
    return this.#change(actor, clientId, async (tx, { row }, version) => {
      const next = { ...row, version, enabled: 0, deleted_at: updated.updated_at, ...updated };
      await tx.updateCredential(next);
      for (const { id } of await tx.credentialSecrets(clientId))
        await tx.removeCredentialSecret(clientId, id);
      return next;
    });
  }

  #newSecret(clientId: string): NewCredentialSecret {
    return newCredentialSecret({
      secrets: this.#secrets,
      ids: this.#ids,
      clientId,
      now: this.#clock.now(),
    });
  }

  async #describe(row: CredentialRow, roles?: readonly WorkspaceRoleRow[]): Promise<CredentialDetails> {
    const [known, secretRows] = await Promise.all([
      roles ?? this.#storage.credentials.roles([row.client_id]),
      this.#storage.credentials.secrets(row.client_id),
    ]);
    return credentialDetails(row, known, secretRows);
  }

  /** Changes one credential; resolves once every process knows, so that nobody is let in by the former state. */
  async #change(
    actor: OrganizationActor,
    clientId: string,
    work: (tx: Transaction, before: CredentialState, number: number) => Promise<CredentialRow>,
  ): Promise<CredentialDetails> {
    const after = await this.#storage.transaction(async tx => {
      const number = await tx.incrementUserChanges();
      const row = requireOwned(await tx.credential(clientId), actor, clientId);
      assertMayActOn(actor, row.organization_role);
      const assignments = assignmentsOf(row.organization_role, await tx.credentialRoles(clientId));
      return work(tx, { row, assignments }, number);
    });
    const described = await this.#describe(after);
    await this.#feed.waitForPropagation();
    return described;
  }
}

/** A credential of another organization is treated as if it was not there. */
function requireOwned(
  row: CredentialRow | undefined,
  { organization }: Pick<OrganizationActor, 'organization'>,
  clientId: string,
): CredentialRow {
  if (row === undefined || row.organization !== organization || row.deleted_at !== null)
    throw notFound('credential', clientId);
  return row;
}

function assertInFuture(expiresAt: number | null | undefined, now: number): void {
  if (typeof expiresAt === 'number' && expiresAt <= now)
    throw invalidField('expiresDate', 'must not be over');
}

function applyFields(
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
  readonly createdBy: string;
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
  created_by: made.createdBy,
  created_at: made.now,
  updated_by: made.createdBy,
  updated_at: made.now,
  last_used_at: null,
  deleted_at: null,
});

const newClientId = (): string =>
  Array.from({ length: CLIENT_ID_LENGTH }, () => ALPHANUMERIC[randomInt(ALPHANUMERIC.length)]).join('');
