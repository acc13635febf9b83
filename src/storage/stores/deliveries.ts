// Longer than others because interface, rows and statements of one noun stand together.
import { type ExpressionBuilder, type Kysely, sql } from 'kysely';
import { idFloor } from '../../lib/ids.ts';
import { columnsOf, countRows, eachOf } from '../queries.ts';
import {
  type AttemptTable,
  type Database,
  type DeliveryState,
  type DeliveryTable,
  REACHED_STATES,
} from '../tables.ts';
import type { Page, PageRequest, WithoutWorkspace } from '../types.ts';

export type DeliveryRow = WithoutWorkspace<DeliveryTable>;
export type AttemptRow = WithoutWorkspace<AttemptTable>;

export const DELIVERY_COLUMNS = columnsOf<DeliveryRow>({
  id: true,
  target: true,
  notification: true,
  subject: true,
  incident_id: true,
  event_id: true,
  seq: true,
  status: true,
  state: true,
  attempts: true,
  unknown_attempts: true,
  next_at: true,
  last_status: true,
  last_error: true,
  created_at: true,
  settled_at: true,
  retried_from: true,
  retried_at: true,
  fallback_for: true,
  batch: true,
  group_id: true,
  inhibited_for: true,
  silenced_by: true,
  inhibition: true,
  inhibited_by: true,
  released_at: true,
  fault: true,
  redelivered: true,
  remainder: true,
});

export const ATTEMPT_COLUMNS = columnsOf<AttemptRow>({
  delivery_id: true,
  number: true,
  started_at: true,
  duration_ms: true,
  outcome: true,
  http_status: true,
  reason: true,
  answer: true,
});

export interface RequeueRange {
  /** Epoch ms. */
  readonly now: number;
  readonly after: string;
  readonly limit: number;
}

export interface DeliveryFilter {
  readonly state?: DeliveryState;
  readonly target?: string;
  readonly notification?: string;
  readonly incident?: string;
  /** Epoch ms: made then or later. */
  readonly since?: number;
  /** Epoch ms: made before. */
  readonly until?: number;
}

/** The targets that got the firing events of an incident which were meant for one target. */
export interface NotifiedTargets {
  /** True when one has reached the target itself, or may have. */
  readonly isNotified: boolean;
  /** Ids of the targets that got one in its place, or are to get it, each once. */
  readonly fallbacks: readonly string[];
}

/** What became of the alarms of one incident for one target. */
export interface AlarmSummary {
  readonly incidentId: string;
  readonly target: string;
  /** When the first of them arrived, in epoch ms; null when none has. */
  readonly notifiedAt: number | null;
  /** An attempt of one that has not arrived for certain brought no answer. */
  readonly mayHaveArrived: boolean;
  /** Of the latest of them. */
  readonly last: Pick<DeliveryRow, (typeof SETTLED_COLUMNS)[number]>;
  /** The latest of them while it is not settled. */
  readonly unsettled: DeliveryRow | undefined;
}

/** What reads say of an alarm that is settled. */
const SETTLED_COLUMNS = ['state', 'last_error', 'fallback_for', 'inhibited_by'] as const;
const UNSETTLED_STATES: readonly DeliveryState[] = ['waiting', 'grouped'];

