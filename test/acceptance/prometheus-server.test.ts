import { createServer } from 'node:http';
import { Counter, Registry } from 'prom-client';
import { expect, it, onTestFinished } from 'vitest';
import * as z from 'zod';
import { freePort } from '../helpers/postgres-server.ts';
import { type Api, inputItem } from './client.ts';
import { installation, logIn, noData, serve, sink, stop, until, webhook } from './harness.ts';
import { prometheusServer } from './prometheus-server.ts';
import type { Sink } from './sink.ts';

const TOKEN = 'token-of-the-prometheus-pipeline';
const SOURCE = 'prometheus:app';
/** A pattern waits until something fits it; an exact name that was never seen is told. */
const ANY_SOURCE = 'prometheus:ap*';

const outputItem = z.object({ id: z.string(), status: z.object({ health: z.string() }) });

/** A program with a page of metrics on one address, that can be killed and started anew. */
async function scrapedProgram() {
  const port = await freePort();
  const registry = new Registry();
  new Counter({ name: 'app_requests_total', help: 'requests', registers: [registry] }).inc();
  let end = (): Promise<void> => Promise.resolve();
  async function start(): Promise<void> {
    const server = createServer((_request, response) => {
      void registry.metrics().then(text => response.end(text));
    });
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject).listen(port, '127.0.0.1', resolve);
    });
    end = () =>
      new Promise(resolve => {
        server.close(() => resolve());
        server.closeAllConnections();
      });
  }
  await start();
  onTestFinished(() => end());
  return { address: `127.0.0.1:${port}`, start, kill: () => end() };
}

const healthOf = async (api: Api, path: string): Promise<Record<string, string>> =>
  Object.fromEntries((await api.items(path, outputItem)).map(({ id, status }) => [id, status.health]));

const told = (hook: Sink, notification: string): string[] =>
  hook
    .events()
    .filter(event => event.cribl_notification === notification)
    .map(({ status, _raw }) => `${status} ${_raw}`);

it("takes the remote write of Debian's Prometheus, and sees that its other remote is dead and when a target is", async () => {
  const hook = await sink();
  const app = await scrapedProgram();
  const folders = installation({
    settings: { pipelines: [{ id: 'metrics', engine: 'prometheus', push: true, token: TOKEN }] },
    notifications: {
      targets: [webhook('hook', hook)],
      notifications: [
        noData('silent', ANY_SOURCE, '3s'),
        {
          id: 'dead',
          condition: 'unhealthy-dest',
          targets: ['hook'],
          conf: { name: 'prometheus:*', timeWindow: '3s' },
        },
      ],
    },
  });
  const server = await serve(folders);
  const api = await logIn(server.url);
  // Sent at once, so that what it says of its queues is young.
  const queue_config = {
    batch_send_deadline: '500ms',
    max_shards: 1,
    min_backoff: '100ms',
    max_backoff: '1s',
  };
  await prometheusServer({
    jobs: { app: app.address },
    remotes: [
      {
        name: 'headgate',
        url: `${server.url}/ingest/prometheus/write`,
        authorization: { credentials: TOKEN },
        queue_config,
      },
      { name: 'dead', url: `http://127.0.0.1:${await freePort()}/write`, queue_config },
    ],
  });

  await until(() => told(hook, 'dead').length > 0, 'the alarm of the dead remote');
  expect(told(hook, 'dead')).toEqual([
    expect.stringMatching(/^ALARM Destination prometheus:dead is unhealthy: /),
  ]);
  await until(
    async () => (await healthOf(api, '/system/inputs')).app === 'Green',
    'a scraped target that is well',
  );
  await until(
    async () => (await healthOf(api, '/system/outputs')).headgate === 'Green',
    'a remote that is well',
  );
  expect(await healthOf(api, '/system/outputs')).toEqual({ dead: 'Red', headgate: 'Green' });
  expect(told(hook, 'silent')).toEqual([]);

  await app.kill();
  await until(() => told(hook, 'silent').length > 0, 'the alarm of the killed target');
  expect(await healthOf(api, '/system/inputs')).toEqual({ app: 'Red', self: 'Green' });
  await app.start();
  await until(() => told(hook, 'silent').length > 1, 'the end of the alarm');
  await until(
    async () => (await healthOf(api, '/system/inputs')).app === 'Green',
    'a target that is well again',
  );
  expect(told(hook, 'dead')).toHaveLength(1);
  expect(await stop(server)).toEqual({ code: 0, signal: null });

  expect(told(hook, 'silent')).toEqual([
    `ALARM Source ${SOURCE} had no data for 3s`,
    expect.stringMatching(`^OK Source ${SOURCE} is receiving data again after `),
  ]);
  expect(hook.refusals).toEqual([]);
});

it("reads what Debian's Prometheus federates, tells of a killed target, and of Prometheus itself when that is killed", async () => {
  const hook = await sink();
  const app = await scrapedProgram();
  const prometheus = await prometheusServer({ jobs: { app: app.address } });
  const url = `${prometheus.url}/federate?match[]=${encodeURIComponent('{__name__=~"up|scrape_samples_scraped"}')}`;
  const folders = installation({
    settings: { pipelines: [{ id: 'federated', engine: 'prometheus', url, interval: '1s' }] },
    notifications: { targets: [webhook('hook', hook)], notifications: [noData('silent', ANY_SOURCE, '3s')] },
  });
  const server = await serve(folders);
  const api = await logIn(server.url);
  const inputs = () => api.items('/system/inputs', inputItem);
  await until(
    async () =>
      (await inputs()).some(({ id, status }) => id === 'app' && (status.metrics.in_events ?? 0) > 0),
    'samples of the target',
  );
  expect(await healthOf(api, '/system/inputs')).toEqual({ app: 'Green', self: 'Green' });
  expect(hook.events()).toEqual([]);

  await app.kill();
  await until(() => hook.events().length > 0, 'the alarm of the killed target');
  expect(await healthOf(api, '/system/inputs')).toEqual({ app: 'Red', self: 'Green' });
  await app.start();
  await until(() => hook.events().length > 1, 'its end');

  await prometheus.running.kill();
  await until(() => hook.events().length > 2, 'the alarm of what nobody can read');
  expect(await stop(server)).toEqual({ code: 0, signal: null });
  expect(told(hook, 'silent')).toEqual([
    `ALARM Source ${SOURCE} had no data for 3s`,
    expect.stringMatching(`^OK Source ${SOURCE} is receiving data again after `),
    expect.stringMatching(`^ALARM Source ${SOURCE} had no data for 3s: pipeline unreachable: `),
  ]);
  expect(hook.refusals).toEqual([]);
});
