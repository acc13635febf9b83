import { availableParallelism, loadavg } from 'node:os';
import { join } from 'node:path';
import { ADMIN_PASSWORD, type Served, startServer } from '../test/acceptance/bin.ts';
import { writeConfiguration } from '../test/acceptance/files.ts';
import { createPostgresDatabase, findPostgres } from '../test/helpers/postgres.ts';
import { until } from '../test/helpers/until.ts';
import { printGoal, printTable, spread } from './delivery/table.ts';
import { endWithin, temporaryFolder } from './delivery/temporary.ts';

const ROUNDS = 5;
const MAX_MINUTES = 15;
/** How the leading process goes, and within how many milliseconds the other must lead. */
const ENDS = [
  { what: 'kill -9', signal: 'SIGKILL', goal: 10_000 },
  { what: 'frozen (SIGSTOP)', signal: 'SIGSTOP', goal: 10_000 },
  { what: 'stopped (SIGTERM)', signal: 'SIGTERM', goal: 3_500 },
] as const;

const leads = (server: Served): boolean => server.records().some(({ msg }) => msg === 'this process leads');

/** Starts two processes on a new database, ends the one that leads, and measures until the other one does, in ms. */
async function measure(signal: NodeJS.Signals): Promise<number> {
  const database = await createPostgresDatabase();
  const root = temporaryFolder();
  writeConfiguration(join(root, 'config'), {
    settings: { storage: { url: '${env:DATABASE_URL}', keyRing: join(root, 'keys') } },
  });
  const start = (name: string): Promise<Served> =>
    startServer({
      config: join(root, 'config'),
      data: join(root, name),
      environment: { HEADGATE_ADMIN_PASSWORD: ADMIN_PASSWORD, DATABASE_URL: database.url },
    });
  const first = await start('first');
  const second = await start('second');
  try {
    await until(() => leads(first), 'the first process to lead');
    const begun = performance.now();
    first.signal(signal);
    await until(() => leads(second), 'the second process to lead');
    return performance.now() - begun;
  } finally {
    await Promise.all([first.kill(), second.kill()]);
    await database.remove();
  }
}

endWithin(MAX_MINUTES);
console.log(`node ${process.version}, ${availableParallelism()} cores, load ${loadavg()[0]?.toFixed(1)}`);
const endPostgres = await findPostgres();
try {
  const measured = [];
  for (const end of ENDS) {
    const times: number[] = [];
    for (let round = 0; round < ROUNDS; round++) times.push(await measure(end.signal));
    measured.push({ ...end, times });
  }
  printTable(
    ['the leading process is', 'ms until another leads'],
    measured.map(({ what, times }) => [what, spread(times)]),
  );
  for (const { what, times, goal } of measured)
    printGoal(`${what}, the slowest in ms`, Math.max(...times), '<=', goal);
} finally {
  endPostgres();
}
process.exit(0);
