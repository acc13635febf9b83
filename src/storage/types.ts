/** A page of rows; `total` counts all that match. */
export interface Page<Row> {
  readonly rows: readonly Row[];
  readonly total: number;
}

export interface PageRequest {
  readonly offset: number;
  readonly limit: number;
}

/** With more ids of one resource than this, listeners read anew rather than one by one. */
const MAX_IDS = 20;
export const MANY = '*';

/** Records a change that `written` makes; it is published when the transaction is committed. */
export type RecordChange = <Result>(
  resource: CommittedChange['resource'],
  id: string,
  written: Promise<Result>,
) => Promise<Result>;

/** Each change once; more than 20 ids of one resource in one workspace become one change of many. */
export function coalesceChanges(changes: readonly CommittedChange[]): readonly CommittedChange[] {
  const first = new Map<string, Map<CommittedChange['resource'], Map<string, CommittedChange>>>();
  for (const change of changes) {
    const resources =
      first.get(change.workspace) ?? new Map<CommittedChange['resource'], Map<string, CommittedChange>>();
    first.set(change.workspace, resources);
    const ids = resources.get(change.resource) ?? new Map<string, CommittedChange>();
    resources.set(change.resource, ids);
    if (ids.size <= MAX_IDS) ids.set(change.id, change);
  }
  return [...first].flatMap(([workspace, resources]) =>
    [...resources].flatMap(([resource, ids]) =>
      ids.size > MAX_IDS || ids.has(MANY) ? [{ workspace, resource, id: MANY }] : [...ids.values()],
    ),
  );
}

export type WithoutWorkspace<Row> = Omit<Row, 'workspace'>;

export const CHANGE_RESOURCES = [
  'incidents',
  'deliveries',
  'messages',
  'silences',
  'secrets',
  'ingest-tokens',
  'documents',
  'versions',
  'leases',
  'users',
  'tokens',
  'sessions',
  'organizations',
  'members',
  'credentials',
] as const;

/**
 * Something that was committed. `id` is '*' for many, or for any that may have been missed; `workspace` is '*' for any
 * of them, and for all resources from leases on, which belong to the whole installation.
 */
export interface CommittedChange {
  readonly workspace: string;
  readonly resource: (typeof CHANGE_RESOURCES)[number];
  readonly id: string;
}
