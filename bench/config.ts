import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { availableParallelism, loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { build } from 'esbuild';
import { type CheckThread, createCheckThread } from '../src/config/check-thread.ts';
import { createConfigurationHolder } from '../src/config/holder.ts';
import { filesSource } from '../src/config/source/files.ts';
import { LARGE_CHARACTERS, LARGE_VALUES } from '../src/config/worker.ts';
import { mostValuesIn } from '../src/config/yaml/structure.ts';
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

/** Heavy on the trials of a check, which a workspace may have as many of as fit. */
const HEAVY = `'"ab".repeat(8000).split("a").join("c").replaceAll("b", "d").length + in_events < 0'`;

/** Texts as large as those that are still read where requests are answered. */
const SMALL: Readonly<Record<string, (count: number) => string>> = {
  'notifications with heavy expressions': count =>
    many(
      'notifications',
      count,
      index =>
        `{ id: n${index}, condition: expression, targets: [], conf: { name: '*', timeWindow: 5s, expression: ${HEAVY} } }`,
    ),
  'targets with secrets': count =>
    many(
      'targets',
      count,
      index =>
        `{ id: t${index}, type: webhook, url: 'https://h.example/${index}', authType: token, token: secret-number-${index} }`,
    ),
  'long texts': count =>
    many(
      'notifications',
      count,
      index =>
        `{ id: n${index}, condition: no-data, targets: [], description: ${'long '.repeat(200)}, conf: { name: a, timeWindow: 5s } }`,
    ),
};

const many = (section: string, count: number, item: (index: number) => string): string =>
  `${section}:\n${Array.from({ length: count }, (_, index) => `  - ${item(index)}\n`).join('')}`;

/** The largest of its kind that is read at once. A change adds an item to it, and an import sends it once more. */
function largestSmall(make: (count: number) => string): string {
  const isSmall = (text: string): boolean =>
    text.length * 2 < LARGE_CHARACTERS && mostValuesIn(text) * 2 < LARGE_VALUES;
  let count = 1;
  while (isSmall(make(count + 1))) count++;
  return make(count);
}

/** How long each job holds others up at most where requests are answered, at the bound of what is done there. */
async function measureSmallJobs(folder: string): Promise<void> {
  for (const [kind, make] of Object.entries(SMALL)) {
    const text = largestSmall(make);
    writeFileSync(join(folder, 'notifications.yml'), text);
    const holder = createConfigurationHolder({
      thread: NO_THREAD,
      source: filesSource({ folder, environment: {}, flags: {}, clock: systemClock }),
      clock: systemClock,
      logger: silentLogger,
    });
    if (!holder.load().ok) throw new Error(`${kind}: the text was meant to be sound`);
    let run = 0;
    const bell = () =>
      [
        {
          section: 'targets',
          id: 'bell',
          value: { id: 'bell', type: 'bulletin_message', description: `${run++}` },
        },
      ] as const;
    const by = { author: 'bench', source: 'api' } as const;
    const jobs: Readonly<Record<string, () => Promise<unknown>>> = {
      reload: () => holder.reload(),
      check: () => holder.check({ 'notifications.yml': text }),
      'change of one item': () => holder.save({ ...by, edits: bell() }),
      import: () =>
        holder.save({
          ...by,
          sent: {
            texts: { 'notifications.yml': `${holder.texts()['notifications.yml']}# ${run++}\n` },
            mayRefer: true,
          },
        }),
    };
    for (const [job, work] of Object.entries(jobs)) {
      const stalls: number[] = [];
      for (let time = 0; time < RUNS; time++) stalls.push((await stallOf(work)).stallMs);
      const longest = Math.max(...stalls);
      console.log(
        `${kind} (${text.length} characters, ${mostValuesIn(text)} values), ${job}: longest stall of others ${median(stalls).toFixed(0)} ms (most ${longest.toFixed(0)} ms), goal <= 50 ms  ${median(stalls) <= 50 ? 'reached' : 'missed'}`,
      );
    }
    await holder.stop();
  }
}

/** What leaves the thread that answers is not measured here. */
const left = async (): Promise<never> => {
  throw new Error('the job was meant to be done at once');
};
const NO_THREAD: CheckThread = {
  ...{ run: left, hide: left, load: left, loadAtOnce: left },
  stop: async () => {},
};

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
    await measureSmallJobs(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

await report();
