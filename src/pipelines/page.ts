import type { Profile, Rule } from './engines/profile.ts';
import { rulesFor, statementsOf } from './engines/profile.ts';
import type { Feed } from './feed.ts';
import { parseSeries, readPrometheus } from './formats/prometheus.ts';
import type { Discovery, Intake } from './intake.ts';

/** Names whose rules are remembered; a page with more pays for each line. */
const MOST_NAMES = 10_000;

export interface PageReading {
  readonly bad: number;
  /** Why the page is no reading; nothing of it was taken. */
  readonly error: string | undefined;
}

/** Reads pages of one pipeline into its feed, by its engine's profile. */
export function createPageReader(profile: Profile, intake: Intake) {
  const remembered = new Map<string, readonly Rule[]>();

  function rulesOf(name: string): readonly Rule[] {
    const known = remembered.get(name);
    if (known !== undefined) return known;
    const rules = rulesFor(profile, name);
    if (remembered.size < MOST_NAMES) remembered.set(Buffer.from(name).toString(), rules);
    return rules;
  }

  function discover(text: string): Discovery | undefined {
    const series = parseSeries(text);
    if (series === undefined) return undefined;
    const { name, labels } = series;
    // Prometheus sets this label where it federates: each value is a process of its own.
    return { instance: labels.get('instance'), statements: statementsOf(profile, rulesOf(name), labels) };
  }

  return (feed: Feed, text: string, openMetrics: boolean): PageReading => {
    noteStart(feed, text);
    intake.begin(feed);
    const { bad, error } = readPrometheus(text, openMetrics, {
      wants(name) {
        intake.enterOwn(feed);
        return rulesOf(name).length > 0;
      },
      sample: (series, value, time) =>
        intake.take(feed, series, value, time, discover) === 'malformed' ? 'malformed' : 'taken',
    });
    if (error === undefined) intake.end(feed);
    return { bad, error };
  };
}

const START = /^(?:[a-z]+_)?process_start_time_seconds(?:\{[^\n]*\})? (\S+)/gm;

/** Several start times are several processes, and tell nothing about this one. */
function noteStart(feed: Feed, text: string): void {
  const [only, another] = [...text.matchAll(START)].map(match => Number(match[1]));
  const start = only === undefined || another !== undefined ? Number.NaN : only;
  feed.restarted = start > feed.startTime;
  if (!Number.isNaN(start)) feed.startTime = start;
}
