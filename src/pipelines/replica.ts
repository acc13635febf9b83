import type { Fold, Meaning, RuleGauge } from './engines/profile.ts';
import { type Evidence, findingOf, standing } from './health.ts';
import type { Counter } from './metric.ts';
import type { Instance, Replica, Row, Tally } from './state.ts';
import { book, bookIncreases } from './windows.ts';

const COUNTER_AT = {
  in_events: 0,
  in_bytes: 1,
  out_events: 2,
  out_bytes: 3,
  errors: 4,
  dropped: 5,
} as const satisfies Record<Counter, number>;

const GAUGE_AT = {
  blocked: 0,
  queue_size: 1,
  queue_capacity: 2,
  up: 3,
  queue_bytes: 4,
  queue_capacity_bytes: 5,
} as const satisfies Record<RuleGauge, number>;

/** At this fill a queue blocks, whether its engine says so or not. */
const BLOCKING_FILL = 0.95;

const unknownGauges = (): number[] => new Array<number>(6).fill(Number.NaN);

const emptyTally = (): Tally => ({
  sums: [0, 0, 0, 0, 0, 0],
  gauges: unknownGauges(),
  level: 0,
  restarted: false,
  quiet: false,
});

/** Of a replica that the reading did not name. */
const NOTHING: Readonly<Tally> = emptyTally();

/** Those that no reading uses now: as many as the largest page needs, in the place of new ones for each that the heap would fill with. */
const spare: Tally[] = [];

/** What the present reading brought, to be added to. */
export function tallyOf(replica: Replica): Tally {
  replica.tally ??= spare.pop() ?? emptyTally();
  return replica.tally;
}

function putBack(replica: Replica, tally: Tally): void {
  replica.tally = undefined;
  tally.sums.fill(0);
  tally.gauges.fill(Number.NaN);
  tally.level = 0;
  tally.restarted = false;
  tally.quiet = false;
  spare.push(tally);
}

export function createReplica(row: Row, instance: Instance): Replica {
  const replica: Replica = {
    row,
    instance,
    slots: 0,
    page: 0,
    debt: 0,
    gauges: unknownGauges(),
    tally: undefined,
    finding: undefined,
    foundAt: 0,
    bookedAt: Number.NaN,
    settledAt: Number.NaN,
  };
  // Most have one: what grows in place keeps room for many.
  row.replicas = row.replicas.concat(replica);
  if (instance.replicas.size === 0) instance.feed.active++;
  instance.replicas.set(row, replica);
  return replica;
}

export function dropReplica(replica: Replica): void {
  const { row, instance } = replica;
  row.replicas = row.replicas.filter(one => one !== replica);
  instance.replicas.delete(row);
  if (instance.replicas.size === 0) instance.feed.active--;
}

export const gaugeOf = (replica: Replica, gauge: RuleGauge): number =>
  replica.gauges[GAUGE_AT[gauge]] ?? Number.NaN;

/** The queue as size and capacity in one unit: bytes where only those are bounded. NaN when unknown. */
export function queueOf(replica: Replica): { readonly size: number; readonly capacity: number } {
  const capacity = gaugeOf(replica, 'queue_capacity');
  const bytes = gaugeOf(replica, 'queue_capacity_bytes');
  return bytes > 0 && !(capacity > 0)
    ? { size: gaugeOf(replica, 'queue_bytes'), capacity: bytes }
    : { size: gaugeOf(replica, 'queue_size'), capacity };
}

/** Adds an increase of a counter, or the change of a level that belongs to one, at a time in monotonic ms. */
export function addIncrease(
  replica: Replica,
  meaning: Exclude<Meaning, { reads: 'gauge' }>,
  increase: number,
  monotonic: number,
): void {
  if (meaning.reads === 'share') addShare(replica, meaning, increase, monotonic);
  else if (meaning.reads === 'grew') fold(replica, meaning.metric, meaning.fold, increase > 0 ? 1 : 0);
  else if (meaning.reads === 'level') tallyOf(replica).level += meaning.scale * increase;
  else {
    const { sums } = tallyOf(replica);
    const at = COUNTER_AT[meaning.metric];
    sums[at] = (sums[at] ?? 0) + meaning.scale * increase;
  }
}

/** Before the second reading there is no time to take a share of. */
function addShare(
  replica: Replica,
  { metric, fold: by }: Extract<Meaning, { reads: 'share' }>,
  increase: number,
  monotonic: number,
): void {
  const ms = monotonic - replica.settledAt;
  if (ms > 0) fold(replica, metric, by, Math.min(1, increase / ms));
}

/** Adds the value of a gauge. */
export function addValue(
  replica: Replica,
  meaning: Extract<Meaning, { reads: 'gauge' }>,
  value: number,
): void {
  fold(replica, meaning.metric, meaning.fold, meaning.offset + meaning.scale * value);
}

function fold(replica: Replica, gauge: RuleGauge, by: Fold, value: number): void {
  const at = GAUGE_AT[gauge];
  const { gauges } = tallyOf(replica);
  const before = gauges[at] ?? Number.NaN;
  gauges[at] = Number.isNaN(before) ? value : folded(by, before, value);
}