export interface DeliveryStore {
  get(id: string): Promise<DeliveryRow | undefined>;
  /** Newest first. */
  list(filter: DeliveryFilter, page: PageRequest): Promise<Page<DeliveryRow>>;
  /** The target's waiting deliveries with an id after `after`, oldest first. */
  waiting(target: string, after: string, limit: number): Promise<readonly DeliveryRow[]>;
  /** Waiting deliveries of each target, and since when the oldest waits (epoch ms); targets without any are omitted. */
  waitingByTarget(): Promise<
    readonly { readonly target: string; readonly count: number; readonly oldest: number }[]
  >;
  /** The targets that got alarms of the incident which were meant for the target. */
  notified(incidentId: string, target: string): Promise<NotifiedTargets>;
  /** When alarms of the incident were settled that reached the target, or may have, in epoch ms. */
  alarmsReachedAt(incidentId: string, target: string): Promise<readonly number[]>;
  /** True when the target has got a later event of the incident than `seq`, or may have. */
  isSuperseded(incidentId: string, target: string, seq: number): Promise<boolean>;
  /** Targets that got fallback deliveries of incidents that are open or have deliveries waiting, each once. */
  fallbackTargets(): Promise<readonly string[]>;
  /** For each target of these incidents, what became of its alarms; the targets that were meant first, first. */
  alarmsOf(incidentIds: readonly string[]): Promise<readonly AlarmSummary[]>;
  /** When the first alarm of each of these incidents was to be sent (epoch ms), by its id; without those of which all still wait. */
  alarmedAt(incidentIds: readonly string[]): Promise<ReadonlyMap<string, number>>;
  /** Targets with alarms that go again once the target is well, each once. */
  recoverable(): Promise<readonly string[]>;
  /** Alarms of the target that go again once it is well, with an id after `after`, oldest first. */
  givenUp(target: string, after: string, limit: number): Promise<readonly DeliveryRow[]>;
  /** The last alarm of each open incident that has reached the target, or may have, with an id after `after`, oldest first. */
  openAlarms(target: string, after: string, limit: number): Promise<readonly DeliveryRow[]>;
  /** The waiting deliveries of a batch, in the order of their ids. */
  inBatch(batch: string): Promise<readonly DeliveryRow[]>;
  attempts(deliveryId: string): Promise<readonly AttemptRow[]>;
}

/** Which deliveries are put back into the queue. */
export interface RequeueFilter extends Omit<DeliveryFilter, 'state'> {
  readonly states: readonly DeliveryState[];
  readonly id?: string;
}

export interface RequeueResult {
  /** Those that wait again, resolutions that were skipped among them. */
  readonly rows: readonly Pick<DeliveryRow, 'id' | 'target'>[];
  /** Deliveries that were left as they are, because their target has got a later event of the incident since. */
  readonly superseded: number;
  /** Where to go on; undefined when all have been looked at. */
  readonly next: string | undefined;
}

export function selectDeliveries(db: Kysely<Database>, workspace: string, filter: DeliveryFilter = {}) {
  let matching = db.selectFrom('deliveries').where('workspace', '=', workspace);
  if (filter.state !== undefined) matching = matching.where('state', '=', filter.state);
  if (filter.target !== undefined) matching = matching.where('target', '=', filter.target);
  if (filter.notification !== undefined) matching = matching.where('notification', '=', filter.notification);
  if (filter.incident !== undefined) matching = matching.where('incident_id', '=', filter.incident);
  if (filter.since !== undefined) matching = matching.where('id', '>=', idFloor(filter.since));
  if (filter.until !== undefined) matching = matching.where('id', '<', idFloor(filter.until));
  return matching;
}

export const deliveryStore = (db: Kysely<Database>, workspace: string): DeliveryStore => ({
  get: id => selectDeliveries(db, workspace).where('id', '=', id).select(DELIVERY_COLUMNS).executeTakeFirst(),
  async list(filter, { offset, limit }) {
    const matching = selectDeliveries(db, workspace, filter);
    const [rows, total] = await Promise.all([
      matching.orderBy('id', 'desc').select(DELIVERY_COLUMNS).offset(offset).limit(limit).execute(),
      countRows(matching),
    ]);
    return { rows, total };
  },
  waiting: (target, after, limit) =>
    selectWaiting(db, workspace, { target })
      .where('id', '>', after)
      .orderBy('id')
      .select(DELIVERY_COLUMNS)
      .limit(limit)
      .execute(),
  alarmedAt: incidentIds => alarmedAt(db, workspace, incidentIds),
  recoverable: () => recoverableTargets(db, workspace),
  givenUp: (target, after, limit) => pageOf(selectRecoverable(db, workspace), { target, after, limit }),
  openAlarms: (target, after, limit) => pageOf(selectOpenAlarms(db, workspace), { target, after, limit }),
  waitingByTarget: () => waitingByTarget(db, workspace),
  notified: (incidentId, target) => notifiedTargets(db, workspace, { incidentId, target }),
  async alarmsReachedAt(incidentId, target) {
    const rows = await selectDeliveries(db, workspace, { target, incident: incidentId })
      .where('status', '=', 'ALARM')
      .where('state', 'in', REACHED_STATES)
      .select(['settled_at', 'created_at'])
      .execute();
    return rows.map(row => row.settled_at ?? row.created_at);
  },
  async isSuperseded(incidentId, target, seq) {
    const later = await selectDeliveries(db, workspace, { target, incident: incidentId })
      .where('state', 'in', REACHED_STATES)
      .where('seq', '>', seq)
      .select('id')
      .limit(1)
      .executeTakeFirst();
    return later !== undefined;
  },
  fallbackTargets: () => fallbackTargets(db, workspace),
  alarmsOf: incidentIds => alarmsOf(db, workspace, incidentIds),
  inBatch: batch =>
    selectWaiting(db, workspace).where('batch', '=', batch).orderBy('id').select(DELIVERY_COLUMNS).execute(),
  attempts: deliveryId =>
    db
      .selectFrom('attempts')
      .where('workspace', '=', workspace)
      .where('delivery_id', '=', deliveryId)
      .orderBy('number')
      .select(ATTEMPT_COLUMNS)
      .execute(),
});

