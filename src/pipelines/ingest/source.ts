import type { Clock } from '../../lib/clock.ts';
import { createLogInterval } from '../../lib/log-interval.ts';
import type { Logger } from '../../lib/logger.ts';
import { createMutex, type Mutex } from '../../lib/mutex.ts';
import { copyText } from '../../lib/text.ts';
import type { Uncounted } from '../components/component.ts';
import type { ComponentIdentity } from '../components/component-ids.ts';
import type { CardinalityLimit } from '../components/limits.ts';
import { dropReplica } from '../components/replica.ts';
import type { ComponentState, Instance, ScrapeSourceState, UncountedKind } from '../components/state.ts';
import type { RsyslogReader } from '../engines/rsyslog.ts';
import type { SeriesStore } from '../series/series-store.ts';
import { createSeriesTable, type SeriesTable } from '../series/series-table.ts';
import { alternates } from './alternation.ts';

/** The last value of a series that a snapshot knows. */
export interface RestoredSample {
  readonly value: number;
  /** Epoch ms as the sender stamped it, or NaN. */
  readonly time: number;
}

/** The urls or senders of a pipeline, by name. */
export interface PipelineSources {
  readonly sources: Map<string, ScrapeSource>;
  readonly readers: Map<string, RsyslogReader>;
  /** One push at a time. */
  readonly pushes: Mutex;
}

export const createPipelineSources = (): PipelineSources => ({
  sources: new Map(),
  readers: new Map(),
  pushes: createMutex(),
});

/** One url that is scraped, or one sender that pushes. */
export interface ScrapeSource extends ScrapeSourceState {
  readonly pipeline: Omit<ComponentIdentity, 'kind' | 'type' | 'engineId'>;
  /** The limit of its pipeline. */
  limit: CardinalityLimit;
  readonly series: SeriesTable;
  readonly instances: Map<string, Instance>;
  readonly restored: Map<string, RestoredSample>;
  /** Sweeps `restored` has lasted while the source was read. */
  restoredAge: number;
  /** Epoch ms at which its process says it began; NaN when it does not say. */
  startedAt: number;
  /** Epoch ms and monotonic ms of the last good reading; NaN before the first, the latter of this process. */
  readAt: number;
  readMonotonic: number;
}

/** The parts that all sources of a pipeline have in common. */
export type ScrapeSourceParts = Pick<ScrapeSource, 'pipeline' | 'limit' | 'partial' | 'noted'>;

export const createScrapeSource = (
  name: string,
  { pipeline, limit, partial, noted }: ScrapeSourceParts,
  store: SeriesStore,
): ScrapeSource => ({
  name,
  pipeline,
  limit,
  partial,
  noted,
  reading: 0,
  begunAt: 0,
  begunMonotonic: 0,
  unobservedMs: 0,
  ownGapEndedAt: Number.NaN,
  touched: [],
  settle: undefined,
  unreachable: null,
  failedReadings: 0,
  failedAt: Number.NaN,
  finishedReading: 0,
  wholeReading: 0,
  knownAt: 0,
  activeInstances: 0,
  series: createSeriesTable(store),
  instances: new Map(),
  restored: new Map(),
  restoredAge: 0,
  startedAt: Number.NaN,
  starts: undefined,
  readAt: Number.NaN,
  readMonotonic: Number.NaN,
  restart: 'none',
});

/** The wall clock measures over a restart of ours, where the monotonic one does not reach. */
export const msSinceLastReading = (source: ScrapeSource): number =>
  Number.isNaN(source.readMonotonic)
    ? source.begunAt - source.readAt
    : source.begunMonotonic - source.readMonotonic;

export const createInstance = (name: string, source: ScrapeSourceState): Instance => ({
  name: copyText(name),
  source,
  readings: 0,
  lastReading: 0,
  repeated: false,
  restored: false,
  fell: false,
  wentOn: false,
  alternation: undefined,
  senderClock: undefined,
  lastSeenAt: Number.NEGATIVE_INFINITY,
  readingsAtSweep: 0,
  replicas: new Map(),
});

/** Ends a reading that was good. `isWhole`: nothing of it was unreadable. */
export function markRead(source: ScrapeSourceState, isWhole: boolean): void {
  source.unreachable = null;
  source.failedReadings = 0;
  source.knownAt = source.begunMonotonic;
  source.finishedReading = source.reading;
  if (isWhole) source.wholeReading = source.reading;
}

/** A page could not be read, at a time in monotonic ms: the time up to it proves nothing of the components. */
export function markUnread(source: ScrapeSourceState, reason: string, monotonic: number): void {
  source.unreachable = reason;
  source.failedAt = monotonic;
  source.failedReadings++;
}

/** After so long in silence series, instances and components are forgotten. */
export const FORGET_MS = 24 * 3_600_000;
export const SWEEP_MS = 600_000;
const OLDEST_AGE = FORGET_MS / SWEEP_MS;

/**
 * Drops the series that were not seen for a day. A series ages only while its instance is read, for an
 * instance that cannot be read proves nothing about its series; an instance silent for a day goes as a
 * whole, and is a new one should it return.
 */
