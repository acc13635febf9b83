import { join } from 'node:path';
import { expect, it } from 'vitest';
import * as z from 'zod';
import { freePort } from '../helpers/postgres-server.ts';
import type { Running } from './bin.ts';
import { answers, daemon } from './daemon.ts';
import { installation, logIn, serve, stop, temporaryFolder, until, writeFileText } from './harness.ts';
import { alarm, end, monitors, POSTING, post } from './posting.ts';

const DAY_MS = 86_400_000;

const alerts = z.array(
  z.object({
    labels: z.object({ alertname: z.string(), subject: z.string() }),
    startsAt: z.iso.datetime(),
    endsAt: z.iso.datetime(),
  }),
);

/** Debian's Alertmanager, which remembers no alerts of a process before. */
async function alertmanager() {
  const folder = temporaryFolder();
  const address = `127.0.0.1:${await freePort()}`;
  const url = `http://${address}`;
  const file = writeFileText(
    folder,
    'alertmanager.yml',
    JSON.stringify({ route: { receiver: 'nobody' }, receivers: [{ name: 'nobody' }] }),
  );
  const start = (): Promise<Running> =>
    daemon(
      'prometheus-alertmanager',
      [
        `--config.file=${file}`,
        `--storage.path=${join(folder, 'data')}`,
        `--web.listen-address=${address}`,
        '--cluster.listen-address=',
        '--log.level=error',
      ],
      () => answers(`${url}/-/ready`),
    );
  const active = async () => alerts.parse(await (await fetch(`${url}/api/v2/alerts?active=true`)).json());
  return { url, start, active };
}

it('opens, opens again after Alertmanager has forgotten it, and closes', async () => {
  const { url, start, active } = await alertmanager();
  const first = await start();
  const folders = installation({
    settings: { pipelines: [POSTING], delivery: { retrySchedule: ['0s', '1s'] } },
    notifications: {
      targets: [{ id: 'am', type: 'webhook', preset: 'alertmanager', url: `${url}/api/v2/alerts` }],
      notifications: [monitors('am')],
    },
  });
  const server = await serve(folders);
  await post(server, [alarm('cpu'), alarm('disk')]);
  await until(async () => (await active()).length === 2, 'both alerts');
  const opened = await active();
  const subjects = opened.map(({ labels }) => labels.subject).sort();
  expect(opened[0]?.labels.alertname).toBe('monitors');
  for (const { startsAt, endsAt } of opened)
    expect(Date.parse(endsAt) - Date.parse(startsAt)).toBeLessThanOrEqual(DAY_MS);

  await first.kill();
  await start();
  expect(await active()).toEqual([]);
  expect(await stop(server)).toEqual({ code: 0, signal: null });
  const next = await serve(folders);
  await until(async () => (await active()).length === 2, 'both alerts again');
  const again = await active();
  expect(again.map(({ labels }) => labels.subject).sort()).toEqual(subjects);
  expect(again.map(({ startsAt }) => startsAt).sort()).toEqual(opened.map(({ startsAt }) => startsAt).sort());
  for (const { endsAt } of again) expect(Date.parse(endsAt)).toBeGreaterThan(Date.now() + DAY_MS - 60_000);

  await post(next, [end('cpu')]);
  await until(async () => (await active()).length === 1, 'one alert');
  await post(next, [end('disk')]);
  await until(async () => (await active()).length === 0, 'no alert');
  const api = await logIn(next.url);
  expect(await api.total('/deliveries?state=sent')).toBe(4);
  expect(await stop(next)).toEqual({ code: 0, signal: null });
});