/** The state is written out, because SQLite takes a partial index only for what it can read in the text. */
const selectWaiting = (
  db: Kysely<Database>,
  workspace: string,
  filter: Pick<DeliveryFilter, 'target'> = {},
) => selectDeliveries(db, workspace, filter).where('state', '=', sql.lit('waiting'));

async function waitingByTarget(
  db: Kysely<Database>,
  workspace: string,
): ReturnType<DeliveryStore['waitingByTarget']> {
  const counted = await selectWaiting(db, workspace)
    .groupBy('target')
    .select(eb => [
      'target',
      eb.fn.countAll<number | string>().as('count'),
      eb.fn.min<string>('id').as('first'),
    ])
    .execute();
  if (counted.length === 0) return [];
  const ids = counted.map(({ first }) => first);
  const firsts = await selectDeliveries(db, workspace)
    .where('id', 'in', ids)
    .select(['id', 'created_at'])
    .execute();
  const createdAt = new Map(firsts.map(row => [row.id, row.created_at]));
  // One that was removed between the two reads was the oldest no more.
  return counted.flatMap(({ target, count, first }) => {
    const oldest = createdAt.get(first);
    return oldest === undefined ? [] : [{ target, count: Number(count), oldest }];
  });
}

async function notifiedTargets(
  db: Kysely<Database>,
  workspace: string,
  { incidentId, target }: { readonly incidentId: string; readonly target: string },
): Promise<NotifiedTargets> {
  const rows = await selectDeliveries(db, workspace, { incident: incidentId })
    .where('status', '=', 'ALARM')
    .where(eb =>
      eb.or([
        eb.and([eb('target', '=', target), eb('state', 'in', REACHED_STATES)]),
        eb('fallback_for', '=', target),
      ]),
    )
    .select('target')
    .distinct()
    .orderBy('target')
    .execute();
  const targets = rows.map(row => row.target);
  return { isNotified: targets.includes(target), fallbacks: targets.filter(other => other !== target) };
}

/** Incidents, and deliveries, that one statement asks for: more parameters than a few thousand are refused. */
const ASKED_AT_ONCE = 500;

