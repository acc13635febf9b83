import { type Kysely, type RawBuilder, sql } from 'kysely';
import { idFloor, timeOf } from '../../lib/ids.ts';
import type { Database } from '../tables.ts';
import { HOURS_PER_ROW } from './hours.ts';

interface RetentionRule {
  readonly table: string;
  /** The columns that `isExpired` reads besides workspace and id. */
  readonly columns: readonly string[];
  /** True when ids grow with time, so that recent rows need not be looked at. */
  readonly hasTimeOrderedIds: boolean;
  /** True of a row `r` that is older than `before` and that nothing needs. */
  readonly isExpired: (before: number) => RawBuilder<boolean>;
}

export interface RetentionStore {
  /**
   * Looks at the next `limit` rows after the id `after`, '' for the first. Answers the ids of those that are older than
   * `before` (epoch ms) and needed by nothing, and where to go on; `next` is undefined when all have been looked at.
   */
  findExpired(
    kind: RetentionKind,
    range: { readonly before: number; readonly after: string; readonly limit: number },
  ): Promise<{ readonly ids: readonly string[]; readonly next: string | undefined }>;
  /** Epoch ms after which the last `most` external events that changed nothing came; undefined where there are fewer. */
  receivedBefore(most: number): Promise<number | undefined>;
}

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/** The newest versions of the configuration, the active one among them, stay however old they are. */
const VERSIONS_KEPT = 20;

/** Finds the incident by its key before its state is compared: an index by state would walk through all that is open. */
const incidentOfRow = sql`i.workspace = r.workspace and i.id = r.incident_id`;

/**
 * A resolution is sent only where `notified` finds an alarm. Of each open incident, and of each whose resolution is still to
 * be sent to the target or to the one it is the fallback of, the last alarm that reached the target, or may have, is retained.
 */
const deliveries: RetentionRule = {
  table: 'deliveries',
  columns: ['incident_id', 'target', 'seq', 'status', 'state', 'settled_at', 'fallback_for'],
  hasTimeOrderedIds: true,
  isExpired: before => sql`r.state <> 'waiting' and r.settled_at < ${before} and (
    r.state not in ('sent', 'unknown') or r.status <> 'ALARM'
    or exists (
      select 1 from deliveries d where d.workspace = r.workspace and d.incident_id = r.incident_id
      and d.target = r.target and d.seq > r.seq and d.state in ('sent', 'unknown') and d.status = 'ALARM')
    or not (
      coalesce((select i.state from incidents i where ${incidentOfRow}), '') = 'open'
      or (
        select count(case when d.state in ('waiting', 'grouped') then 1 end) from deliveries d where d.workspace = r.workspace
        and d.incident_id = r.incident_id and (d.target = r.target or r.fallback_for is not null)
        and d.seq > r.seq) > 0))`,
};

/** Every delivery that is left has its event, every open incident its last. */
const events: RetentionRule = {
  table: 'events',
  columns: ['incident_id', 'created_at'],
  hasTimeOrderedIds: true,
  isExpired: before => sql`r.created_at < ${before}
    and not exists (select 1 from deliveries d where d.workspace = r.workspace and d.event_id = r.id)
    and coalesce((
      select case when i.state = 'open' and i.last_event_at = r.created_at then 1 else 0 end
      from incidents i where ${incidentOfRow}), 0) = 0`,
};

const received: RetentionRule = {
  table: 'received_events',
  columns: [],
  hasTimeOrderedIds: true,
  isExpired: before => sql`r.id < ${idFloor(before)}`,
};

const incidents: RetentionRule = {
  table: 'incidents',
  columns: ['state', 'closed_at'],
  hasTimeOrderedIds: true,
  isExpired: before => sql`r.state = 'closed' and r.closed_at < ${before}
    and not exists (select 1 from deliveries d where d.workspace = r.workspace and d.incident_id = r.id)`,
};

const versions: RetentionRule = {
  table: 'config_versions',
  columns: ['created_at'],
  hasTimeOrderedIds: true,
  isExpired: before => sql`r.created_at < ${before} and r.id <= (
    select v.id from config_versions v where v.workspace = r.workspace
    order by v.id desc limit 1 offset ${sql.lit(VERSIONS_KEPT)})`,
};

/** A notification's message stays while an incident of it is open. Ids are those of notifications, or people's. */
const messages: RetentionRule = {
  table: 'messages',
  columns: ['time'],
  hasTimeOrderedIds: false,
  isExpired: before => sql`r.time < ${before} and not exists (
    select 1 from incidents i where i.workspace = r.workspace and i.notification = r.id and i.state = 'open')`,
};

/** It stays for as long as an incident shows that it held it back. */
const silences: RetentionRule = {
  table: 'silences',
  columns: ['ends_at'],
  hasTimeOrderedIds: false,
  isExpired: before => sql`r.ends_at < ${before} and not exists (
    select 1 from silenced_incidents s where s.workspace = r.workspace and s.silence = r.id)`,
};

const audit: RetentionRule = {
  table: 'audit',
  columns: ['created_at'],
  hasTimeOrderedIds: true,
  isExpired: before => sql`r.created_at < ${before}`,
};

