import { pause } from '../delivery/poster.ts';
import { median, percentile, printGoal, printTable, spread } from '../delivery/table.ts';
import { addresses, type Measured, startMeasured } from './server.ts';

const WRONG_PASSWORDS = 1000;
const AT_ONCE = 50;
const ROUNDS = 3;
const EVERY_MS = 5;
/** How long others are looked at while nobody guesses. */
const QUIET_MS = 5000;

interface Round {
  readonly quiet: readonly number[];
  readonly flooded: readonly number[];
  readonly tookMs: number;
  readonly answers: ReadonlyMap<number, number>;
}

/** How long other calls take while 1,000 wrong passwords come in, 50 at once. */
export async function measureFlood(): Promise<void> {
  for (const [limit, what] of [
    ['1000/second', 'every guess is compared, or told to come again'],
    ['2/second', 'with the default limit, each guess from another address'],
  ] as const) {
    const server = await startMeasured(limit);
    const rounds: Round[] = [];
    try {
      await server.addUser('ann');
      for (let round = 0; round < ROUNDS; round++) rounds.push(await measure(server));
    } finally {
      await server.end();
    }
    report(what, rounds);
  }
}

async function measure(server: Measured): Promise<Round> {
  const quiet = await latencies(server, pause(QUIET_MS));
  const answers = new Map<number, number>();
  const begun = performance.now();
  const flooded = await latencies(server, guess(server, answers));
  return { quiet, flooded, tookMs: performance.now() - begun, answers };
}

async function guess(server: Measured, answers: Map<number, number>): Promise<void> {
  const nextAddress = addresses();
  let left = WRONG_PASSWORDS;
  const worker = async (): Promise<void> => {
    while (left-- > 0) {
      const { status } = await server.logIn('ann', `a wrong password ${left}`, nextAddress());
      answers.set(status, (answers.get(status) ?? 0) + 1);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
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
  const answers = rounds.flatMap(one => [...one.answers]);
  const statuses = [...new Set(answers.map(([status]) => status))].sort();
  const counted = statuses.map(
    status => `${answers.filter(one => one[0] === status).reduce((sum, one) => sum + one[1], 0)} × ${status}`,
  );
  console.log(
    `  guesses: ${counted.join(', ')}; ${spread(
      rounds.map(({ tookMs }) => tookMs / 1000),
      1,
    )} s`,
  );
  const ratio = (share: number): number =>
    median(rounds.map(({ quiet, flooded }) => percentile(flooded, share) / percentile(quiet, share)));
  printGoal('p50 beside them, of that alone', ratio(0.5), '<=', 3);
  printGoal('p90 beside them, of that alone', ratio(0.9), '<=', 3);
}