function folded(fold: Fold, before: number, value: number): number {
  if (fold === 'sum') return before + value;
  if (fold === 'product') return before * value;
  return fold === 'max' ? Math.max(before, value) : value;
}

/**
 * Ends a reading for a replica: its increases go to the component, its health is judged anew.
 * `partial`: a gauge that did not come keeps its value, as a push need not hold everything.
 */
export function settle(replica: Replica, now: number, monotonic: number, partial: boolean): void {
  const { row } = replica;
  replica.settledAt = monotonic;
  if (replica.tally !== undefined) payDebt(replica, replica.tally);
  const tally = replica.tally ?? NOTHING;
  const { sums, quiet } = tally;
  for (let at = 0; at < sums.length; at++) row.totals[at] = (row.totals[at] ?? 0) + (sums[at] ?? 0);
  if (!quiet && moved(sums, row.component.kind === 'input' ? INPUT_DATA : OUTPUT_DATA)) {
    row.lastDataAt = now;
    row.silentSince = monotonic;
  }
  const queueBefore = queueOf(replica).size;
  for (let at = 0; at < replica.gauges.length; at++) {
    const value = tally.gauges[at] ?? Number.NaN;
    if (!partial || !Number.isNaN(value)) replica.gauges[at] = value;
  }
  const evidence = evidenceOf(replica, sums, queueBefore);
  judge(replica, evidence, monotonic);
  // What a reading brings from before the start is volume, but nobody is told of it.
  if (!quiet) bookIncreases(row, sums, monotonic);
  const isRed = replica.finding?.health === 'Red';
  bookTime(replica, { red: isRed ? 1 : 0, blocked: evidence.dropped > 0 ? 1 : evidence.blocked }, monotonic);
  if (replica.tally !== undefined) putBack(replica, replica.tally);
}

const INPUT_DATA = [COUNTER_AT.in_events, COUNTER_AT.in_bytes];
const OUTPUT_DATA = [COUNTER_AT.out_events, COUNTER_AT.out_bytes];

const moved = (sums: readonly number[], counters: readonly number[]): boolean =>
  counters.some(at => (sums[at] ?? 0) > 0);

/**
 * `out_events` may be made of what went in, less what came back or still waits, and these are not
 * counted at one instant: it can run ahead. What it ran ahead is taken off later, never counted twice.
 */
function payDebt(replica: Replica, { sums, level, restarted }: Tally): void {
  const sent = sums[COUNTER_AT.out_events] ?? 0;
  const net = restarted ? sent : sent + level + replica.debt;
  sums[COUNTER_AT.out_events] = Math.max(0, net);
  replica.debt = Math.min(0, net);
}

/** A reading of the feed failed: whatever it feeds is Red until the next one. */
export function settleFailure(instances: Iterable<Instance>, monotonic: number): void {
  for (const { replicas } of instances)
    for (const replica of replicas.values()) bookTime(replica, { red: 1, blocked: 0 }, monotonic);
}

/** More than that between two readings is not known to have been as the later one found it. */
const LONGEST_SPAN_MS = 15 * 60_000;

/** Books how the time since the last reading was spent, as shares of it; a component's replicas share the time. */
function bookTime(
  replica: Replica,
  { red, blocked }: { readonly red: number; readonly blocked: number },
  monotonic: number,
): void {
  const spanMs = monotonic - replica.bookedAt;
  replica.bookedAt = monotonic;
  const { row } = replica;
  if (row.windows.length === 0 || !(spanMs > 0)) return;
  const ms = Math.min(spanMs, LONGEST_SPAN_MS) / row.replicas.length;
  book(row, 'red_ms', red * ms, monotonic);
  book(row, 'blocked_ms', blocked * ms, monotonic);
}

function judge(replica: Replica, evidence: Evidence, monotonic: number): void {
  const found = findingOf(evidence);
  const finding = standing(found, replica.finding, monotonic - replica.foundAt, evidence);
  if (finding === found) replica.foundAt = monotonic;
  replica.finding = finding;
}

/** Bytes tell more than events where both are known: attempts are counted as events, and bytes only when they left. */
function evidenceOf(replica: Replica, sums: readonly number[], queueBefore: number): Evidence {
  const { kind } = replica.row.component;
  const { size, capacity } = queueOf(replica);
  const fill = capacity > 0 && size >= 0 ? size / capacity : 0;
  const bytesKnown = (replica.row.known & (1 << COUNTER_AT.out_bytes)) !== 0;
  const signs = kind === 'input' ? INPUT_DATA : bytesKnown ? [COUNTER_AT.out_bytes] : OUTPUT_DATA;
  const blocked = gaugeOf(replica, 'blocked');
  return {
    kind,
    up: gaugeOf(replica, 'up'),
    errors: sums[COUNTER_AT.errors] ?? 0,
    dropped: sums[COUNTER_AT.dropped] ?? 0,
    blocked: fill >= BLOCKING_FILL ? 1 : Number.isNaN(blocked) ? 0 : blocked,
    moved: moved(sums, signs),
    queueSize: Number.isNaN(size) ? 0 : size,
    queueGrowth: size > queueBefore ? size - queueBefore : 0,
    fill,
  };
}
