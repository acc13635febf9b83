import { type Evidence, findingOf, nextFinding } from '../components/health.ts';
import { GAUGE_AT, gaugeOf, queueOf, unknownGauges } from '../components/replica.ts';
import {
  type Accumulator,
  endSilence,
  type Replica,
  recordIncreases,
  recordMs,
  recordUnobserved,
} from '../components/state.ts';
import type { ReadingGap } from '../components/windows.ts';
import type { Fold, Meaning, RuleGauge } from '../engines/profile.ts';
import type { Counter } from '../metric.ts';
import { alternates } from './alternation.ts';
import { isRestart } from './counter.ts';

const COUNTER_AT = {
  in_events: 0,
  in_bytes: 1,
  out_events: 2,
  out_bytes: 3,
  errors: 4,
  dropped: 5,
} as const satisfies Record<Counter, number>;

/** At this fill a queue blocks, whether its engine says so or not. */
const BLOCKING_FILL = 0.95;

const emptyAccumulator = (): Accumulator => ({
  sums: [0, 0, 0, 0, 0, 0],
  fallbacks: [0, 0, 0, 0, 0, 0],
  gauges: unknownGauges(),
  level: 0,
  restarted: false,
  anew: undefined,
  hasInterval: false,
  isFromSnapshot: false,
});

/** For a replica that the reading did not name. */
const NO_DATA: Readonly<Accumulator> = emptyAccumulator();

/**
 * Free ones to use again, as new ones for each page would fill the heap: as many as a large page needs, and not those of
 * all pages that were under way at a time.
 */
const pool: Accumulator[] = [];
const MOST_POOLED = 4096;

/** The accumulator of the present reading. */
export function accumulatorOf(replica: Replica): Accumulator {
  replica.accumulator ??= pool.pop() ?? emptyAccumulator();
  return replica.accumulator;
}

function recycle(replica: Replica, accumulator: Accumulator): void {
  replica.accumulator = undefined;
  if (pool.length === MOST_POOLED) return;
  accumulator.sums.fill(0);
  accumulator.fallbacks.fill(0);
  accumulator.gauges.fill(Number.NaN);
  accumulator.level = 0;
  accumulator.restarted = false;
  accumulator.anew = undefined;
  accumulator.hasInterval = false;
  accumulator.isFromSnapshot = false;
  pool.push(accumulator);
}

/** Adds an increase of a counter, or the change of a level that belongs to one, at a time in monotonic ms. */
export function addIncrease(
  replica: Replica,
  meaning: Exclude<Meaning, { reads: 'gauge' }>,
  increase: number,
  monotonic: number,
): void {
  if (meaning.reads === 'ratio') addRatio(replica, meaning, increase, monotonic);
  else if (meaning.reads === 'grew') fold(replica, meaning.metric, meaning.fold, increase > 0 ? 1 : 0);
  else if (meaning.reads === 'level') accumulatorOf(replica).level += meaning.scale * increase;
  else {
    const accumulator = accumulatorOf(replica);
    const { sums, fallbacks } = accumulator;
    const at = COUNTER_AT[meaning.metric];
    if (meaning.reads === 'delta') accumulator.hasInterval = true;
    const into = meaning.isFallback ? fallbacks : sums;
    into[at] = (into[at] ?? 0) + meaning.scale * increase * shareOf(replica, meaning.windowMs, monotonic);
    if (!meaning.isFallback) replica.counted |= 1 << at;
  }
}

/** The share of an increase that came since the reading before; before the second reading nothing did. */
function shareOf({ committedAt }: Replica, windowMs: number | undefined, monotonic: number): number {
  if (windowMs === undefined) return 1;
  const ms = monotonic - committedAt;
  return ms > 0 ? Math.min(1, ms / windowMs) : 0;
}

/** Known only when the whole reading is: a fallback may stand before the series it stands in for. */
function addFallbacks({ counted }: Replica, { sums, fallbacks }: Accumulator): void {
  for (let at = 0; at < sums.length; at++)
    if ((counted & (1 << at)) === 0) sums[at] = (sums[at] ?? 0) + (fallbacks[at] ?? 0);
}

