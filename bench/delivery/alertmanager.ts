import { spawnSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { run } from '../../test/acceptance/bin.ts';
import { until } from '../../test/helpers/until.ts';
import { freePort } from '../free-port.ts';
import { type BenchEvent, filled, type RunningSystem, type Setup, type SystemKind } from './system.ts';

const PROGRAM = 'prometheus-alertmanager';

/** Undefined where it is not installed. */
export function findAlertmanager(): SystemKind | undefined {
  const told = spawnSync(PROGRAM, ['--version'], { encoding: 'utf8' });
  const version = /version (\S+)/.exec(`${told.stdout}${told.stderr}`)?.[1];
  return version === undefined ? undefined : { name: 'Alertmanager', version, start };
}

/** Each hook has a receiver of its own, so that none shares the fate of another. JSON is YAML. */
function configuration(setup: Setup, round: number): string {
  const { hooks, groupWaitSec, firstWaitSec = 0, againSec = 300, isQuiet = false } = setup;
  const receivers = isQuiet ? [] : hooks;
  return JSON.stringify({
    route: {
      receiver: 'nobody',
      group_by: groupWaitSec === undefined ? ['...'] : ['group'],
      group_wait: `${groupWaitSec ?? firstWaitSec}s`,
      group_interval: `${againSec}s`,
      repeat_interval: `${4 + round}h`,
      routes: receivers.map(({ name }) => ({ receiver: name, continue: true })),
    },
    receivers: [
      { name: 'nobody' },
      ...receivers.map(({ name, url }) => ({ name, webhook_configs: [{ url, send_resolved: true }] })),
    ],
  });
}

const answers = async (url: string, method: string): Promise<boolean> =>
  fetch(url, { method }).then(
    answer => answer.ok,
    () => false,
  );

async function start(setup: Setup): Promise<RunningSystem> {
  const file = join(setup.folder, 'alertmanager.yml');
  mkdirSync(setup.folder, { recursive: true });
  writeFileSync(file, configuration(setup, 0));
  const address = `127.0.0.1:${await freePort()}`;
  const origin = `http://${address}`;
  const running = run(
    PROGRAM,
    [
      `--config.file=${file}`,
      `--storage.path=${join(setup.folder, 'data')}`,
      `--web.listen-address=${address}`,
      '--cluster.listen-address=',
      '--log.level=error',
    ],
    process.env,
  );
  await until(() => answers(`${origin}/-/ready`, 'GET'), 'a ready Alertmanager');
  return {
    pid: running.pid,
    origin,
    request: (events, sent) => ({
      path: '/api/v2/alerts',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(events.map(event => alertOf(event, sent))),
    }),
    async reload(round) {
      writeFileSync(file, configuration(setup, round));
      if (!(await answers(`${origin}/-/reload`, 'POST'))) throw new Error('Alertmanager did not reload');
    },
    list: { path: '/api/v2/alerts', headers: {} },
    kill: running.kill,
  };
}

const alertOf = ({ key, state, group, ageSec = 0 }: BenchEvent, sent: number): object =>
  filled(text => ({
    labels: { alertname: 'bench', key, ...(group !== undefined && { group }) },
    annotations: { sent: String(sent), text },
    startsAt: new Date(sent - ageSec * 1000 - (state === 'OK' ? 1000 : 0)).toISOString(),
    ...(state === 'OK' && { endsAt: new Date(sent).toISOString() }),
  }));