async function alarmsOf(
  db: Kysely<Database>,
  workspace: string,
  incidentIds: readonly string[],
): Promise<readonly AlarmSummary[]> {
  const summaries: AlarmSummary[] = [];
  for (const ids of slices([...new Set(incidentIds)])) {
    const alarms = selectDeliveries(db, workspace)
      .where('incident_id', 'in', eachOf(ids))
      .where('status', '=', 'ALARM')
      .groupBy(['incident_id', 'target'])
      .select(eb => [
        eb.fn.min<string>('id').as('first'),
        eb.fn.max<string>('id').as('last'),
        eb.fn
          .min<number | null>(eb.case().when('state', '=', 'sent').then(eb.ref('settled_at')).end())
          .as('notified_at'),
        eb.fn.max<number | string>('unknown_attempts').as('unknown'),
      ]);
    const found = await db
      .selectFrom(alarms.as('alarms'))
      .innerJoin('deliveries', 'deliveries.id', 'alarms.last')
      .where('deliveries.workspace', '=', workspace)
      .select(['last', 'notified_at', 'unknown', 'incident_id', 'target', ...SETTLED_COLUMNS])
      .orderBy('alarms.first')
      .execute();
    const rows = new Map<string, DeliveryRow>();
    const unsettled = found.filter(({ state }) => UNSETTLED_STATES.includes(state));
    for (const lasts of slices(unsettled.map(({ last }) => last)))
      for (const row of await selectDeliveries(db, workspace)
        .where('id', 'in', lasts)
        .select(DELIVERY_COLUMNS)
        .execute())
        rows.set(row.id, row);
    for (const { incident_id: incidentId, target, last, notified_at: at, unknown, ...read } of found)
      summaries.push({
        ...{ incidentId, target },
        notifiedAt: at === null ? null : Number(at),
        mayHaveArrived: Number(unknown) > 0,
        // It may have been settled between the two reads.
        last: rows.get(last) ?? read,
        unsettled: rows.get(last),
      });
  }
  return summaries;
}

async function alarmedAt(
  db: Kysely<Database>,
  workspace: string,
  incidentIds: readonly string[],
): Promise<ReadonlyMap<string, number>> {
  const times = new Map<string, number>();
  for (const ids of slices(incidentIds)) {
    const found = await selectDeliveries(db, workspace)
      .where('incident_id', 'in', ids)
      .where('status', '=', 'ALARM')
      .where('state', '<>', 'grouped')
      .groupBy('incident_id')
      .select(eb => ['incident_id', eb.fn.min<number>(eb.fn.coalesce('released_at', 'created_at')).as('at')])
      .execute();
    for (const { incident_id: id, at } of found) times.set(id, Number(at));
  }
  return times;
}

const slices = <Item>(items: readonly Item[]): readonly (readonly Item[])[] =>
  Array.from({ length: Math.ceil(items.length / ASKED_AT_ONCE) }, (_, index) =>
    items.slice(index * ASKED_AT_ONCE, (index + 1) * ASKED_AT_ONCE),
  );

/** More than '' instead of not null, because SQLite searches an index for a range and walks through one for the other. */
async function fallbackTargets(db: Kysely<Database>, workspace: string): Promise<readonly string[]> {
  const { rows } = await sql<{ target: string }>`
    select distinct r.target from deliveries r where r.workspace = ${workspace} and r.fallback_for > ''
    and (
      coalesce((
        select i.state from incidents i where i.workspace = r.workspace and i.id = r.incident_id), '') = 'open'
      or exists (
        select 1 from deliveries d where d.workspace = r.workspace and d.incident_id = r.incident_id
        and d.state = 'waiting'))`.execute(db);
  return rows.map(row => row.target);
}

type Candidate = { id: string; target: string; incident_id: string; seq: number };

/** As `WorkspaceTransaction.requeue` says. */
export async function requeue(
  db: Kysely<Database>,
  workspace: string,
  { states, id, ...filter }: RequeueFilter,
  { now, after, limit }: RequeueRange,
): Promise<RequeueResult> {
  let matching = selectDeliveries(db, workspace, filter).where('state', 'in', states).where('id', '>', after);
  if (id !== undefined) matching = matching.where('id', '=', id);
  const found = await matching
    .orderBy('id')
    .select(['id', 'target', 'incident_id', 'seq'])
    .select(eb => superseded(eb).as('is_superseded'))
    .limit(limit)
    .execute();
  const again = found.filter(row => Number(row.is_superseded) === 0);
  const rows: Pick<Candidate, 'id' | 'target'>[] = [];
  for (const row of again) rows.push(...(await requeueDelivery(db, workspace, row, now)));
  return {
    rows,
    superseded: found.length - again.length,
    next: found.length < limit ? undefined : found.at(-1)?.id,
  };
}