/** Notes what a counter stood at: its increase is too small by that should its process have begun anew. */
export function addIfAnew(replica: Replica, meaning: Meaning, last: number): void {
  if (meaning.reads !== 'counter') return;
  const accumulator = accumulatorOf(replica);
  accumulator.anew ??= new Array<number>(2 * accumulator.sums.length).fill(0);
  const at = COUNTER_AT[meaning.metric] + (meaning.isFallback ? accumulator.sums.length : 0);
  accumulator.anew[at] = (accumulator.anew[at] ?? 0) + meaning.scale * last;
}

/** Before the second reading there is no stretch of time to take a share of. */
function addRatio(
  replica: Replica,
  { metric, fold: by }: Extract<Meaning, { reads: 'ratio' }>,
  increase: number,
  monotonic: number,
): void {
  const ms = monotonic - replica.committedAt;
  if (ms > 0) fold(replica, metric, by, Math.min(1, increase / ms));
}

/** Adds the value of a gauge. */
export function addValue(
  replica: Replica,
  meaning: Extract<Meaning, { reads: 'gauge' }>,
  value: number,
): void {
  const { atLeast } = meaning;
  const read = atLeast === undefined ? value : value >= atLeast ? 1 : 0;
  fold(replica, meaning.metric, meaning.fold, meaning.offset + meaning.scale * read);
}

