import { type Profile, type Rule, statementsOf } from './engines/profile.ts';
import type { Feed } from './feed.ts';
import { parseSeries, readPrometheus } from './formats/prometheus.ts';
import type { Discovery, Intake } from './intake.ts';

interface PageReading {
  readonly bad: number;
  /** Why the page is no reading; nothing of it was taken. */
  readonly error: string | undefined;
}

/** Takes a page of Prometheus text, or whatever else the engine shows, in UTF-8. */
export type PageReader = (feed: Feed, page: Buffer, openMetrics: boolean) => PageReading;

/** What readers of one pipeline have in common. */
export interface Reading {
  readonly profile: Profile;
  readonly rulesOf: (name: string) => readonly Rule[];
  readonly intake: Intake;
}

/** Reads pages of one url into its feed, by its engine's profile. */
export function createPageReader({ profile, rulesOf, intake }: Reading): PageReader {
  function discover(text: string): Discovery | undefined {
    const series = parseSeries(text);
    if (series === undefined) return undefined;
    const { name, labels } = series;
    // Prometheus sets this label where it federates: each value is a process of its own.
    return { instance: labels.get('instance'), statements: statementsOf(profile, rulesOf(name), labels) };
  }

  let order: Order = { slots: new Int32Array(0), epoch: 0 };

  return (feed, page, openMetrics) => {
    const known = order.epoch === feed.series.epoch ? order.slots : new Int32Array(0);
    const present = followOrder(known);
    noteStart(feed, page);
    intake.begin(feed);
    const { bad, error } = readPrometheus(page, openMetrics, {
      wants(name) {
        intake.enterOwn(feed);
        // There it tells when a counter began (OpenMetrics 1.0), whatever a rule that is not anchored says.
        return !(openMetrics && name.endsWith('_created')) && rulesOf(name).length > 0;
      },
      expected: {
        count: known.length,
        lengthAt: (at, text, from) => feed.series.lengthAt(known[at] ?? 0, text, from),
      },
      sample(series, value, time, expectedAt) {
        if (expectedAt >= 0) {
          const slot = known[expectedAt] ?? 0;
          intake.enterOwn(feed);
          intake.takeKnown(feed, slot, value, time);
          present.note(slot);
          return 'taken';
        }
        if (intake.take(feed, series, value, time, discover) === 'malformed') return 'malformed';
        const slot = feed.series.get(series);
        if (slot !== -1) present.note(slot);
        return 'taken';
      },
    });
    order = { slots: present.result(), epoch: feed.series.epoch };
    if (error === undefined) intake.end(feed, bad === 0);
    return { bad, error };
  };
}

/** First slots of the wanted series of a page, in its order. */
interface Order {
  readonly slots: Int32Array;
  /** That of the feed's series when they were noted. */
  readonly epoch: number;
}

/** Finds out the order of a page. Most have that of the page before, and then nothing is made anew. */
function followOrder(before: Int32Array) {
  let count = 0;
  let own: number[] | undefined;
  return {
    note(slot: number): void {
      if (own === undefined && before[count] === slot) count++;
      else {
        own ??= Array.from(before.subarray(0, count));
        own.push(slot);
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

/** Several start times are several processes, and tell nothing about this one. */
function noteStart(feed: Feed, page: Buffer): void {
  const [only, another] = startTimes(page);
  const start = another === undefined ? (only ?? Number.NaN) : Number.NaN;
  feed.restarted = start > feed.startTime;
  if (!Number.isNaN(start)) feed.startTime = start;
}

function startTimes(page: Buffer): number[] {
  const times: number[] = [];
  for (let at = page.indexOf(START); at !== -1; at = page.indexOf(START, at + 1)) {
    const lineStart = page.lastIndexOf('\n', at) + 1;
    const lineEnd = page.indexOf('\n', at);
    const value = START_LINE.exec(
      page.toString('utf8', lineStart, lineEnd === -1 ? undefined : lineEnd),
    )?.[1];
    if (value !== undefined) times.push(Number(value));
  }
  return times;
}
