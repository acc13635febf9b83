import { Pool } from 'undici';
import { median } from '../delivery/table.ts';
import { usageOf } from '../delivery/usage.ts';

const CONNECTIONS = 16;

/** One of several servers that get the same load. */
export interface Side {
  readonly name: string;
  readonly pid: number;
  readonly url: string;
  readonly request: {
    readonly method: 'GET' | 'POST';
    readonly path: string;
    readonly headers: Readonly<Record<string, string>>;
    readonly body?: string;
  };
}

/** What a request has cost the process with all its threads, and how many were answered. */
export interface Cost {
  readonly cpuUs: number;
  readonly perSecond: number;
}

/** The costs of one round, by the name of the side. */
export type Round = ReadonlyMap<string, Cost>;

/**
 * Sends each side's request again and again over 16 kept connections, the sides one after the other and each round the
 * other way about. Throws for any answer but 200.
 */
export async function inTurns(
  sides: readonly Side[],
  { rounds: count, requests, warmUp }: { rounds: number; requests: number; warmUp: number },
): Promise<readonly Round[]> {
  const measured = sides.map(side => ({ side, pool: new Pool(side.url, { connections: CONNECTIONS }) }));
  for (const { side, pool } of measured) await costOf(side, pool, warmUp);
  const rounds: Round[] = [];
  for (let round = 0; round < count; round++) {
    const costs = new Map<string, Cost>();
    for (const { side, pool } of round % 2 === 0 ? measured : measured.toReversed())
      costs.set(side.name, await costOf(side, pool, requests));
    rounds.push(costs);
  }
  await Promise.all(measured.map(({ pool }) => pool.destroy()));
  return rounds;
}

async function costOf(side: Side, pool: Pool, requests: number): Promise<Cost> {
  const before = usageOf(side.pid).cpuSec;
  const begun = performance.now();
  await load(pool, side, requests);
  const seconds = (performance.now() - begun) / 1000;
  return {
    cpuUs: ((usageOf(side.pid).cpuSec - before) / requests) * 1e6,
    perSecond: requests / seconds,
  };
}

async function load(pool: Pool, { name, request }: Side, requests: number): Promise<void> {
  let left = requests;
  const worker = async (): Promise<void> => {
    while (left-- > 0) {
      const { statusCode, body } = await pool.request(request);
      await body.dump();
      if (statusCode !== 200) throw new Error(`${name} answered ${statusCode} at ${request.path}`);
    }
  };
  await Promise.all(Array.from({ length: CONNECTIONS }, worker));
}

/** One figure of a side, round by round. */
export const figuresOf = (rounds: readonly Round[], name: string, of: (cost: Cost) => number): number[] =>
  rounds.map(round => of(at(round, name)));

/** The median of how one side compares with the other, round by round. */
export const ratioOf = (
  rounds: readonly Round[],
  [one, other]: readonly [string, string],
  of: (cost: Cost) => number,
): number => median(rounds.map(round => of(at(round, one)) / of(at(round, other))));

function at(round: Round, name: string): Cost {
  const found = round.get(name);
  if (found === undefined) throw new Error(`${name} was not measured`);
  return found;
}
