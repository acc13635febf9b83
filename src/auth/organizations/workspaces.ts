import type { Clock } from '../../lib/clock.ts';
import { AppError, notFound } from '../../lib/errors.ts';
import type { Storage, Transaction } from '../../storage/storage.ts';
import type { WorkspaceTable } from '../../storage/tables.ts';
import { assertManagesOrganization, type OrganizationActor } from '../actor.ts';
import type { ChangeFeed } from '../change-feed.ts';
import { isWorkspaceId, labelOf, parseLabel } from '../tenant-name.ts';
import { invalidField } from '../users/user.ts';

const MOST_WORKSPACES = 100;

/** The fields of a workspace; those left out of a change stay. */
interface WorkspaceFields {
  readonly alias?: string | undefined;
  readonly description?: string | undefined;
  readonly region?: string | undefined;
  readonly tags?: readonly string[] | undefined;
}

/** The workspaces of organizations. All throw `not-found` for an unknown one. */
export interface Workspaces {
  list(organization: string): Promise<readonly WorkspaceTable[]>;
  get(organization: string, id: string): Promise<WorkspaceTable>;
  /** Every process runs it within seconds. Throws `invalid-request` for its id, and `conflict` when it is taken. */
  create(actor: OrganizationActor, id: string, fields: WorkspaceFields): Promise<WorkspaceTable>;
  update(actor: OrganizationActor, id: string, fields: WorkspaceFields): Promise<WorkspaceTable>;
  /** It can no longer be reached; its data stays in the store, for a workspace of the same id. */
  remove(actor: OrganizationActor, id: string): Promise<void>;
}

export function createWorkspaces({
  storage,
  feed,
  clock,
}: {
  readonly storage: Pick<Storage, 'organizations' | 'transaction'>;
  readonly feed: Pick<ChangeFeed, 'waitForPropagation'>;
  readonly clock: Pick<Clock, 'now'>;
}): Workspaces {
  async function get(organization: string, id: string): Promise<WorkspaceTable> {
    const row = await storage.organizations.workspace(organization, id);
    if (row === undefined) throw notFound('workspace', id);
    return row;
  }

  return {
    list: storage.organizations.workspaces,
    get,
    create: (actor, id, fields) =>
      storage.transaction(async tx => {
        assertManagesOrganization(actor);
        await tx.incrementUserChanges();
        return addWorkspace(tx, { organization: actor.organization, id, fields, now: clock.now() });
      }),
    update: (actor, id, fields) =>
      storage.transaction(async tx => {
        assertManagesOrganization(actor);
        await tx.incrementUserChanges();
        const before = await tx.workspace(actor.organization, id);
        if (before === undefined) throw notFound('workspace', id);
        const row = { ...before, ...columnsOf(fields, before), updated_at: clock.now() };
        await tx.updateWorkspace(row);
        return row;
      }),
    async remove(actor, id) {
      assertManagesOrganization(actor);
      await storage.transaction(async tx => {
        await tx.incrementUserChanges();
        if ((await tx.workspace(actor.organization, id)) === undefined) throw notFound('workspace', id);
        await tx.removeWorkspace(actor.organization, id, clock.now());
      });
      await feed.waitForPropagation();
    },
  };
}

/** Throws `invalid-request` for an id that is not allowed, and `conflict` when it is taken or there are too many. */
export async function addWorkspace(
  tx: Pick<Transaction, 'addWorkspace' | 'countWorkspaces'>,
  {
    organization,
    id,
    fields,
    now,
  }: {
    readonly organization: string;
    readonly id: string;
    readonly fields: WorkspaceFields;
    readonly now: number;
  },
): Promise<WorkspaceTable> {
  if (!isWorkspaceId(id)) throw invalidField('workspaceId', 'must be 4 to 41 lower-case letters and digits');
  if (parseLabel(labelOf({ workspace: id, organization })) === undefined)
    throw invalidField(
      'workspaceId',
      `is too long: with '-${organization}' it must be at most 63 characters`,
    );
  if ((await tx.countWorkspaces(organization)) >= MOST_WORKSPACES)
    throw new AppError('conflict', `there are ${MOST_WORKSPACES} workspaces already; remove one first`);
  const first = { alias: '', description: '', region: '', tags: '[]' };
  const row: WorkspaceTable = {
    ...{ organization, id, ...first, ...columnsOf(fields, first) },
    ...{ state: 'Active', created_at: now, updated_at: now },
  };
  await tx.addWorkspace(row);
  return row;
}

const columnsOf = (
  { alias, description, region, tags }: WorkspaceFields,
  before: Pick<WorkspaceTable, 'alias' | 'description' | 'region' | 'tags'>,
) => ({
  alias: alias ?? before.alias,
  description: description ?? before.description,
  region: region ?? before.region,
  tags: tags === undefined ? before.tags : JSON.stringify(tags),
});