function fold(replica: Replica, gauge: RuleGauge, by: Fold, value: number): void {
  const at = GAUGE_AT[gauge];
  const { gauges } = accumulatorOf(replica);
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
 * `partial`: a gauge that did not come keeps its value, as a push need not have everything.
 */
export function commitReplica(replica: Replica, now: number, monotonic: number, partial: boolean): void {
  const { state } = replica;
  const { source } = replica.instance;
  const isOverOwnGap = replica.committedAt < source.ownGapEndedAt;
  // A page that names nothing is no reading of its counters: the one that does ends a gap.
  const gap = source.touched.length > 0 ? endGap(replica, monotonic) : undefined;
  if (replica.accumulator?.anew !== undefined && isRestart(replica.instance)) beginAnew(replica.accumulator);
  if (replica.accumulator !== undefined) {
    addFallbacks(replica, replica.accumulator);
    deductOvercount(replica, replica.accumulator);
    if (alternates(replica.instance.alternation, replica.instance.readings)) replica.accumulator.sums.fill(0);
  }
  const accumulator = replica.accumulator ?? NO_DATA;
  const { sums, hasInterval } = accumulator;
  // What was counted while this process did not run is volume, but no data that conditions see.
  const isObserved = !accumulator.isFromSnapshot && (hasInterval || !isOverOwnGap);
  for (let at = 0; at < sums.length; at++) state.totals[at] = (state.totals[at] ?? 0) + (sums[at] ?? 0);
  if (isObserved && moved(sums, state.component.kind === 'input' ? INPUT_DATA : OUTPUT_DATA)) {
    state.lastDataAt = now;
    endSilence(state, monotonic);
  }
  if (!isObserved) recordUnobserved(state, sums);
  const queueBefore = queueOf(replica).size;
  for (let at = 0; at < replica.gauges.length; at++) {
    const value = accumulator.gauges[at] ?? Number.NaN;
    if (!partial || !Number.isNaN(value)) replica.gauges[at] = value;
  }
  const evidence = evidenceOf(replica, sums, queueBefore);
  judge(replica, evidence, monotonic);
  if (isObserved) recordIncreases(state, sums, monotonic, hasInterval ? undefined : gap);
  const isRed = replica.finding?.health === 'Red';
  recordTime(
    replica,
    { red: isRed ? 1 : 0, blocked: evidence.dropped > 0 ? 1 : evidence.blocked },
    monotonic,
  );
  if (replica.accumulator !== undefined) recycle(replica, replica.accumulator);
}

/** Values within so short a time, as lines that come one by one, are one reading. */
const SHORTEST_INTERVAL_MS = 1000;
/** A reading that took so many times as long to come as they do as a rule comes after a gap. */
const GAP = 1.5;
/** How fast the time between readings as a rule follows them, up and down. */
const LONGER = 1.2;
const SHORTER = 0.9;

/** Notes a reading, and gives the gap that it ends; undefined when it comes as they do as a rule. */
function endGap(replica: Replica, monotonic: number): ReadingGap | undefined {
  const { committedAt: from, usualMs } = replica;
  replica.committedAt = monotonic;
  const ms = monotonic - from;
  if (!(ms >= SHORTEST_INTERVAL_MS)) return undefined;
  const isGap = ms > GAP * usualMs;
  replica.usualMs = isGap ? LONGER * usualMs : Math.max(ms, SHORTER * usualMs || 0);
  return isGap ? { from, to: monotonic, usualMs } : undefined;
}

/** Its process restarted, so all of its counters count in full. */
function beginAnew(accumulator: Accumulator): void {
  const { sums, fallbacks, anew } = accumulator;
  for (let at = 0; at < sums.length; at++) {
    sums[at] = (sums[at] ?? 0) + (anew?.[at] ?? 0);
    fallbacks[at] = (fallbacks[at] ?? 0) + (anew?.[sums.length + at] ?? 0);
  }
  accumulator.restarted = true;
}

const INPUT_DATA = [COUNTER_AT.in_events, COUNTER_AT.in_bytes];
const OUTPUT_DATA = [COUNTER_AT.out_events, COUNTER_AT.out_bytes];

const moved = (sums: readonly number[], counters: readonly number[]): boolean =>
  counters.some(at => (sums[at] ?? 0) > 0);

/**
 * `out_events` may be made of what went in, less what came back or still waits, and these are not
 * counted at one instant: it can run ahead. The surplus is deducted later, never counted twice.
 */
function deductOvercount(replica: Replica, { sums, level, restarted }: Accumulator): void {
  const sent = sums[COUNTER_AT.out_events] ?? 0;
  const net = restarted ? sent : sent + level + replica.overcount;
  sums[COUNTER_AT.out_events] = Math.max(0, net);
  replica.overcount = Math.min(0, net);
}

/** Of a longer time between two readings no more than this counts as what the later one found. */
const LONGEST_SPAN_MS = 15 * 60_000;

/** Records how the time since the last reading was spent, as shares of it; a component's replicas divide the time. */
function recordTime(
  replica: Replica,
  { red, blocked }: { readonly red: number; readonly blocked: number },
  monotonic: number,
): void {
  const { failedAt } = replica.instance.source;
  // What is committed after a failure may be of a reading before it.
  const isFailedBetween = failedAt > replica.recordedAt && failedAt <= monotonic;
  const spanMs = monotonic - (isFailedBetween ? failedAt : replica.recordedAt);
  replica.recordedAt = monotonic;
  const { state } = replica;
  if (!(spanMs > 0)) return;
  const ms = Math.min(spanMs, LONGEST_SPAN_MS) / state.replicas.length;
  recordMs(state, 'red_ms', red * ms, monotonic);
  recordMs(state, 'blocked_ms', blocked * ms, monotonic);
}

function judge(replica: Replica, evidence: Evidence, monotonic: number): void {
  const found = findingOf(evidence);
  const finding = nextFinding(found, replica.finding, monotonic - replica.foundAt, evidence);
  if (finding === found) replica.foundAt = monotonic;
  replica.finding = finding;
}

/**
 * Bytes are the better sign where both are known: attempts are counted as events, and bytes only when they left. But
 * a request that is refused has sent its bytes.
 */
function evidenceOf(replica: Replica, sums: readonly number[], queueBefore: number): Evidence {
  const { kind } = replica.state.component;
  const { size, capacity } = queueOf(replica);
  const fill = capacity > 0 && size >= 0 ? size / capacity : 0;
  const isKnown = (at: number): boolean => (replica.state.knownMetrics & (1 << at)) !== 0;
  const isFailing = gaugeOf(replica, 'failing') > 0;
  const best = isFailing ? COUNTER_AT.out_events : COUNTER_AT.out_bytes;
  const signs = kind === 'input' ? INPUT_DATA : isKnown(best) ? [best] : OUTPUT_DATA;
  const blocked = gaugeOf(replica, 'blocked');
  return {
    kind,
    up: gaugeOf(replica, 'up'),
    errors: sums[COUNTER_AT.errors] ?? 0,
    dropped: sums[COUNTER_AT.dropped] ?? 0,
    isFailing,
    blocked: fill >= BLOCKING_FILL ? 1 : Number.isNaN(blocked) ? 0 : blocked,
    moved: moved(sums, signs),
    queueSize: Number.isNaN(size) ? 0 : size,
    queueGrowth: size > queueBefore ? size - queueBefore : 0,
    fill,
  };
}
