import { reasonOf } from '../../lib/errors.ts';
import { type EngineProfile, mapSeries, type ProfileRule } from '../engines/profile.ts';
import { claimsRestart } from '../ingest/counter.ts';
import type { Ingester, SeriesDescription } from '../ingest/ingester.ts';
import { msSinceLastReading, type ScrapeSource } from '../ingest/source.ts';
import type { JsonReader, Stat } from '../parsers/json-page.ts';
import { parseSeries, readPrometheus } from '../parsers/prometheus.ts';
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

/** Takes a page in UTF-8, as text of Prometheus or in the engine's own format. */
export type PageReader = (source: ScrapeSource, page: Buffer, openMetrics: boolean) => PageReading;

/** The parts that readers of one pipeline have in common. */
export interface PageReaderContext {
  readonly profile: EngineProfile;
  readonly rulesOf: (name: string) => readonly ProfileRule[];
  readonly ingester: Ingester;
  /** True when the pipeline has an input or output. */
  readonly hasComponents?: () => boolean;
}

const unrecognised = (count: number, what: string, { engine }: EngineProfile): PageFault => ({
  kind: 'unrecognised',
  reason: describeUnrecognised(count, what, engine),
});

/** Reads pages of Prometheus text into their source, by the engine's profile. */
export function createTextPageReader(context: PageReaderContext): PageReader {
  const { profile, rulesOf, ingester, hasComponents = () => false } = context;
  const isAnyPageOurs = profile.knownBy === undefined;
  const isKnownBy = (name: string): boolean => profile.knownBy?.test(name) === true;

  function describe(text: string): SeriesDescription | undefined {
    const series = parseSeries(text);
    if (series === undefined) return undefined;
    const { name, labels } = series;
    // Prometheus sets this label where it federates: each value is a process of its own.
    return { instance: labels.get('instance'), mappings: mapSeries(profile, rulesOf(name), labels) };
  }

  let order: Order = { entries: new Int32Array(0), epoch: 0 };

  return (source, page, openMetrics) => {
    const known = order.epoch === source.series.epoch ? order.entries : new Int32Array(0);
    const present = followOrder(known);
    ingester.begin(source);
    source.restart = restartOf(source, page);
    let isRecognised = false;
    const { samples, bad, error } = readPrometheus(page, openMetrics, {
      wants(name) {
        const hasRules = rulesOf(name).length > 0;
        isRecognised ||= hasRules || isKnownBy(name);
        // A page of something else shows nothing of this process, and nothing of it has vanished.
        if (isRecognised || isAnyPageOurs) ingester.enterOwnInstance(source);
        // In OpenMetrics 1.0 such a series is the time a counter began, even if a rule that is not anchored matches.
        return hasRules && !(openMetrics && name.endsWith('_created'));
      },
      expected: {
        count: known.length,
        lengthAt: (at, text, from) => source.series.lengthAt(known[at] ?? 0, text, from),
      },
      sample(series, value, time, expectedAt) {
        isRecognised = true;
        if (expectedAt >= 0) {
          const entry = known[expectedAt] ?? 0;
          ingester.enterOwnInstance(source);
          ingester.appendKnown(source, entry, value, time);
          present.note(entry);
          return 'taken';
        }
        const result = ingester.append(source, { series, value, time, start: Number.NaN }, describe);
        if (result === 'malformed') return 'malformed';
        const entry = source.series.get(series);
        if (entry !== -1) present.note(entry);
        return 'taken';
      },
    });
    order = { entries: present.result(), epoch: source.series.epoch };
    if (error !== undefined) return { bad, fault: { kind: 'format', reason: error } };
    if (isRecognised || (isAnyPageOurs && samples > 0)) ingester.commit(source, bad === 0);
    const isFine = isRecognised || (isAnyPageOurs && samples > 0 && hasComponents());
    return { bad, fault: isFine ? undefined : unrecognised(samples, 'series', profile) };
  };
}

/** First entries of the wanted series of a page, in its order. */
interface Order {
  readonly entries: Int32Array;
  /** The epoch of the source's series when they were noted. */
  readonly epoch: number;
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

/** Whether the page claims by a time that its process began anew since the last good reading. */
function restartOf(source: ScrapeSource, page: Buffer): ScrapeSource['restart'] {
  const { begunAt: now, startedAt: lastStart } = source;
  const sinceMs = msSinceLastReading(source);
  const start = onlyValue(page, START, START_LINE) * 1000;
  const isNew = claimsRestart({ start, lastStart, now, sinceMs });
  if (!Number.isNaN(start)) source.startedAt = start;
  const uptimeMs = onlyValue(page, UPTIME, UPTIME_LINE) * 1000;
  return isNew || uptimeMs + UPTIME_TOLERANCE_MS < sinceMs ? 'claimed' : 'none';
}

/** The value of the only such line; several belong to several processes and say nothing about this one. */
function onlyValue(page: Buffer, name: string, pattern: RegExp): number {
  let found = Number.NaN;
  for (let at = page.indexOf(name); at !== -1; at = page.indexOf(name, at + 1)) {
    const lineStart = page.lastIndexOf('\n', at) + 1;
    const lineEnd = page.indexOf('\n', at);
    const line = page.toString('utf8', lineStart, lineEnd === -1 ? undefined : lineEnd);
    const value = pattern.exec(line)?.[1];
    if (value === undefined) continue;
    if (!Number.isNaN(found)) return Number.NaN;
    found = Number(value);
  }
  return found;
}

/** Reads pages of JSON of one process into its source, by the engine's profile. */
export function createJsonPageReader(read: JsonReader, context: PageReaderContext): PageReader {
  const { profile, rulesOf, ingester } = context;
  return (source, page) => {
    const found = attempt(read, page.toString());
    if ('error' in found) return { bad: 0, fault: { kind: 'format', reason: found.error } };
    const { stats, bad, listed } = found;
    if (stats.length === 0 && bad === 0) return { bad, fault: unrecognised(listed, 'entries', profile) };
    ingester.begin(source);
    source.restart = found.restarted === true ? 'proven' : 'none';
    ingester.enterOwnInstance(source);
    for (const stat of stats) take(source, stat, rulesOf(stat.name));
    ingester.commit(source, bad === 0);
    return { bad, fault: undefined };
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

function attempt(read: JsonReader, text: string): ReturnType<JsonReader> | { readonly error: string } {
  try {
    return read(text);
  } catch (error) {
    return { error: reasonOf(error) };
  }
}

/** All that makes it different from other values of the page. */
const seriesOf = ({ name, labels, incarnation }: Stat): string =>
  [incarnation, name, ...labels.values()].join('\n');
