import { type Kysely, type SelectQueryBuilder, sql } from 'kysely';
import { idFloor } from '../../lib/ids.ts';
import { countRows } from '../queries.ts';
import { type Database, REACHED_STATES } from '../tables.ts';
import { INCIDENT_COLUMNS, type IncidentRow } from './incidents.ts';

/** Epoch ms; incidents that opened and deliveries that were made from `since` until before `until`. */
export interface ReportSpan {
  readonly since: number;
  readonly until: number;
}

export interface NotificationCount {
  readonly notification: string;
  readonly incidents: number;
}

/** What became of the deliveries to a target. */
export interface TargetCount {
  readonly target: string;
  readonly deliveries: number;
  readonly refused: number;
  readonly exhausted: number;
  /** They may have arrived. */
  readonly unknown: number;
  /** Attempts beside the first. */
  readonly retries: number;
}

/** Milliseconds from the opening of incidents until the first target had their alarm; null without any. */
export interface TimeToNotify {
  readonly incidents: number;
  readonly p50Ms: number | null;
  readonly p99Ms: number | null;
}

/** Sums over the incidents and deliveries of a time. */
export interface ReportStore {
  /** The most first. */
  noisiest(span: ReportSpan, limit: number): Promise<readonly NotificationCount[]>;
  /** Deliveries of these notifications, whatever became of them. */
  deliveriesOf(
    span: ReportSpan,
    notifications: readonly string[],
  ): Promise<readonly { readonly notification: string; readonly deliveries: number }[]>;
  countIncidents(span: ReportSpan): Promise<number>;
  /** Incidents that nobody looks after or had looked after at their end; open ones first, then the newest. */
  unacknowledged(
    span: ReportSpan,
    limit: number,
  ): Promise<{ readonly total: number; readonly rows: readonly IncidentRow[] }>;
  /** Targets with deliveries that were refused, given up, or may not have arrived; the most of these first. */
  failedTargets(span: ReportSpan, limit: number): Promise<readonly TargetCount[]>;
  /** Of the newest `most` incidents, those that a target other than `records` was notified of. */
  timeToNotify(span: ReportSpan, records: readonly string[], most: number): Promise<TimeToNotify>;
}

const number = (value: unknown): number => Number(value ?? 0);

export function reportStore(db: Kysely<Database>, workspace: string): ReportStore {
  const incidents = ({ since, until }: ReportSpan) =>
    db
      .selectFrom('incidents')
      .where('workspace', '=', workspace)
      .where('id', '>=', idFloor(since))
      .where('id', '<', idFloor(until));
  const deliveries = ({ since, until }: ReportSpan) =>
    db
      .selectFrom('deliveries')
      .where('workspace', '=', workspace)
      .where('id', '>=', idFloor(since))
      .where('id', '<', idFloor(until));

  return {
    async noisiest(span, limit) {
      const rows = await incidents(span)
        .groupBy('notification')
        .select(eb => ['notification', eb.fn.countAll<number | string>().as('incidents')])
        .orderBy('incidents', 'desc')
        .orderBy('notification')
        .limit(limit)
        .execute();
      return rows.map(row => ({ ...row, incidents: number(row.incidents) }));
    },
    async deliveriesOf(span, notifications) {
      if (notifications.length === 0) return [];
      const rows = await deliveries(span)
        .where('notification', 'in', notifications)
        .groupBy('notification')
        .select(eb => ['notification', eb.fn.countAll<number | string>().as('deliveries')])
        .execute();
      return rows.map(row => ({ ...row, deliveries: number(row.deliveries) }));
    },
    async countIncidents(span) {
      const row = await incidents(span)
        .select(eb => eb.fn.countAll<number | string>().as('total'))
        .executeTakeFirstOrThrow();
      return number(row.total);
    },
    unacknowledged: (span, limit) => readUnacknowledged(incidents(span), limit),
    async failedTargets(span, limit) {
      const countOf = (state: string) =>
        sql<number | string>`sum(case when state = ${state} then 1 else 0 end)`;
      const failed = sql<
        number | string
      >`sum(case when state in ('refused', 'exhausted', 'unknown') then 1 else 0 end)`;
      const rows = await deliveries(span)
        .groupBy('target')
        .having(failed, '>', 0)
        .select(eb => [
          'target',
          eb.fn.countAll<number | string>().as('deliveries'),
          countOf('refused').as('refused'),
          countOf('exhausted').as('exhausted'),
          countOf('unknown').as('unknown'),
          sql<number | string>`sum(case when attempts > 1 then attempts - 1 else 0 end)`.as('retries'),
        ])
        .orderBy(failed, 'desc')
        .orderBy('target')
        .limit(limit)
        .execute();
      return rows.map(({ target, ...counts }) => ({
        target,
        deliveries: number(counts.deliveries),
        refused: number(counts.refused),
        exhausted: number(counts.exhausted),
        unknown: number(counts.unknown),
        retries: number(counts.retries),
      }));
    },
    timeToNotify: (span, records, most) =>
      measureTimeToNotify(db, workspace, { incidents: incidents(span), records, most }),
  };
}

type Incidents = SelectQueryBuilder<Database, 'incidents', object>;

async function readUnacknowledged(
  incidents: Incidents,
  limit: number,
): ReturnType<ReportStore['unacknowledged']> {
  const matching = incidents.where(
    sql<boolean>`not exists (select 1 from acknowledgements a where a.workspace = incidents.workspace
      and a.incident = incidents.id and a.acknowledged = 1)`,
  );
  const [rows, total] = await Promise.all([
    matching.select(INCIDENT_COLUMNS).orderBy('state', 'desc').orderBy('id', 'desc').limit(limit).execute(),
    countRows(matching),
  ]);
  return { rows, total };
}

async function measureTimeToNotify(
  db: Kysely<Database>,
  workspace: string,
  {
    incidents,
    records,
    most,
  }: {
    readonly incidents: Incidents;
    readonly records: readonly string[];
    readonly most: number;
  },
): Promise<TimeToNotify> {
  const newest = incidents.select(['id', 'opened_at']).orderBy('id', 'desc').limit(most);
  const times = db
    .selectFrom(newest.as('i'))
    .innerJoin('deliveries as d', 'd.incident_id', 'i.id')
    .where('d.workspace', '=', workspace)
    .where('d.status', '=', 'ALARM')
    .where('d.state', 'in', REACHED_STATES)
    .$if(records.length > 0, query => query.where('d.target', 'not in', records))
    .groupBy(['i.id', 'i.opened_at'])
    .select(sql<number | string>`min(d.settled_at) - i.opened_at`.as('ms'));
  const { total } = await db
    .selectFrom(times.as('t'))
    .select(eb => eb.fn.countAll<number | string>().as('total'))
    .executeTakeFirstOrThrow();
  const count = number(total);
  const quantile = async (share: number): Promise<number | null> => {
    if (count === 0) return null;
    const row = await db
      .selectFrom(times.as('t'))
      .select('ms')
      .orderBy('ms')
      .offset(Math.max(0, Math.ceil(share * count) - 1))
      .limit(1)
      .executeTakeFirst();
    return row === undefined ? null : Math.max(0, number(row.ms));
  };
  return { incidents: count, p50Ms: await quantile(0.5), p99Ms: await quantile(0.99) };
}
