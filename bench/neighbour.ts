import { spawn } from 'node:child_process';
import { createServer } from 'node:http';
import { availableParallelism, loadavg } from 'node:os';
import { join } from 'node:path';
import { percentile, printGoal, printTable, spread } from './delivery/table.ts';
import { endWithin } from './delivery/temporary.ts';
import { ask, configure, INGEST_TOKEN, startWorkspaces, type Workspace } from './neighbour/workspace.ts';

const ROUNDS = 3;
const SECONDS = 15;
const MAX_MINUTES = 8;
/** Evaluated on 200 inputs twice a second, these take far more than a workspace may. */
const HEAVY_NOTIFICATIONS = 40;
const HEAVY = '"ab".repeat(8000).split("a").join("c").replaceAll("b", "d").length + in_events < 0';
/** A figure may be so many times that of the workspace alone, or so many milliseconds more. */
const GOAL_RATIO = 1.5;
const GOAL_MS = 20;

const pipelines = [{ id: 'edge', engine: 'custom', push: true, token: INGEST_TOKEN }];

/** Answers every request, and hears of each alarm as it comes in. */
async function startReceiver(heard: (body: string) => void): Promise<{ url: string; end(): void }> {
  const server = createServer((request, response) => {
    let body = '';
    request.on('data', chunk => (body += String(chunk)));
    request.on('end', () => {
      heard(body);
      response.end();
    });
  });
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  if (typeof address !== 'object' || address === null) throw new Error('the receiver does not listen');
  return { url: `http://127.0.0.1:${address.port}/`, end: () => server.closeAllConnections() };
}

async function setUp(workspace: Workspace, url: string): Promise<void> {
  await configure(workspace, '/system/settings/conf', { pipelines });
  await configure(workspace, '/notification-targets', { id: 'hook', type: 'webhook', url });
  await configure(workspace, '/notifications', {
    id: 'monitors',
    condition: 'monitor-alerts',
    targets: ['hook'],
  });
}

interface Measured {
  readonly requests: number[];
  readonly alarms: number[];
}

const sleep = (ms: number): Promise<void> => new Promise(resolve => setTimeout(resolve, ms));

/** What a client of the workspace and the receiver of its alarms see, in milliseconds. */
async function observe(
  workspace: Workspace,
  arrivals: Map<string, number>,
  round: string,
): Promise<Measured> {
  const requests: number[] = [];
  const posted = new Map<string, number>();
  const end = performance.now() + SECONDS * 1000;
  for (let number = 0; performance.now() < end; number++) {
    const begun = performance.now();
    const { status } = await ask(workspace, '/api/v1/system/inputs');
    requests.push(performance.now() - begun);
    if (status !== 200) throw new Error(`the quiet workspace was answered ${status}`);
    if (number % 4 === 0) {
      const key = `${round}-${number}`;
      posted.set(key, performance.now());
      const body = JSON.stringify({ condition: 'monitor-alerts', key, state: 'ALARM' });
      await ask(workspace, '/ingest/events', { method: 'POST', body, ingest: true });
    }
    await sleep(40);
  }
  for (let waited = 0; waited < 10_000 && [...posted.keys()].some(key => !arrivals.has(key)); waited += 50)
    await sleep(50);
  const alarms = [...posted].map(([key, at]) => (arrivals.get(key) ?? Number.POSITIVE_INFINITY) - at);
  return { requests, alarms };
}

/** Runs the noise beside, and answers what it was told. */
async function beside<Result>(noisy: Workspace, work: () => Promise<Result>): Promise<Result> {
  const script = join(import.meta.dirname, 'neighbour/noise-process.ts');
  const child = spawn('npx', ['tsx', script, JSON.stringify(noisy)], { stdio: ['pipe', 'pipe', 'inherit'] });
  try {
    await sleep(3000);
    const result = await work();
    const told = new Promise<string>(resolve => child.stdout.once('data', data => resolve(String(data))));
    child.stdin.write('end\n');
    console.log(`noise: ${(await told).trim()}`);
    return result;
  } finally {
    child.kill();
  }
}

endWithin(MAX_MINUTES);
console.log(`node ${process.version}, ${availableParallelism()} cores, load ${loadavg()[0]?.toFixed(1)}`);
const arrivals = new Map<string, number>();
const receiver = await startReceiver(body => {
  for (const [key] of body.matchAll(/\d+-(?:alone|beside)-\d+/g))
    if (!arrivals.has(key)) arrivals.set(key, performance.now());
});
const { server, workspaces } = await startWorkspaces(['noisy', 'quiet']);
const [noisy, quiet] = workspaces;
if (noisy === undefined || quiet === undefined) throw new Error('a workspace is missing');
for (const workspace of workspaces) await setUp(workspace, receiver.url);
for (let number = 0; number < HEAVY_NOTIFICATIONS; number++)
  await configure(noisy, '/notifications', {
    id: `heavy${number}`,
    condition: 'expression',
    targets: ['hook'],
    conf: { name: '*', expression: HEAVY, timeWindow: '5s' },
  });
const figures = {
  'p99 of requests': (measured: Measured) => percentile(measured.requests, 0.99),
  'median of requests': (measured: Measured) => percentile(measured.requests, 0.5),
  'median of alarms': (measured: Measured) => percentile(measured.alarms, 0.5),
  'p99 of alarms': (measured: Measured) => percentile(measured.alarms, 0.99),
};
const alone: Measured[] = [];
const crowded: Measured[] = [];
// Once the noisy workspace has inputs, its expressions are evaluated also without any other noise.
for (let round = 0; round < ROUNDS; round++) alone.push(await observe(quiet, arrivals, `${round}-alone`));
for (let round = 0; round < ROUNDS; round++)
  crowded.push(await beside(noisy, () => observe(quiet, arrivals, `${round}-beside`)));
const rows = Object.entries(figures).map(([name, read]) => ({
  name,
  alone: alone.map(read),
  beside: crowded.map(read),
}));
printTable(
  ['milliseconds', 'alone', 'beside the noise'],
  rows.map(row => [row.name, spread(row.alone, 1), spread(row.beside, 1)]),
);
for (const row of rows.filter(({ name }) => name !== 'median of requests')) {
  const base = percentile(row.alone, 0.5);
  printGoal(row.name, percentile(row.beside, 0.5), '<=', Math.max(base * GOAL_RATIO, base + GOAL_MS));
}
receiver.end();
await server.kill();
process.exit(0);
