import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { availableParallelism, loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { build } from 'esbuild';
import { createCheckThread } from '../src/config/check-thread.ts';
import { createConfigurationHolder } from '../src/config/holder.ts';
import { filesSource } from '../src/config/source/files.ts';
import { systemClock } from '../src/lib/clock.ts';
import { silentLogger } from '../src/lib/logger.ts';

const RUNS = 7;
const TARGETS = 1000;
const NOTIFICATIONS = 10_000;
const TEXTS = [
  'call the people who own it',
  'look at the collector of that site first',
  'wait for the next reading',
];

/** Ten kinds of notifications, in turns. */
function notification(index: number): string {
  const kind = index % 10;
  const lines = [
    `  # The source number ${index}, agreed with its owners in spring.`,
    `  - id: silent_${index}`,
    '    condition: no-data',
    `    targets: [hook_${index % TARGETS}, hook_${(index * 7 + 1) % TARGETS}]`,
    `    severity: ${['warn', 'error', 'fatal', 'info'][kind % 4]}`,
    `    description: "Source number ${index} is silent: ${TEXTS[kind % 3]}, then at the network between both ends."`,
    `    runbookUrl: https://runbooks.example.com/sources/${index}`,
    ...(kind < 5 ? ['    for: 30s'] : []),
    ...(kind > 2 ? [`    repeatInterval: ${kind}h`] : []),
    '    conf:',
    `      name: 'syslog:source_${index}'`,
    `      timeWindow: ${60 * (kind + 1)}s`,
    ...(kind > 7 ? ['      notifyOnResolution: false'] : []),
  ];
  return lines.join('\n');
}

const target = (index: number): string =>
  [
    `  - id: hook_${index}`,
    '    type: webhook',
    `    url: https://hooks.example.com/team/${index}`,
    '    authType: token',
    '    token: ${env:TOKEN}',
    `    description: Where the people of team ${index} look first`,
    '    systemFields: [cribl_host, cribl_pipe]',
  ].join('\n');

const file = (): string =>
  [
    '# Made for a measurement.',
    'targets:',
    ...Array.from({ length: TARGETS }, (_, index) => target(index)),
    'notifications:',
    ...Array.from({ length: NOTIFICATIONS }, (_, index) => notification(index)),
    '',
  ].join('\n');

const ENVIRONMENT = { TOKEN: 'a-token-of-some-length' };

/** The tasks as they are shipped: in one file, without the wrappers that a compiler on the fly adds. */
async function bundleTasks(folder: string): Promise<string> {
  const outfile = join(folder, 'config-task.mjs');
  await build({
    entryPoints: [join(import.meta.dirname, 'config-task.ts')],
    outfile,
    bundle: true,
    platform: 'node',
    target: 'node20',
    format: 'esm',
    banner: {
      js: "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);",
    },
  });
  return outfile;
}

/** Each measurement in a process of its own, which has read nothing before, as a command has not. */
function measure(script: string, task: 'check' | 'js-yaml', folder: string): number {
  const child = spawnSync(process.execPath, [script, task, folder], {
    encoding: 'utf8',
    env: ENVIRONMENT,
  });
  if (child.status !== 0) throw new Error(child.stderr);
  return Number(child.stdout);
}

const median = (values: readonly number[]): number =>
  [...values].sort((one, other) => one - other)[values.length >> 1] ?? Number.NaN;

/** The longest time for which nothing else could run, in milliseconds, and how long the whole took. */
async function stallOf(
  work: () => Promise<unknown>,
): Promise<{ readonly stallMs: number; readonly tookMs: number }> {
  const delay = monitorEventLoopDelay({ resolution: 1 });
  delay.enable();
  const begun = performance.now();
  await work();
  const tookMs = performance.now() - begun;
  await new Promise(resolve => setTimeout(resolve, 50));
  delay.disable();
  return { stallMs: delay.max / 1e6, tookMs };
}

async function measureStalls(folder: string): Promise<void> {
  const holder = createConfigurationHolder({
    thread: createCheckThread(systemClock),
    source: filesSource({ folder, environment: ENVIRONMENT, flags: {}, clock: systemClock }),
    clock: systemClock,
    logger: silentLogger,
  });
  if (!holder.load().ok) throw new Error('the file was meant to be sound');
  const reloads = [];
  const saves = [];
  for (let run = 0; run < RUNS; run++) {
    writeFileSync(join(folder, 'notifications.yml'), `${file()}# run ${run}\n`);
    reloads.push(await stallOf(() => holder.reload()));
    const bell = { id: `bell_${run}`, type: 'bulletin_message' };
    const edits = [{ section: 'targets', id: bell.id, value: bell }] as const;
    saves.push(await stallOf(() => holder.save({ author: 'bench', source: 'cli', edits })));
  }
  await holder.stop();
  for (const [what, runs] of [
    ['reload', reloads],
    ['a change of one item', saves],
  ] as const) {
    const stalls = runs.map(({ stallMs }) => stallMs);
    const longest = Math.max(...stalls);
    console.log(
      `${what}: took ${Math.round(median(runs.map(({ tookMs }) => tookMs)))} ms; longest stall of others ${Math.round(median(stalls))} ms (most ${Math.round(longest)} ms), goal <= 200 ms  ${longest <= 200 ? 'reached' : 'missed'}`,
    );
  }
}

async function report(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'headgate-bench-'));
  try {
    writeFileSync(join(folder, 'notifications.yml'), file());
    console.log(`node ${process.version}, ${availableParallelism()} cores, load ${loadavg()[0]?.toFixed(1)}`);
    console.log(
      `${NOTIFICATIONS} notifications and ${TARGETS} targets, ${(file().length / 1e6).toFixed(1)} MB, medians of ${RUNS} runs in turns`,
    );
    const script = await bundleTasks(folder);
    const checks: number[] = [];
    const loads: number[] = [];
    for (let run = 0; run < RUNS; run++) {
      loads.push(measure(script, 'js-yaml', folder));
      checks.push(measure(script, 'check', folder));
    }
    const ratio = median(checks) / median(loads);
    console.log(
      `check: ${Math.round(median(checks))} CPU ms; js-yaml: ${Math.round(median(loads))} CPU ms; ratio ${ratio.toFixed(2)}, goal <= 2  ${ratio <= 2 ? 'reached' : 'missed'}`,
    );
    await measureStalls(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

await report();