export function sweepScrapeSource(
  source: ScrapeSource,
  store: SeriesStore,
  forgotten: ReadonlySet<ComponentState>,
  monotonic: number,
): void {
  const gone = new Set<Instance>();
  const read = new Set<Instance>();
  for (const instance of source.instances.values()) {
    if (monotonic - instance.lastSeenAt >= FORGET_MS) gone.add(instance);
    else if (instance.readings !== instance.readingsAtSweep) read.add(instance);
    instance.readingsAtSweep = instance.readings;
  }
  for (const firstEntry of source.series.firstEntries()) {
    const replica = store.replicaOf(firstEntry);
    const ages = replica === undefined ? read.size > 0 : read.has(replica.instance);
    const age = store.ageOf(firstEntry) + (ages ? 1 : 0);
    store.setAge(firstEntry, age);
    const lost = replica !== undefined && (gone.has(replica.instance) || forgotten.has(replica.state));
    if (!lost && age <= OLDEST_AGE) continue;
    source.series.remove(firstEntry);
    store.release(firstEntry);
    source.limit.seriesCount--;
  }
  for (const instance of source.instances.values()) {
    for (const replica of instance.replicas.values()) if (replica.entryCount === 0) dropReplica(replica);
    if (gone.has(instance)) source.instances.delete(instance.name);
  }
  if (read.size > 0) source.restoredAge++;
  if (source.instances.size === 0 || source.restoredAge > OLDEST_AGE) source.restored.clear();
}

/** Releases the series and replicas of one component. */
export function dropComponent(source: ScrapeSource, store: SeriesStore, state: ComponentState): void {
  for (const firstEntry of source.series.firstEntries()) {
    if (!belongsTo(store, firstEntry, state)) continue;
    source.series.remove(firstEntry);
    store.release(firstEntry);
    source.limit.seriesCount--;
  }
  for (const { replicas } of source.instances.values()) {
    const replica = replicas.get(state);
    if (replica !== undefined) dropReplica(replica);
  }
}

function belongsTo(store: SeriesStore, firstEntry: number, state: ComponentState): boolean {
  for (let entry = firstEntry; entry >= 0; entry = store.nextOf(entry))
    if (store.replicaOf(entry)?.state === state) return true;
  return false;
}

/** Releases all series and instances of a source; the components stay. */
export function dropScrapeSource(source: ScrapeSource, store: SeriesStore): void {
  for (const firstEntry of source.series.firstEntries()) store.release(firstEntry);
  for (const instance of source.instances.values())
    for (const replica of instance.replicas.values()) dropReplica(replica);
  source.limit.seriesCount -= source.series.size;
  source.series.clear();
  source.instances.clear();
  source.restored.clear();
}

/** What several processes under one name mean, and what to do. */
const SHARED =
  'go back to where they were, as when several processes answer under one name; nothing of it is counted: give each process an address or an instance name of its own';

const describeShared = (instance: string, others = ''): string =>
  `the counters of instance ${instance}${others} ${SHARED}`;

/** Names an instance at which several processes seem to answer, and what to do. */
export function sharedNameNotice(sources: Iterable<ScrapeSource>): string | undefined {
  const names: string[] = [];
  for (const { instances } of sources)
    for (const { name, alternation, readings } of instances.values())
      if (alternates(alternation, readings)) names.push(name);
  const [first] = names;
  if (first === undefined) return undefined;
  const others = names.length === 1 ? '' : ` and of ${names.length - 1} more`;
  return describeShared(first, others);
}

/** Logged at `level`, and why something is missing. */
const FINDINGS: Readonly<
  Record<UncountedKind, { level: 'info' | 'warn'; message: string; reasonOf: (instance: string) => string }>
> = {
  'several processes': {
    level: 'warn',
    message: 'Several processes seem to answer under one name, and nothing of it is counted',
    reasonOf: instance => describeShared(instance),
  },
  'start without restart': {
    level: 'info',
    message: 'A new start is not taken for a restart',
    reasonOf: instance =>
      `the page of instance ${instance} shows a new start of its process while its counters go on, as when a clock is corrected; if it did restart, what it had counted before it came back to where it stood is missing`,
  },
  'increase rejected': {
    level: 'info',
    message: 'Increases that were pushed are not counted',
    reasonOf: instance =>
      `increases of instance ${instance} overlap what was counted, or begin before what is known of it, so they may be counted already; what of them was not is missing`,
  },
};

/** Notes what readings of a pipeline leave uncounted. */
export interface FindingLog {
  readonly note: ScrapeSourceParts['noted'];
  /** The last of it, for a day. */
  last(): Uncounted | null;
}

/** Logs each kind of finding once in ten minutes. */
export function createFindingLog(
  clock: Pick<Clock, 'now' | 'monotonic'>,
  logger: Pick<Logger, 'info' | 'warn'>,
): FindingLog {
  const isDue = createLogInterval(clock);
  let last: (Uncounted & { readonly monotonic: number }) | undefined;
  return {
    note(finding, instance) {
      const { level, message, reasonOf } = FINDINGS[finding];
      const reason = reasonOf(instance);
      last = { reason, at: clock.now(), monotonic: clock.monotonic() };
      if (isDue(finding)) logger[level]({ instance, reason }, message);
    },
    last() {
      if (last === undefined || clock.monotonic() - last.monotonic >= FORGET_MS) return null;
      return { reason: last.reason, at: last.at };
    },
  };
}
