import type { Clock } from '../../lib/clock.ts';
import { reasonOf } from '../../lib/errors.ts';
import { atOnce, type Slices, SliceTimer } from '../../lib/slices.ts';
import { type EngineProfile, mapSeries, type ProfileRule } from '../engines/profile.ts';
import { nextStart } from '../ingest/alternation.ts';
import { claimsRestart } from '../ingest/counter.ts';
import type { Ingester, SeriesDescription } from '../ingest/ingester.ts';
import { msSinceLastReading, type ScrapeSource } from '../ingest/source.ts';
import type { JsonReader, Stat } from '../parsers/json-page.ts';
import {
  LONGEST_LINE,
  type PageResult,
  parseSeries,
  readPrometheus,
  type SampleResult,
} from '../parsers/prometheus.ts';
import { describeUnrecognised } from '../recognition.ts';

interface PageReading {
  readonly bad: number;
  /** Why the page cannot be used; nothing of it was taken. */
  readonly fault: PageFault | undefined;
}

interface PageFault {
  /** `unrecognised`: it is of the right format, and has nothing that its engine is known by. */
  readonly kind: 'format' | 'unrecognised';
  readonly reason: string;
}

/**
 * Takes a page in UTF-8, as text of Prometheus or in the engine's own format. Work that is ended early has taken what it
 * had read, and what it had not has not vanished. `taken` is called as soon as what was read is there for everybody, before
 * the last slices.
 */
export type PageReader = (
  source: ScrapeSource,
  page: Buffer,
  openMetrics: boolean,
  taken?: (reading: PageReading) => void,
) => Slices<PageReading>;

/** The parts that readers of one pipeline have in common. */
export interface PageReaderContext {
  readonly profile: EngineProfile;
  readonly rulesOf: (name: string) => readonly ProfileRule[];
  readonly ingester: Ingester;
  /** Ends slices; without it a page is read in one. */
  readonly clock?: Pick<Clock, 'monotonic'>;
  /** True when the pipeline has an input or output. */
  readonly hasComponents?: () => boolean;
}

const unrecognised = (count: number, what: string, { engine }: EngineProfile): PageFault => ({
  kind: 'unrecognised',
  reason: describeUnrecognised(count, what, engine),
});

/** Reads pages of Prometheus text into their source, by the engine's profile. */
export function createTextPageReader(context: PageReaderContext): PageReader {
  const { profile, rulesOf, ingester, clock, hasComponents = () => false } = context;
  const isAnyPageOurs = profile.knownBy === undefined;
  const isKnownBy = (name: string): boolean => profile.knownBy?.test(name) === true;

  function describe(text: string): SeriesDescription | undefined {
    const series = parseSeries(text);
    if (series === undefined) return undefined;
    const { name, labels } = series;
    // Prometheus sets this label where it federates: each value is a process of its own.
    return { instance: labels.get('instance'), mappings: mapSeries(profile, rulesOf(name), labels) };
  }

  const order: Order = { entries: new Int32Array(0), epoch: 0 };

  return function* (source, page, openMetrics, taken) {
    const timer = clock && new SliceTimer(clock);
    const reading = new TextReading(source, ingester, order);
    const restart = yield* readRestart(page, timer);
    reading.begin(restart);
    try {
      const result = yield* readPrometheus(page, openMetrics, {
        wants(name) {
          const hasRules = rulesOf(name).length > 0;
          reading.isRecognised ||= hasRules || isKnownBy(name);
          // A page of something else shows nothing of this process, and nothing of it has vanished.
          if (reading.isRecognised || isAnyPageOurs) reading.enter();
          // In OpenMetrics 1.0 such a series is the time a counter began, even if a rule that is not anchored matches.
          return hasRules && !(openMetrics && name.endsWith('_created'));
        },
        expected: reading,
        sample: (series, value, time, expectedAt) =>
          expectedAt >= 0
            ? reading.takeExpected(expectedAt, value, time)
            : reading.take({ series, value, time, start: Number.NaN }, describe),
        ...(timer && { timer }),
      });
      const isOurs = reading.isRecognised || (isAnyPageOurs && result.samples > 0);
      const commit = reading.commit(isOurs && result.bad === 0 && result.error === undefined);
      const found = pageReading(result, reading);
      taken?.(found);
      if (commit !== undefined) yield* commit;
      return found;
    } finally {
      reading.end();
    }
  };

  function pageReading({ samples, bad, error }: PageResult, { isRecognised }: TextReading): PageReading {
    if (error !== undefined) return { bad, fault: { kind: 'format', reason: error } };
    const isFine = isRecognised || (isAnyPageOurs && samples > 0 && hasComponents());
    return { bad, fault: isFine ? undefined : unrecognised(samples, 'series', profile) };
  }
}

