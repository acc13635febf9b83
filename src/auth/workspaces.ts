import type { Clock } from '../lib/clock.ts';
import { AppError, notFound } from '../lib/errors.ts';
import type { Storage, Transaction } from '../storage/storage.ts';
import type { WorkspaceTable } from '../storage/tenant-tables.ts';
import type { ChangeFeed } from './change-feed.ts';
import { assertManages, type Manager } from './managers.ts';
import { isWorkspaceId, labelOf, parseLabel } from './tenant-name.ts';
import { invalidField } from './users.ts';

const MOST_WORKSPACES = 100;

/** What is said of a workspace; what is left out of a change stays. */
interface WorkspaceWords {
  readonly alias?: string | undefined;
  readonly description?: string | undefined;
  readonly region?: string | undefined;
  readonly tags?: readonly string[] | undefined;
}

/** What a manager sees and does of the organization's workspaces. All throw `not-found` for one that is not there. */
export interface Workspaces {
  list(organization: string): Promise<readonly WorkspaceTable[]>;
  get(organization: string, id: string): Promise<WorkspaceTable>;
  /** It runs in every process within seconds. Throws `invalid-request` for its id, and `conflict` when it is taken. */
  create(manager: Manager, id: string, words: WorkspaceWords): Promise<WorkspaceTable>;
  update(manager: Manager, id: string, words: WorkspaceWords): Promise<WorkspaceTable>;
  /** Nobody reaches it any more; what it has kept stays in the store, for one of the same name. */
  remove(manager: Manager, id: string): Promise<void>;
}

export function createWorkspaces({
  storage,
  feed,
  clock,
}: {
  readonly storage: Pick<Storage, 'organizations' | 'transaction'>;
  readonly feed: Pick<ChangeFeed, 'takenOver'>;
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
    create: (manager, id, words) =>
      storage.transaction(async tx => {
        assertManages(manager);
        await tx.numberUserChange();
        return addWorkspace(tx, { organization: manager.organization, id, words, now: clock.now() });
      }),
    update: (manager, id, words) =>
      storage.transaction(async tx => {
        assertManages(manager);
        await tx.numberUserChange();
        const before = await tx.workspace(manager.organization, id);
        if (before === undefined) throw notFound('workspace', id);
        const row = { ...before, ...columnsOf(words, before), updated_at: clock.now() };
        await tx.updateWorkspace(row);
        return row;
      }),
    async remove(manager, id) {
      assertManages(manager);
      await storage.transaction(async tx => {
        await tx.numberUserChange();
        if ((await tx.workspace(manager.organization, id)) === undefined) throw notFound('workspace', id);
        await tx.removeWorkspace(manager.organization, id);
      });
      await feed.takenOver();
    },
  };
}

/** Throws `invalid-request` for an id that is not allowed, and `conflict` when it is taken or there are too many. */
export async function addWorkspace(
  tx: Pick<Transaction, 'addWorkspace' | 'countWorkspaces'>,
  {
    organization,
    id,
    words,
    now,
  }: {
    readonly organization: string;
    readonly id: string;
    readonly words: WorkspaceWords;
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
    ...{ organization, id, ...first, ...columnsOf(words, first) },
    ...{ state: 'Active', created_at: now, updated_at: now },
  };
  await tx.addWorkspace(row);
  return row;
}

const columnsOf = (
  { alias, description, region, tags }: WorkspaceWords,
  before: Pick<WorkspaceTable, 'alias' | 'description' | 'region' | 'tags'>,
) => ({
  alias: alias ?? before.alias,
  description: description ?? before.description,
  region: region ?? before.region,
  tags: tags === undefined ? before.tags : JSON.stringify(tags),
});
