import { Counter } from 'prom-client';
import { expect, it, onTestFinished } from 'vitest';
import { incidentItem, ledgerItem } from './client.ts';
import { installation, logIn, metricsPage, serve, sink, stop, until, webhook } from './harness.ts';
import type { MetricsPage } from './metrics-page.ts';
import type { Sink } from './sink.ts';

/** Counts events of the input `syslog:app` until the returned call. */
function traffic({ registry }: MetricsPage): () => void {
  const counter = new Counter({
    name: 'vector_component_received_events_total',
    help: 'events',
    labelNames: ['component_id', 'component_kind', 'component_type'],
    registers: [registry],
  });
  const labels = { component_id: 'app', component_kind: 'source', component_type: 'syslog' };
  const timer = setInterval(() => counter.inc(labels), 50);
  const end = (): void => clearInterval(timer);
  onTestFinished(end);
  return end;
}

/** `ops` is told of the pipeline and of its input, `team` of the input alone. */
const installed = (page: MetricsPage, ops: Sink, team: Sink) =>
  installation({
    settings: {
      pipelines: [{ id: 'edge', engine: 'vector', url: page.url, interval: '1s', timeout: '500ms' }],
    },
    notifications: {
      targets: [webhook('ops', ops), webhook('team', team)],
      notifications: [
        {
          id: 'lost',
          condition: 'pipeline-unreachable',
          targets: ['ops'],
          conf: { name: 'edge', timeWindow: '4s' },
        },
        {
          id: 'silent',
          condition: 'no-data',
          targets: ['ops', 'team'],
          conf: { name: 'syslog:app', timeWindow: '6s' },
        },
      ],
    },
  });

const toldTo = (hook: Sink): string[] =>
  hook.events().map(({ cribl_notification: notification, status }) => `${notification} ${status}`);

it('tells whom it tells of a page that stops answering nothing of its input, and all others', async () => {
  const [page, ops, team] = [await metricsPage(), await sink(), await sink()];
  traffic(page);
  const server = await serve(installed(page, ops, team));
  const api = await logIn(server.url);
  await until(() => page.served() > 3, 'some readings');
  page.become('hang');
  await until(() => team.events().length > 0, 'the alarm of the input');
  await until(() => ops.events().length > 0, 'the alarm of the pipeline');
  expect(toldTo(ops)).toEqual(['lost ALARM']);
  expect(toldTo(team)).toEqual(['silent ALARM']);
  expect(ops.events()[0]?._raw).toMatch(
    /^Pipeline edge has been unreachable since \d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ: http:\/\/127.0.0.1:\d+: timed out after 0\.5 s waiting for the first byte of the answer$/,
  );
  expect(team.events()[0]?._raw).toMatch(
    /^Source syslog:app had no data for 6s: pipeline unreachable: http:/,
  );

  const incidents = await api.items('/incidents?state=open', incidentItem);
  const lost = incidents.find(({ notification }) => notification === 'lost');
  expect(incidents.find(({ notification }) => notification === 'silent')?.heldBy).toBe(lost?.id);
  expect(await api.items('/deliveries?state=grouped', ledgerItem)).toMatchObject([
    { target: 'ops', heldBecause: expect.stringContaining("pipeline 'edge' is unreachable") },
  ]);

  page.become('well');
  await until(() => team.events().length > 1 && ops.events().length > 1, 'both ends');
  await until(async () => (await api.total('/incidents?state=open')) === 0, 'all incidents to close');
  expect(toldTo(ops)).toEqual(['lost ALARM', 'lost OK']);
  expect(toldTo(team)).toEqual(['silent ALARM', 'silent OK']);
  expect(await api.items('/deliveries?state=skipped', ledgerItem)).toMatchObject([
    { target: 'ops', lastError: 'its incident was over before its pipeline could be read again' },
  ]);
  expect(await stop(server)).toEqual({ code: 0, signal: null });
  expect([...ops.refusals, ...team.refusals]).toEqual([]);
});

it('tells them when the page answers again and the input is silent, also after a crash', async () => {
  const [page, ops, team] = [await metricsPage(), await sink(), await sink()];
  const endTraffic = traffic(page);
  const folders = installed(page, ops, team);
  const first = await serve(folders);
  await until(() => page.served() > 3, 'some readings');
  endTraffic();
  const read = page.served();
  await until(() => page.served() > read + 1, 'the last of the traffic to be read');
  page.become('hang');
  await until(() => team.events().length > 0, 'the alarm of the input');
  await first.kill();
  const second = await serve(folders);
  await until(() => page.requests() > page.served() + 8, 'it to be found unreachable again');
  expect(toldTo(ops)).toEqual(['lost ALARM']);
  page.become('well');
  await until(() => ops.events().length > 2, 'the end of one and the alarm of the other');
  expect(toldTo(ops).sort()).toEqual(['lost ALARM', 'lost OK', 'silent ALARM']);
  expect(toldTo(team)).toEqual(['silent ALARM']);
  expect(await stop(second)).toEqual({ code: 0, signal: null });
});
