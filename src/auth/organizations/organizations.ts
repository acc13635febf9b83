import type { Clock } from '../../lib/clock.ts';
import { notFound } from '../../lib/errors.ts';
import type { Ids } from '../../lib/ids.ts';
import { Secret } from '../../lib/secret.ts';
import type { Storage } from '../../storage/storage.ts';
import type { OrganizationRow } from '../../storage/stores/organizations.ts';
import type { UserRow } from '../../storage/stores/users.ts';
import { isOrganizationId } from '../tenant-name.ts';
import { generatePassword, type Passwords } from '../users/passwords.ts';
import { invalidField } from '../users/user.ts';
import { addAccount, addMember, parseEmail } from './members.ts';
import { addWorkspace } from './workspaces.ts';

interface Dependencies {
  readonly storage: Pick<Storage, 'transaction'>;
  readonly passwords: Pick<Passwords, 'hash'>;
  readonly clock: Pick<Clock, 'now'>;
  readonly ids: Ids;
  /** Recorded in the rows as their creator. */
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
  /** The owner's in this organization, to be changed at the first sign-in. */
  readonly password: Secret;
}

/**
 * Creates an organization with its first workspace and its owner. Throws `invalid-request` for ids and addresses that are not
 * allowed, `conflict` when the organization exists.
 */
export async function createOrganization(
  { storage, passwords, clock, ids, actor }: Dependencies,
  { id, owner, workspace }: NewOrganization,
): Promise<CreatedOrganization> {
  if (!isOrganizationId(id))
    throw invalidField('organization', 'must be 4 to 21 lower-case letters, digits or "-"');
  const username = parseEmail(owner);
  const password = generatePassword();
  const hash = await passwords.hash(password);
  const now = clock.now();
  return storage.transaction(async tx => {
    await tx.incrementUserChanges();
    const organization = { id, name: id, role_selector: 1, created_at: now, updated_at: now };
    await tx.addOrganization(organization);
    await addWorkspace(tx, { organization: id, id: workspace, fields: {}, now });
    const user = await addAccount(tx, { clock, ids }, { organization: id, username, hash });
    const roles = { organizationRole: 'owner', workspaces: [] } as const;
    await addMember(tx, { organization: id, by: actor, user, roles, clock });
    return { organization, owner: user, password: new Secret(password) };
  });
}

/** Returns the changed organization. Throws `not-found`. */
export async function setRoleSelector(
  { storage, clock }: Pick<Dependencies, 'storage' | 'clock'>,
  id: string,
  isOn: boolean,
): Promise<OrganizationRow> {
  return storage.transaction(async tx => {
    await tx.incrementUserChanges();
    const present = await tx.organization(id);
    if (present === undefined) throw notFound('organization', id);
    const row = { ...present, role_selector: isOn ? 1 : 0, updated_at: clock.now() };
    await tx.updateOrganization(row);
    return row;
  });
}