/** 1 when the target has got a later event of the incident, or may have: an alarm that comes after its end would stay for ever. */
const superseded = (eb: ExpressionBuilder<Database, 'deliveries'>) =>
  eb
    .case()
    .when(
      eb.exists(
        eb
          .selectFrom('deliveries as later')
          .whereRef('later.workspace', '=', 'deliveries.workspace')
          .whereRef('later.incident_id', '=', 'deliveries.incident_id')
          .whereRef('later.target', '=', 'deliveries.target')
          .whereRef('later.seq', '>', 'deliveries.seq')
          .where('later.state', 'in', REACHED_STATES)
          .select('later.id'),
      ),
    )
    .then(1)
    .else(0)
    .end();

/** The delivery, and those of the incident's end that were skipped because it had not arrived. */
function requeueDelivery(
  db: Kysely<Database>,
  workspace: string,
  { id, incident_id, target, seq }: Candidate,
  now: number,
): Promise<Pick<Candidate, 'id' | 'target'>[]> {
  return db
    .updateTable('deliveries')
    .set({
      state: 'waiting',
      next_at: null,
      settled_at: null,
      retried_from: sql<number>`attempts`,
      // Never the same twice, by which a settlement knows what it has not seen yet.
      retried_at: sql<number>`case when retried_at >= ${now} then retried_at + 1 else ${now} end`,
      batch: null,
    })
    .where('workspace', '=', workspace)
    .where('incident_id', '=', incident_id)
    .where('target', '=', target)
    .where(eb => eb.or([eb('id', '=', id), eb.and([eb('seq', '>', seq), eb('state', '=', 'skipped')])]))
    .returning(['id', 'target'])
    .execute();
}

/** How often an alarm goes again because its target was well again. */
const MAX_REDELIVERIES = 3;

/** Deliveries of open incidents. */
const selectOfOpen = (db: Kysely<Database>, workspace: string) =>
  db
    .selectFrom('incidents as i')
    .innerJoin('deliveries as d', join =>
      join.onRef('d.workspace', '=', 'i.workspace').onRef('d.incident_id', '=', 'i.id'),
    )
    .where('i.workspace', '=', workspace)
    .where('i.state', '=', sql.lit('open'));

/**
 * Alarms that were given up for their target and are still worth sending: the newest of an incident that is open, unless
 * it may have arrived there or at a fallback.
 */
const selectRecoverable = (db: Kysely<Database>, workspace: string) =>
  selectOfOpen(db, workspace)
    .where('d.status', '=', 'ALARM')
    .where('d.state', 'in', ['refused', 'exhausted', 'skipped'])
    .where('d.fault', 'in', ['target', 'removed'])
    .where('d.redelivered', '<', MAX_REDELIVERIES)
    .where(
      sql<boolean>`not exists (select 1 from deliveries later where later.workspace = d.workspace
        and later.incident_id = d.incident_id and later.target = d.target and later.seq > d.seq)`,
    )
    .where(
      sql<boolean>`not exists (select 1 from deliveries other where other.workspace = d.workspace
        and other.incident_id = d.incident_id and other.fallback_for = d.target and other.status = 'ALARM'
        and other.state in ('sent', 'unknown'))`,
    );

/** The last alarms of open incidents that have reached their target, or may have. */
const selectOpenAlarms = (db: Kysely<Database>, workspace: string) =>
  selectOfOpen(db, workspace)
    .where('d.status', '=', 'ALARM')
    .where('d.state', 'in', REACHED_STATES)
    .where(
      sql<boolean>`not exists (select 1 from deliveries later where later.workspace = d.workspace
        and later.incident_id = d.incident_id and later.target = d.target and later.seq > d.seq
        and later.state in ('sent', 'unknown'))`,
    );

async function pageOf(
  matching: ReturnType<typeof selectOfOpen>,
  { target, after, limit }: { readonly target: string; readonly after: string; readonly limit: number },
): Promise<readonly DeliveryRow[]> {
  const rows = await matching
    .where('d.target', '=', target)
    .where('d.id', '>', after)
    .orderBy('d.id')
    .selectAll('d')
    .limit(limit)
    .execute();
  return rows.map(({ workspace: _, ...row }) => row);
}

async function recoverableTargets(db: Kysely<Database>, workspace: string): Promise<readonly string[]> {
  const rows = await selectRecoverable(db, workspace).select('d.target').distinct().execute();
  return rows.map(({ target }) => target);
}

