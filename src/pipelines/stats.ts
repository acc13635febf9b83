import { reasonOf } from '../lib/errors.ts';
import { createFluentdReader } from './engines/fluentd.ts';
import { type Rule, statementsOf } from './engines/profile.ts';
import type { Feed } from './feed.ts';
import { readLogstash } from './formats/logstash.ts';
import type { Stat, Stats } from './formats/stats.ts';
import type { PageReader, Reading } from './page.ts';
import type { JsonEngine } from './settings.ts';

/** What one process says on its pages, read one after the other; `restarted` when its counters began anew. */
type StatsReader = (text: string) => Stats & { readonly restarted?: boolean };

const READERS: Readonly<Record<JsonEngine, () => StatsReader>> = {
  logstash: () => readLogstash,
  fluentd: createFluentdReader,
};

/** Reads pages of JSON of one process into its feed, by its engine's profile. */
export function createStatsPageReader(engine: JsonEngine, { profile, rulesOf, intake }: Reading): PageReader {
  const read = READERS[engine]();

  return (feed, page) => {
    const found = attempt(read, page.toString());
    if ('error' in found) return { bad: 0, error: found.error };
    feed.restarted = found.restarted === true;
    intake.begin(feed);
    intake.enterOwn(feed);
    for (const stat of found.stats) take(feed, stat, rulesOf(stat.name));
    intake.end(feed, found.bad === 0);
    return { bad: found.bad, error: undefined };
  };

  function take(feed: Feed, stat: Stat, rules: readonly Rule[]): void {
    if (rules.length === 0) return;
    intake.take(feed, seriesOf(stat), stat.value, Number.NaN, () => ({
      instance: undefined,
      statements: statementsOf(profile, rules, stat.labels),
    }));
  }
}

function attempt(read: StatsReader, text: string): ReturnType<StatsReader> | { readonly error: string } {
  try {
    return read(text);
  } catch (error) {
    return { error: reasonOf(error) };
  }
}

/** All that tells it from other values of the page. */
const seriesOf = ({ name, labels, life }: Stat): string => [life, name, ...labels.values()].join('\n');