/** After a long stop, minutes first become hours; those that cannot stay a day longer. */
const minutes: RetentionRule = {
  table: 'minutes',
  columns: ['hour', 'in_hours'],
  hasTimeOrderedIds: true,
  isExpired: before => sql`r.hour < ${before} and (r.in_hours = 1 or r.hour < ${before - DAY_MS})`,
};

/** A row stays until the last of its hours is old. */
const hours: RetentionRule = {
  table: 'hours',
  columns: ['start'],
  hasTimeOrderedIds: true,
  isExpired: before => sql`r.start <= ${before - HOURS_PER_ROW * HOUR_MS}`,
};

const RULES: Readonly<Record<RetentionKind, RetentionRule>> = {
  deliveries,
  events,
  received,
  incidents,
  versions,
  messages,
  silences,
  audit,
  minutes,
  hours,
};

/** Within a `case`, PostgreSQL looks rows up by index instead of joining whole tables by its estimate of their size. */
const asNumber = (condition: RawBuilder<boolean>): RawBuilder<number> =>
  sql`case when ${condition} then 1 else 0 end`;

export const retentionStore = (db: Kysely<Database>, workspace: string): RetentionStore => ({
  async findExpired(kind, { before, after, limit }) {
    const { table, columns, hasTimeOrderedIds, isExpired } = RULES[kind];
    const skipRecent = hasTimeOrderedIds ? sql`and id < ${idFloor(before)}` : sql``;
    const { rows } = await sql<{ id: string; old: number }>`
      select r.id, ${asNumber(isExpired(before))} as old from (
        select ${sql.join(['workspace', 'id', ...columns].map(column => sql.ref(column)))} from ${sql.table(table)}
        where workspace = ${workspace} and id > ${after} ${skipRecent} order by id limit ${limit}) r
      order by r.id`.execute(db);
    return {
      ids: rows.filter(row => row.old === 1).map(row => row.id),
      next: rows.length < limit ? undefined : rows.at(-1)?.id,
    };
  },
  async receivedBefore(most) {
    const last = await db
      .selectFrom('received_events')
      .where('workspace', '=', workspace)
      .select('id')
      .orderBy('id', 'desc')
      .offset(most)
      .limit(1)
      .executeTakeFirst();
    return last && timeOf(last.id) + 1;
  },
});

/** Removes those of the rows that are still old: what has changed since they were found is looked at again. */
export async function removeExpired(
  db: Kysely<Database>,
  workspace: string,
  {
    kind,
    before,
    ids,
  }: { readonly kind: RetentionKind; readonly before: number; readonly ids: readonly string[] },
): Promise<number> {
  if (ids.length === 0) return 0;
  const { table, isExpired } = RULES[kind];
  const { rows } = await sql<{ id: string }>`
    delete from ${sql.table(table)} as r
    where r.workspace = ${workspace} and r.id in (${sql.join(ids)}) and ${asNumber(isExpired(before))} = 1 returning id`.execute(
    db,
  );
  if (kind === 'deliveries' && rows.length > 0) {
    const removed = rows.map(row => row.id);
    await db
      .deleteFrom('attempts')
      .where('workspace', '=', workspace)
      .where('delivery_id', 'in', removed)
      .execute();
  }
  if (kind === 'incidents' && rows.length > 0)
    for (const dependent of ['silenced_incidents', 'acknowledgements'] as const)
      await db
        .deleteFrom(dependent)
        .where('workspace', '=', workspace)
        .where(
          'incident',
          'in',
          rows.map(row => row.id),
        )
        .execute();
  return rows.length;
}

/** The rows that expire; `deliveries` with their attempts. */
export type RetentionKind =
  | 'deliveries'
  | 'events'
  | 'received'
  | 'incidents'
  | 'versions'
  | 'messages'
  | 'silences'
  | 'audit'
  | 'minutes'
  | 'hours';

/** What a workspace keeps, by a column that takes its rows a few at a time. Deliveries go before what they refer to. */
const KEPT = {
  attempts: 'delivery_id',
  deliveries: 'id',
  groups: 'id',
  events: 'id',
  received_events: 'id',
  acknowledgements: 'incident',
  silenced_incidents: 'incident',
  incidents: 'id',
  silences: 'id',
  messages: 'id',
  removed_targets: 'id',
  sending: 'workspace',
  secrets: 'name',
  ingest_tokens: 'id',
  components: 'identity',
  component_groups: 'id',
  snapshots: 'id',
  minutes: 'id',
  hours: 'id',
  config_versions: 'id',
  config_documents: 'workspace',
  audit: 'id',
} as const;

/** Removes some of what the workspace keeps, about `limit` rows; true when nothing is left. */
export async function clearWorkspace(
  db: Kysely<Database>,
  workspace: string,
  limit: number,
): Promise<boolean> {
  for (const [table, column] of Object.entries(KEPT)) {
    const { rows } = await sql`
      delete from ${sql.table(table)} where workspace = ${workspace} and ${sql.ref(column)} in (
        select ${sql.ref(column)} from ${sql.table(table)} where workspace = ${workspace} limit ${limit})
      returning workspace`.execute(db);
    if (rows.length > 0) return false;
  }
  return true;
}
