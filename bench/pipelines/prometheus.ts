import { spawnSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import * as z from 'zod';
import { type Running, run } from '../../test/acceptance/bin.ts';
import { freePort } from '../../test/helpers/postgres-server.ts';
import { until } from '../../test/helpers/until.ts';
import { usageOf } from '../delivery/usage.ts';
import { INTERVAL_SEC, TIMEOUT_SEC, type Watcher, type WatcherKind, WINDOW_SEC } from './watcher.ts';
import type { World } from './world.ts';
import { PREFIX } from './world-protocol.ts';

const PROMETHEUS = 'prometheus';
const ALERTMANAGER = 'prometheus-alertmanager';

/** How often its rule is looked at, in seconds: as often as it reads, and as often as Headgate looks. */
export const LAZY_SEC = INTERVAL_SEC;
export const PROMPT_SEC = 1;

/** One that looks at its rule so often. Undefined where one of the two programs is not installed. */
export function findPrometheus(lookSec: number): WatcherKind | undefined {
  const versions = [PROMETHEUS, ALERTMANAGER].map(program => {
    const answer = spawnSync(program, ['--version'], { encoding: 'utf8' });
    return /version ([\d.]+)/.exec(`${answer.stdout}${answer.stderr}`)?.[1];
  });
  const isThere = versions.every(version => version !== undefined);
  const name = `Prometheus + Alertmanager, rule every ${lookSec} s`;
  return isThere
    ? { name, version: versions.join(' + '), start: (world, folder) => start(world, folder, lookSec) }
    : undefined;
}

const EVENTS = `${PREFIX}in_events_total`;

async function start(world: World, folder: string, lookSec: number): Promise<Watcher> {
  mkdirSync(folder, { recursive: true });
  const file = (name: string, content: object): string => {
    const path = join(folder, name);
    // JSON is YAML.
    writeFileSync(path, JSON.stringify(content));
    return path;
  };
  const addresses = [`127.0.0.1:${await freePort()}`, `127.0.0.1:${await freePort()}`] as const;
  const alertmanager = await started(ALERTMANAGER, addresses[0], [
    `--config.file=${file('alertmanager.yml', routing(world))}`,
    `--storage.path=${join(folder, 'alerts')}`,
    '--cluster.listen-address=',
  ]);
  const rules = file('rules.yml', rulesOf(lookSec));
  const prometheus = await started(PROMETHEUS, addresses[1], [
    `--config.file=${file('prometheus.yml', scraping(world, rules, addresses[0]))}`,
    `--storage.tsdb.path=${join(folder, 'data')}`,
  ]);
  const all = world.size.pages * world.size.perPage;
  return {
    knowsAll: async () => (await countOf(addresses[1])) === all,
    usage() {
      const [one, other] = [usageOf(prometheus.pid), usageOf(alertmanager.pid)];
      return { cpuSec: one.cpuSec + other.cpuSec, peakMb: one.peakMb + other.peakMb };
    },
    async end() {
      await prometheus.kill();
      await alertmanager.kill();
    },
  };
}

async function started(program: string, address: string, args: readonly string[]): Promise<Running> {
  const running = run(
    program,
    [...args, `--web.listen-address=${address}`, '--log.level=error'],
    process.env,
  );
  await until(
    () =>
      fetch(`http://${address}/-/ready`).then(
        answer => answer.ok,
        () => false,
      ),
    `a ready ${program}`,
  );
  return running;
}

const answerShape = z.object({
  data: z.object({ result: z.array(z.object({ value: z.tuple([z.number(), z.string()]) })) }),
});

/** NaN while it is too busy to say. */
async function countOf(address: string): Promise<number> {
  const answer = await fetch(`http://${address}/api/v1/query?query=count(${EVENTS})`);
  if (!answer.ok) return Number.NaN;
  return Number(answerShape.parse(await answer.json()).data.result[0]?.value[1]);
}

const routing = (world: World): object => ({
  route: { receiver: 'hook', group_by: ['alertname'], group_wait: '1s' },
  receivers: [{ name: 'hook', webhook_configs: [{ url: world.hook.replace(/hook$/, 'other') }] }],
});

const rulesOf = (lookSec: number): object => ({
  groups: [
    {
      name: 'silence',
      interval: `${lookSec}s`,
      rules: [
        {
          alert: 'NoData',
          expr: `increase(${EVENTS}[${WINDOW_SEC}s]) == 0`,
          annotations: { summary: '{{ $labels.component_id }} had no data' },
        },
      ],
    },
  ],
});

const scraping = (world: World, rules: string, alertmanager: string): object => ({
  global: { scrape_interval: `${INTERVAL_SEC}s`, scrape_timeout: `${TIMEOUT_SEC}s` },
  rule_files: [rules],
  alerting: { alertmanagers: [{ static_configs: [{ targets: [alertmanager] }] }] },
  scrape_configs: [
    {
      job_name: 'edge',
      static_configs: Array.from({ length: world.size.pages }, (_, page) => ({
        targets: [world.host],
        labels: { __metrics_path__: `/page/${page}` },
      })),
    },
  ],
});
