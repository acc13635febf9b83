import { expect, it } from 'vitest';
import { startBenchWith, URL_OF } from '../../../test/helpers/monitor.ts';
import { type Logger, silentLogger } from '../../lib/logger.ts';
import type { Alternation, StartHistory } from '../components/state.ts';
import { alternates, nextAlternation, nextStart } from './alternation.ts';

/** Whether each reading of one counter shows that several processes answer. */
function play(...values: number[]): boolean[] {
  let alternation: Alternation | undefined;
  return values.map((value, reading) => {
    const last = values[reading - 1] ?? value;
    if (reading > 0) alternation = nextAlternation(alternation, { entry: 7, last, value, reading });
    return alternates(alternation, reading);
  });
}

it('is seen when values fall to where they were for the second time', () => {
  expect(play(9_000_000, 4_000_000, 9_000_010, 4_000_010, 9_000_020)).toEqual([
    false,
    false,
    false,
    true,
    true,
  ]);
  expect(play(90, 91, 92, 40, 41, 42, 93, 94, 43).at(-1)).toBe(true);
});

it.each([
  ['three processes, one after the other', [9000, 4000, 5000, 9010, 4010, 5010, 9020, 4020]],
  ['five processes, the smallest first', [1, 2, 3, 4, 5, 1, 2, 3, 4, 5, 1, 2, 3, 4, 5, 1].map(n => n * 1000)],
  ['four processes, the largest first', [9000, 8000, 7000, 1000, 9010]],
  ['a process that restarts with every other reading', [500, 20, 700, 10, 300, 40]],
])('is seen of %s, as it falls for the third time within sixteen readings', (_, values) => {
  expect(play(...values).at(-1)).toBe(true);
});

it('is not seen of three restarts that lie further apart', () => {
  const life = [20, 300, 400, 500, 600, 700, 800, 900, 950];
  expect(play(...life, ...life, ...life, ...life)).not.toContain(true);
});

it('is over after ten readings without a move, and seen again at once with the next', () => {
  const readings = play(90, 40, 91, 41, ...Array.from({ length: 12 }, (_, at) => 42 + at), 95);
  expect(readings.slice(3)).toEqual([...new Array<boolean>(11).fill(true), false, false, true]);
});

it.each([
  ['a restart', [1000, 0, 500, 1100, 1200]],
  ['restarts far apart', [1000, 3, 600, 1001, 1010, 2, 700, 1300]],
  ['a counter of little that restarts twice', [1, 0, 2, 0, 1]],
  ['a dip', [1000, 990, 1010, 1020]],
])('is not %s', (_, values) => {
  expect(play(...values)).not.toContain(true);
});

it('follows the largest counter of those that fell together', () => {
  const small = nextAlternation(undefined, { entry: 1, last: 5, value: 3, reading: 2 });
  const large = nextAlternation(small, { entry: 2, last: 500, value: 300, reading: 2 });
  expect(large?.entry).toBe(2);
  expect(nextAlternation(large, { entry: 3, last: 900, value: 300, reading: 3 })?.entry).toBe(2);
});

/** Whether each page shows the start of a process that an earlier one showed, and the one before did not. */
function returns(...starts: number[]): boolean[] {
  let history: StartHistory | undefined;
  return starts.map(start => {
    history = nextStart(history, start);
    return history?.returned ?? false;
  });
}

it.each([
  ['of two processes in turn', [1e6, 5e6, 1e6, 5e6], [false, false, true, true]],
  ['of a process that restarts', [1e6, 5e6, 9e6, 9e6], [false, false, false, false]],
  ['of a clock that is corrected by seconds, back and forth', [1e6, 1.001e6, 1e6], [false, false, false]],
  ['of pages without one between', [1e6, Number.NaN, 1e6], [false, false, false]],
  ['that are none', [Number.NaN, Number.NaN], [false, false]],
])('knows the starts %s', (_, starts, expected) => {
  expect(returns(...starts)).toEqual(expected);
});

it('remembers the starts of eight processes', () => {
  const starts = Array.from({ length: 9 }, (_, at) => (at + 1) * 1e6);
  expect(returns(...starts.slice(1), 2e6).at(-1)).toBe(true);
  expect(returns(...starts, 1e6).at(-1)).toBe(false);
});

const rules = [{ match: '^in_total$', kind: 'input', id: 'id', metric: 'in_events' }];

it.each([
  ['starts', (process: number) => `process_start_time_seconds ${1.7e9 + process * 1e6}\n`],
  ['uptimes', (process: number, at: number) => `fluentbit_uptime ${process * 5000 + at * 10}\n`],
])(
  'an idle process that answers in turn with a busy one is known by its %s, and logged once',
  async (_, evidence) => {
    const logged: unknown[] = [];
    const logger: Logger = { ...silentLogger, child: () => logger, warn: fields => void logged.push(fields) };
    const bench = await startBenchWith(
      { logger },
      { id: 'edge', engine: 'custom', url: URL_OF('edge'), rules },
    );
    for (let at = 0; at < 12; at++) {
      const process = at % 2;
      const value = process === 0 ? 5000 + at : 0;
      await bench.scrape(`${evidence(process + 1, at)}in_total{id="app"} ${value}\n`);
    }
    expect(bench.status('app').metrics.in_events).toBeLessThanOrEqual(5002);
    expect(bench.monitor.components.pipeline('edge')?.error).toMatch(
      /several processes answer under one name/,
    );
    const reason = expect.stringMatching(/edge\.test go back .* give each process an address/);
    expect(logged).toEqual([{ instance: 'edge.test', reason }]);
    expect(bench.monitor.components.pipeline('edge')?.uncounted).toMatchObject({ reason });
    await bench.monitor.stop();
  },
);

it('a start that is corrected back and forth says nothing against a counter that goes on', async () => {
  const bench = await startBenchWith({}, { id: 'edge', engine: 'custom', url: URL_OF('edge'), rules });
  for (let at = 0; at < 6; at++)
    await bench.scrape(
      `process_start_time_seconds ${1.7e9 + (at % 2) * 100}\nin_total{id="app"} ${5000 + at * 10}\n`,
    );
  expect(bench.status('app').metrics.in_events).toBe(50);
  expect(bench.monitor.components.pipeline('edge')?.error).toBeNull();
  await bench.monitor.stop();
});

it('a new start that is taken for a corrected clock shows for a day, and once in the log, as a restart behind it counts less', async () => {
  const logged: unknown[] = [];
  const logger: Logger = { ...silentLogger, child: () => logger, info: fields => void logged.push(fields) };
  const bench = await startBenchWith(
    { logger },
    { id: 'edge', engine: 'custom', url: URL_OF('edge'), rules },
  );
  for (let at = 0; at < 6; at++) {
    const start = (bench.clock.now() + 9000) / 1000;
    await bench.scrape(`process_start_time_seconds ${start}\nin_total{id="app"} ${5000 + at * 10}\n`);
  }
  expect(bench.status('app').metrics.in_events).toBe(50);
  const reason = expect.stringMatching(/if it did restart, .* is missing/);
  expect(logged).toEqual([{ instance: 'edge.test', reason }]);
  const uncounted = () => bench.monitor.components.pipeline('edge')?.uncounted;
  const at = uncounted()?.at ?? 0;
  expect(bench.clock.now() - at).toBeLessThan(10_000);
  await bench.clock.advance(at + 24 * 3_600_000 - 1 - bench.clock.now());
  expect(uncounted()).toEqual({ reason, at });
  await bench.clock.advance(1);
  expect(uncounted()).toBeNull();
  await bench.monitor.stop();
});
