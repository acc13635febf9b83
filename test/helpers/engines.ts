import { type Bench, startBench, URL_OF } from './monitor.ts';

/** Reads `before`, then `after`; where only one page was recorded, `before` is the same page with counters at 0. */
export async function readTwice(
  engine: string,
  before: string,
  after: string,
  settings: object = {},
): Promise<Bench> {
  const bench = await startBench({ id: 'edge', engine, url: URL_OF('edge'), ...settings });
  await bench.scrape(before);
  await bench.scrape(after);
  return bench;
}

/** Every input and output as `<kind> <type>:<id>`, in the order of their discovery. */
export const names = (bench: Bench): string[] =>
  bench.monitor.components.all().map(({ kind, type, engineId }) => `${kind} ${type}:${engineId}`);