/** What a delivery in a group waits for the end of, and until when where that is known. */
export interface HoldColumns
  extends Pick<DeliveryRow, 'silenced_by' | 'inhibition' | 'inhibited_by' | 'next_at'> {}

/** An alarm that goes again, but not yet: it waits in a group for the end of a silence, a mute window or an inhibition. */
export interface WithheldDelivery extends HoldColumns, Pick<DeliveryRow, 'id' | 'group_id'> {}

/** What a target that is well again is to get. */
export interface RecoverRequest {
  readonly target: string;
  /** Epoch ms. */
  readonly now: number;
  /** Ids of alarms that were given up and go again, if they still may. */
  readonly again: readonly string[];
  /** Those of them that are not sent yet. */
  readonly withheld: readonly WithheldDelivery[];
  readonly limit: number;
}

export interface RecoverResult {
  /** Deliveries that waited for their next attempt and are due at once. */
  readonly hurried: number;
  /** Ids of those that were given up and wait again. */
  readonly redelivered: readonly string[];
}

/** As `WorkspaceTransaction.recover` says. */
export async function recover(
  db: Kysely<Database>,
  workspace: string,
  { target, now, again, withheld, limit }: RecoverRequest,
): Promise<RecoverResult> {
  const waiting = await selectWaiting(db, workspace, { target })
    .where('next_at', '>', now)
    .select('id')
    .limit(limit)
    .execute();
  const ids = waiting.map(({ id }) => id);
  if (ids.length > 0)
    await db
      .updateTable('deliveries')
      .set({ next_at: null })
      .where('workspace', '=', workspace)
      .where('id', 'in', ids)
      .execute();
  if (again.length === 0) return { hurried: ids.length, redelivered: [] };
  const found = await selectRecoverable(db, workspace)
    .where('d.target', '=', target)
    .where('d.id', 'in', again)
    .select(['d.id', 'd.target', 'd.incident_id', 'd.seq'])
    .orderBy('d.id')
    .execute();
  const redelivered: string[] = [];
  for (const row of found)
    for (const { id } of await requeueDelivery(db, workspace, row, now)) redelivered.push(id);
  if (redelivered.length > 0)
    await db
      .updateTable('deliveries')
      .set({ redelivered: sql<number>`redelivered + 1`, fault: null })
      .where('workspace', '=', workspace)
      .where('id', 'in', redelivered)
      .execute();
  for (const { id, ...hold } of withheld) {
    const row = found.find(one => one.id === id);
    if (row === undefined) continue;
    await db
      .updateTable('deliveries')
      .set({ ...hold, state: 'grouped' })
      .where('workspace', '=', workspace)
      .where('id', '=', id)
      .execute();
    if (hold.silenced_by === null) continue;
    await db
      .insertInto('silenced_incidents')
      .values({ workspace, silence: hold.silenced_by, incident: row.incident_id })
      .onConflict(conflict => conflict.doNothing())
      .execute();
  }
  return { hurried: ids.length, redelivered };
}

type DeliveryKeys = Pick<
  DeliveryRow,
  'id' | 'target' | 'notification' | 'subject' | 'incident_id' | 'event_id' | 'seq' | 'status' | 'created_at'
>;

/** A delivery that nobody has tried yet; `insteadOf` is the target whose fallback its target is. */
export function newDelivery(keys: DeliveryKeys, fallbackFor: string | null = null): DeliveryRow {
  // Spelled out, as one is made for each event and target: a spread costs as much as everything else in it.
  return {
    id: keys.id,
    target: keys.target,
    notification: keys.notification,
    subject: keys.subject,
    incident_id: keys.incident_id,
    event_id: keys.event_id,
    seq: keys.seq,
    status: keys.status,
    state: 'waiting',
    attempts: 0,
    unknown_attempts: 0,
    next_at: null,
    last_status: null,
    last_error: null,
    created_at: keys.created_at,
    settled_at: null,
    retried_from: 0,
    retried_at: null,
    fallback_for: fallbackFor,
    batch: null,
    group_id: null,
    inhibited_for: null,
    silenced_by: null,
    inhibition: null,
    inhibited_by: null,
    released_at: null,
    fault: null,
    redelivered: 0,
    remainder: null,
  };
}
