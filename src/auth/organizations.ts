import type { Clock } from '../lib/clock.ts';
import { notFound } from '../lib/errors.ts';
import type { Ids } from '../lib/ids.ts';
import { Secret } from '../lib/secret.ts';
import type { OrganizationRow } from '../storage/organization-store.ts';
import type { Storage, Transaction, UserRow } from '../storage/storage.ts';
import { generatePassword } from './generated-password.ts';
import type { Passwords } from './passwords.ts';
import { isOrganizationId, isWorkspaceId, labelOf, parseLabel } from './tenant-name.ts';
import { invalidField, newUserRow, parseUsername } from './users.ts';

interface Dependencies {
  readonly storage: Pick<Storage, 'transaction'>;
  readonly passwords: Pick<Passwords, 'hash'>;
  readonly clock: Pick<Clock, 'now'>;
  readonly ids: Ids;
  /** Whoever asks, as rows name them. */
  readonly actor: string;
}

export interface NewOrganization {
  readonly id: string;
  /** E-mail address. */
  readonly owner: string;
  readonly workspace: string;
}

interface CreatedOrganization {
  readonly organization: OrganizationRow;
  readonly owner: UserRow;
  /** The owner's, to be changed at the first sign-in; undefined for somebody who was a user before. */
  readonly password: Secret | undefined;
}

const EMAIL = /^[^\s@]+@[^\s@]+$/;

/**
 * An organization with its first workspace and its owner. Throws `invalid-request` for ids and addresses that are not
 * allowed, `conflict` when the organization exists.
 */
export async function createOrganization(
  { storage, passwords, clock, ids, actor }: Dependencies,
  { id, owner, workspace }: NewOrganization,
): Promise<CreatedOrganization> {
  assertNames(id, workspace);
  const username = parseUsername(owner);
  if (!EMAIL.test(username)) throw invalidField('owner', 'must be an e-mail address');
  const password = generatePassword();
  const hash = await passwords.hash(password);
  const now = clock.now();
  return storage.transaction(async tx => {
    const version = await tx.numberUserChange();
    const organization = { id, name: id, role_selector: 1, created_at: now, updated_at: now };
    await tx.addOrganization(organization);
    await tx.addWorkspace({
      organization: id,
      id: workspace,
      alias: '',
      description: '',
      region: '',
      tags: '[]',
      state: 'Active',
      created_at: now,
      updated_at: now,
    });
    const known = await tx.userByName(username);
    const user = known ?? (await addOwner(tx, { id: ids.next(), username, hash, now, version }));
    await tx.addMember({
      organization: id,
      user_id: user.id,
      role: 'owner',
      created_by: actor,
      created_at: now,
      updated_by: actor,
      updated_at: now,
    });
    return { organization, owner: user, password: known === undefined ? new Secret(password) : undefined };
  });
}

/** Answers it as it is now. Throws `not-found`. */
export async function setRoleSelector(
  { storage, clock }: Pick<Dependencies, 'storage' | 'clock'>,
  id: string,
  isOn: boolean,
): Promise<OrganizationRow> {
  return storage.transaction(async tx => {
    await tx.numberUserChange();
    const present = await tx.organization(id);
    if (present === undefined) throw notFound('organization', id);
    const row = { ...present, role_selector: isOn ? 1 : 0, updated_at: clock.now() };
    await tx.updateOrganization(row);
    return row;
  });
}

function assertNames(organization: string, workspace: string): void {
  if (!isOrganizationId(organization))
    throw invalidField('organization', 'must be 4 to 21 lower-case letters, digits or "-"');
  if (!isWorkspaceId(workspace))
    throw invalidField('workspace', 'must be 4 to 41 lower-case letters or digits');
  if (parseLabel(labelOf({ workspace, organization })) === undefined)
    throw invalidField('workspace', 'must be shorter: with the organization it must fit into 63 characters');
}

interface NewOwner {
  readonly id: string;
  readonly username: string;
  readonly hash: string;
  readonly now: number;
  readonly version: number;
}

/** Without a role of their own: what they may do comes from the organization. */
async function addOwner(tx: Transaction, { id, username, hash, now, version }: NewOwner): Promise<UserRow> {
  const user = newUserRow({
    id,
    username,
    password: hash,
    initial_password: hash,
    force_password_change: 1,
    role: 'user',
    created_at: now,
    email: username,
    version,
  });
  await tx.addUser(user);
  return user;
}