/** The reading of one page of text. */
class TextReading {
  isRecognised = false;
  readonly #source: ScrapeSource;
  readonly #ingester: Ingester;
  readonly #order: Order;
  /** The order of the page before, as far as its entries are still those of its series. */
  readonly #known: Int32Array;
  readonly #present: ReturnType<typeof followOrder>;
  readonly #epoch: number;
  #isOpen = false;

  constructor(source: ScrapeSource, ingester: Ingester, order: Order) {
    this.#source = source;
    this.#ingester = ingester;
    this.#order = order;
    this.#epoch = source.series.epoch;
    this.#known = order.epoch === this.#epoch ? order.entries : new Int32Array(0);
    this.#present = followOrder(this.#known);
  }

  get count(): number {
    return this.#known.length;
  }

  /** Entries may be released between two slices, and belong to another series from then on. */
  lengthAt(at: number, text: string, from: number): number {
    const { series } = this.#source;
    return series.epoch === this.#epoch ? series.lengthAt(this.#known[at] ?? 0, text, from) : -1;
  }

  begin(restart: RestartClaim): void {
    this.#ingester.begin(this.#source);
    this.#source.restart = judgeRestart(this.#source, restart);
  }

  enter(): void {
    if (!this.#isOpen) this.#ingester.enterOwnInstance(this.#source);
    this.#isOpen = true;
  }

  takeExpected(at: number, value: number, time: number): 'taken' {
    const entry = this.#known[at] ?? 0;
    this.isRecognised = true;
    this.enter();
    this.#ingester.appendKnown(this.#source, entry, value, time);
    this.#present.note(entry);
    return 'taken';
  }

  take(value: Parameters<Ingester['append']>[1], describe: Parameters<Ingester['append']>[2]): SampleResult {
    this.isRecognised = true;
    this.#isOpen = true;
    if (this.#ingester.append(this.#source, value, describe) === 'malformed') return 'malformed';
    const entry = this.#source.series.get(value.series);
    if (entry !== -1) this.#present.note(entry);
    return 'taken';
  }

  /** Commits what was read; undefined when nothing was. */
  commit(isWhole: boolean): Slices | undefined {
    if (!this.#isOpen) return undefined;
    this.#isOpen = false;
    return this.#ingester.commit(this.#source, isWhole);
  }

  /** Notes the order of the page; of one that was not read to its end what was read is kept. */
  end(): void {
    const { epoch } = this.#source.series;
    this.#order.entries = epoch === this.#epoch ? this.#present.result() : new Int32Array(0);
    this.#order.epoch = epoch;
    const commit = this.commit(false);
    if (commit !== undefined) atOnce(commit);
  }
}

/** First entries of the wanted series of a page, in its order. */
interface Order {
  entries: Int32Array;
  /** The epoch of the source's series when they were noted. */
  epoch: number;
}

/** Notes the order of a page. Most have that of the page before, and then nothing new is allocated. */
function followOrder(before: Int32Array) {
  let count = 0;
  let own: number[] | undefined;
  return {
    note(entry: number): void {
      if (own === undefined && before[count] === entry) count++;
      else {
        own ??= Array.from(before.subarray(0, count));
        own.push(entry);
      }
    },
    result(): Int32Array {
      if (own !== undefined) return Int32Array.from(own);
      return count === before.length ? before : before.slice(0, count);
    },
  };
}

const START = 'process_start_time_seconds';
const START_LINE = /^(?:[a-z]+_)?process_start_time_seconds(?:\{.*\})?[ \t]+(\S+)/;
const UPTIME = 'uptime';
/** Seconds the process has run: of Vector, Fluent Bit and the OpenTelemetry Collector. */
const UPTIME_LINE =
  /^(?:vector_uptime_seconds|fluentbit_uptime|otelcol_process_uptime(?:_seconds)?(?:_total)?)(?:\{.*\})?[ \t]+(\S+)/;
/** Uptimes may be whole seconds, and are measured before the page is sent. */
const UPTIME_TOLERANCE_MS = 2000;

/** The times of a page that say when its process began; NaN where it does not say. */
interface RestartClaim {
  /** Epoch ms. */
  readonly start: number;
  readonly uptimeMs: number;
}

function* readRestart(page: Buffer, timer: SliceTimer | undefined): Slices<RestartClaim> {
  return {
    start: (yield* onlyValue(page, START, START_LINE, timer)) * 1000,
    uptimeMs: (yield* onlyValue(page, UPTIME, UPTIME_LINE, timer)) * 1000,
  };
}

/** Whether the page claims by a time that its process began anew since the last good reading; notes the start it shows. */
function judgeRestart(source: ScrapeSource, { start, uptimeMs }: RestartClaim): ScrapeSource['restart'] {
  const { begunAt: now, startedAt: lastStart } = source;
  const sinceMs = msSinceLastReading(source);
  const isNew = claimsRestart({ start, lastStart, now, sinceMs });
  if (!Number.isNaN(start)) source.startedAt = start;
  source.starts = nextStart(source.starts, Number.isNaN(start) ? now - uptimeMs : start);
  return isNew || uptimeMs + UPTIME_TOLERANCE_MS < sinceMs ? 'claimed' : 'none';
}

/** The name of such a line begins at most so many bytes before what is looked for. */
const LONGEST_PREFIX = 64;

/**
 * The value of the only such line; several belong to several processes and say nothing about this one. Looks at a few bytes
 * for each time that the name occurs, as a page may consist of it.
 */
function* onlyValue(
  page: Buffer,
  name: string,
  pattern: RegExp,
  timer: SliceTimer | undefined,
): Slices<number> {
  let found = Number.NaN;
  for (let at = page.indexOf(name); at !== -1; at = page.indexOf(name, at + name.length)) {
    if (timer?.isPauseDue()) yield* timer.pause();
    const line = lineAround(page, at);
    const value = line === undefined ? undefined : pattern.exec(line)?.[1];
    if (value === undefined) continue;
    if (!Number.isNaN(found)) return Number.NaN;
    found = Number(value);
  }
  return found;
}

/** The line that has something at `at`; undefined when it begins far before that, or is too long. */
function lineAround(page: Buffer, at: number): string | undefined {
  const from = Math.max(0, at - LONGEST_PREFIX);
  const before = page.subarray(from, at).lastIndexOf('\n');
  if (before === -1 && from > 0) return undefined;
  const rest = page.subarray(at, at + LONGEST_LINE);
  const length = rest.indexOf('\n');
  if (length === -1 && at + rest.length < page.length) return undefined;
  return page.toString('utf8', from + before + 1, length === -1 ? page.length : at + length);
}

/** Reads pages of JSON of one process into its source, by the engine's profile. */
export function createJsonPageReader(read: JsonReader, context: PageReaderContext): PageReader {
  const { profile, rulesOf, ingester, clock } = context;
  return function* (source, page, _, taken) {
    const found = yield* attempt(read, page.toString());
    if ('error' in found) return ended({ bad: 0, fault: { kind: 'format', reason: found.error } }, taken);
    const { stats, bad, listed, restarted } = found;
    if (stats.length === 0 && bad === 0)
      return ended({ bad, fault: unrecognised(listed, 'entries', profile) }, taken);
    const timer = clock && new SliceTimer(clock);
    ingester.begin(source);
    source.restart = restarted === true ? 'proven' : 'none';
    ingester.enterOwnInstance(source);
    let isRead = false;
    try {
      for (const stat of stats) {
        take(source, stat, rulesOf(stat.name));
        if (timer?.isPauseDue()) yield* timer.pause();
      }
      isRead = true;
    } finally {
      if (!isRead) atOnce(ingester.commit(source, false));
    }
    const commit = ingester.commit(source, bad === 0);
    const reading = ended({ bad, fault: undefined }, taken);
    yield* commit;
    return reading;
  };

  function take(source: ScrapeSource, stat: Stat, rules: readonly ProfileRule[]): void {
    if (rules.length === 0) return;
    const value = { series: seriesOf(stat), value: stat.value, time: Number.NaN, start: Number.NaN };
    ingester.append(source, value, () => ({
      instance: undefined,
      mappings: mapSeries(profile, rules, stat.labels),
    }));
  }
}

function ended(reading: PageReading, taken: ((reading: PageReading) => void) | undefined): PageReading {
  taken?.(reading);
  return reading;
}

type Read = ReturnType<JsonReader> extends Slices<infer Result> ? Result : never;

function* attempt(read: JsonReader, text: string): Slices<Read | { readonly error: string }> {
  try {
    return yield* read(text);
  } catch (error) {
    return { error: reasonOf(error) };
  }
}

/** All that makes it different from other values of the page. */
const seriesOf = ({ name, labels, incarnation }: Stat): string =>
  [incarnation, name, ...labels.values()].join('\n');
