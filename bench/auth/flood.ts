import { join } from 'node:path';
import * as z from 'zod';
import { run } from '../../test/acceptance/bin.ts';
import { bundle } from '../delivery/bundle.ts';
import { pause } from '../delivery/poster.ts';
import { median, percentile, printGoal, printTable, spread } from '../delivery/table.ts';
import { temporaryFolder } from '../delivery/temporary.ts';
import { usageOf } from '../delivery/usage.ts';
import { type Measured, startMeasured } from './server.ts';

const WRONG_PASSWORDS = 1000;
const AT_ONCE = 50;
const ROUNDS = 3;
const EVERY_MS = 5;
/** How long others are looked at while nobody guesses. */
const QUIET_MS = 5000;

/** By status, how many were answered so, and how long all took. */
const guesses = z.object({ answers: z.record(z.string(), z.number()), ms: z.number() });

interface Round {
  readonly quiet: readonly number[];
  readonly flooded: readonly number[];
  readonly guessed: z.infer<typeof guesses>;
  /** Of the server, for all that was asked of it meanwhile. */
  readonly cpuMs: number;
}

/** How long other calls take while 1,000 wrong passwords come in, 50 at once. */
export async function measureFlood(): Promise<void> {
  const script = await bundle(join(import.meta.dirname, 'guess-process.ts'), temporaryFolder());
  for (const [limit, what] of [
    ['1000/second', 'every guess is compared, or told to come again'],
    ['2/second', 'with the default limit'],
  ] as const) {
    const server = await startMeasured(limit);
    const rounds: Round[] = [];
    try {
      await server.addUser('ann');
      for (let round = 0; round < ROUNDS; round++) rounds.push(await measure(server, script));
    } finally {
      await server.end();
    }
    report(what, rounds);
  }
}

async function measure(server: Measured, script: string): Promise<Round> {
  const quiet = await latencies(server, pause(QUIET_MS));
  const before = usageOf(server.pid).cpuSec;
  const guesser = run(process.execPath, [script, server.url, String(WRONG_PASSWORDS), String(AT_ONCE)], {});
  const flooded = await latencies(
    server,
    guesser.ended.then(({ code }) => {
      if (code !== 0) throw new Error(guesser.stderr());
    }),
  );
  const cpuMs = (usageOf(server.pid).cpuSec - before) * 1000;
  return { quiet, flooded, guessed: guesses.parse(JSON.parse(guesser.stdout())), cpuMs };
}

/** One call after the other, a little apart, until the other work is over. */
async function latencies(server: Measured, work: Promise<void>): Promise<number[]> {
  let isOver = false;
  const ended = work.finally(() => {
    isOver = true;
  });
  const times: number[] = [];
  while (!isOver) {
    const { status, ms } = await server.ask({ method: 'GET', path: '/api/v1/system/inputs' });
    if (status !== 200) throw new Error(`a read was answered ${status}`);
    times.push(ms);
    await pause(EVERY_MS);
  }
  await ended;
  return times;
}

function report(what: string, rounds: readonly Round[]): void {
  const row = (name: string, of: (round: Round) => readonly number[]): string[] => [
    name,
    ...[0.5, 0.9, 0.99].map(share =>
      spread(
        rounds.map(round => percentile(of(round), share)),
        2,
      ),
    ),
  ];
  console.log(`  ${what}`);
  printTable(
    ['GET /system/inputs, ms', 'p50', 'p90', 'p99'],
    [row('alone', ({ quiet }) => quiet), row('beside the guesses', ({ flooded }) => flooded)],
  );
  const answers = rounds.flatMap(({ guessed }) => Object.entries(guessed.answers));
  const counted = [...new Set(answers.map(([status]) => status))].sort().map(status => {
    const all = answers.filter(one => one[0] === status);
    return `${all.reduce((sum, [, count]) => sum + count, 0)} × ${status}`;
  });
  const took = spread(
    rounds.map(({ guessed }) => guessed.ms / 1000),
    1,
  );
  const cpu = spread(
    rounds.map(({ cpuMs }) => cpuMs / WRONG_PASSWORDS),
    2,
  );
  console.log(`  guesses: ${counted.join(', ')}; ${took} s each time, ${cpu} CPU ms of the server for each`);
  const ratio = (share: number): number =>
    median(rounds.map(({ quiet, flooded }) => percentile(flooded, share) / percentile(quiet, share)));
  printGoal('p50 beside them, of that alone', ratio(0.5), '<=', 3);
  printGoal('p90 beside them, of that alone', ratio(0.9), '<=', 3);
}
