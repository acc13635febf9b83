import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Pool } from 'undici';
import { run } from '../../test/acceptance/bin.ts';
import { until } from '../../test/acceptance/until.ts';
import { bundle } from '../delivery/bundle.ts';
import { median, printGoal, printTable, spread } from '../delivery/table.ts';
import { temporaryFolder } from '../delivery/temporary.ts';
import { usageOf } from '../delivery/usage.ts';
import { startMeasured } from './server.ts';

const PATH = '/api/v1/system/inputs';
const ROUNDS = 11;
const REQUESTS = 4000;
const CONNECTIONS = 16;
const WARM_UP = 3000;

interface Side {
  readonly name: string;
  readonly pid: number;
  readonly url: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
}

interface Round {
  readonly cpuUs: number;
  readonly perSecond: number;
}

/** `GET` of 20 inputs with a token, against the same objects sent to whoever asks. */
export async function measureReading(): Promise<void> {
  const server = await startMeasured('1000/second');
  const { text } = await server.ask({ method: 'GET', path: PATH });
  const bare = await startBare(text);
  const sides: readonly Side[] = [
    {
      name: 'Headgate',
      pid: server.pid,
      url: server.url,
      path: PATH,
      headers: { authorization: server.token },
    },
    { name: 'bare fastify', pid: bare.pid, url: bare.url, path: '/', headers: {} },
  ];
  try {
    const rounds = await inTurns(sides);
    printTable(
      ['', 'CPU µs of a request', 'requests/s'],
      sides.map(({ name }) => [
        name,
        spread(rounds.map(round => round.get(name)?.cpuUs ?? Number.NaN)),
        spread(rounds.map(round => round.get(name)?.perSecond ?? Number.NaN)),
      ]),
    );
    const ratio = (of: (round: Round) => number): number =>
      median(rounds.map(round => of(at(round, 'Headgate')) / of(at(round, 'bare fastify'))));
    console.log(`  ${text.length} bytes of JSON in each answer`);
    printGoal(
      'requests in a CPU second, of those of bare fastify',
      1 / ratio(({ cpuUs }) => cpuUs),
      '>=',
      0.7,
    );
    printGoal(
      'requests/s by the clock, of those of bare fastify',
      ratio(({ perSecond }) => perSecond),
      '>=',
      0.7,
    );
  } finally {
    await bare.kill();
    await server.end();
  }
}

function at(round: ReadonlyMap<string, Round>, name: string): Round {
  const found = round.get(name);
  if (found === undefined) throw new Error(`${name} was not measured`);
  return found;
}

async function startBare(objects: string) {
  const folder = temporaryFolder();
  const file = join(folder, 'objects.json');
  writeFileSync(file, objects);
  const script = await bundle(join(import.meta.dirname, 'bare-process.ts'), folder);
  const running = run(process.execPath, [script, file], { NODE_ENV: 'production' });
  const url = () => /^ready on (\S+)$/m.exec(running.stdout())?.[1];
  await until(() => url() !== undefined, 'a ready bare server');
  return { pid: running.pid, url: url() ?? '', kill: running.kill };
}

async function inTurns(sides: readonly Side[]): Promise<ReadonlyMap<string, Round>[]> {
  const pools = new Map(sides.map(({ name, url }) => [name, new Pool(url, { connections: CONNECTIONS })]));
  const measure = async (side: Side, requests: number): Promise<Round> => {
    const pool = pools.get(side.name);
    if (pool === undefined) throw new Error(`${side.name} has no connections`);
    const before = usageOf(side.pid).cpuSec;
    const begun = performance.now();
    await load(pool, side, requests);
    const seconds = (performance.now() - begun) / 1000;
    return {
      cpuUs: ((usageOf(side.pid).cpuSec - before) / requests) * 1e6,
      perSecond: requests / seconds,
    };
  };
  for (const side of sides) await measure(side, WARM_UP);
  const rounds: Map<string, Round>[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    const figures = new Map<string, Round>();
    for (const side of round % 2 === 0 ? sides : sides.toReversed())
      figures.set(side.name, await measure(side, REQUESTS));
    rounds.push(figures);
  }
  await Promise.all([...pools.values()].map(pool => pool.destroy()));
  return rounds;
}

async function load(pool: Pool, { path, headers }: Side, requests: number): Promise<void> {
  let left = requests;
  const worker = async (): Promise<void> => {
    while (left-- > 0) {
      const { statusCode, body } = await pool.request({ method: 'GET', path, headers });
      await body.dump();
      if (statusCode !== 200) throw new Error(`${path} answered ${statusCode}`);
    }
  };
  await Promise.all(Array.from({ length: CONNECTIONS }, worker));
}
