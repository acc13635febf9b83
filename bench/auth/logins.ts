import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import * as z from 'zod';
import { median, printTable, spread } from '../delivery/table.ts';
import { usageOf } from '../delivery/usage.ts';
import { type Measured, PASSWORD, startMeasured } from './server.ts';

const ROUNDS = 7;
const LOGINS = 60;
const AT_ONCE = 4;

const cost = z.object({ cpuMs: z.number(), ms: z.number() });
type Cost = z.infer<typeof cost>;

/** Right passwords at the login, against the hash that they are compared with by itself. */
export async function measureLogins(): Promise<void> {
  const server = await startMeasured('1000/second');
  await server.addUser('ann');
  const logins: Cost[] = [];
  const hashes: Cost[] = [];
  try {
    await costOfLogins(server);
    for (let round = 0; round < ROUNDS; round++) {
      logins.push(await costOfLogins(server));
      hashes.push(costOfHashes());
    }
  } finally {
    await server.end();
  }
  const perSecond = (all: readonly Cost[]): string =>
    spread(
      all.map(({ ms }) => 1000 / ms),
      1,
    );
  const cpu = (all: readonly Cost[]): string =>
    spread(
      all.map(({ cpuMs }) => cpuMs),
      1,
    );
  printTable(
    ['', 'each second', 'CPU ms of each'],
    [
      [`logins, ${AT_ONCE} at once`, perSecond(logins), cpu(logins)],
      ['the hash alone, one after the other', perSecond(hashes), cpu(hashes)],
    ],
  );
  const ratio = median(logins.map(({ cpuMs }, round) => cpuMs / (hashes[round]?.cpuMs ?? Number.NaN)));
  console.log(`  CPU of a login: ${ratio.toFixed(2)} of that of its hash`);
}

async function costOfLogins(server: Measured): Promise<Cost> {
  const before = usageOf(server.pid).cpuSec;
  const begun = performance.now();
  let left = LOGINS;
  const worker = async (): Promise<void> => {
    while (left-- > 0) {
      const { status, text } = await server.logIn('ann', PASSWORD);
      if (status !== 200) throw new Error(`a login was answered ${status}: ${text}`);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
  const ms = (performance.now() - begun) / LOGINS;
  return { cpuMs: ((usageOf(server.pid).cpuSec - before) * 1000) / LOGINS, ms };
}

function costOfHashes(): Cost {
  const script = join(import.meta.dirname, 'hash-process.ts');
  const args = ['--import', 'tsx', script, String(LOGINS)];
  const child = spawnSync(process.execPath, args, { encoding: 'utf8' });
  if (child.status !== 0) throw new Error(child.stderr);
  return cost.parse(JSON.parse(child.stdout));
}
