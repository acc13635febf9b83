import { createSocket } from 'node:dgram';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { freePort } from '../helpers/postgres-server.ts';
import type { Running } from './bin.ts';
import { inputItem } from './client.ts';
import { answers, daemon, end } from './daemon.ts';
import {
  installation,
  logIn,
  noData,
  serve,
  sink,
  stop,
  temporaryFolder,
  until,
  webhook,
  writeFileText,
} from './harness.ts';

/** An exporter that a pipeline with rules of its own reads, and what of it has no data when. */
interface Exporter {
  readonly url: string;
  readonly rules: readonly object[];
  /** As a notification names it: a pattern, as nothing is known of it at the start. */
  readonly pattern: string;
  readonly input: string;
  /** Its data stops; gives back how it goes on. */
  silence(): Promise<() => Promise<void>>;
  /** What the alarm adds. */
  readonly reason: string;
}

/** Loopback is a source whose traffic the tests themselves make. */
async function nodeExporter(): Promise<Exporter> {
  const address = `127.0.0.1:${await freePort()}`;
  const url = `http://${address}/metrics`;
  // Debian's package leaves loopback out.
  const flags = [
    '--collector.disable-defaults',
    '--collector.netdev',
    '--collector.netdev.device-exclude=^$',
    '--log.level=error',
  ];
  const start = (): Promise<Running> =>
    daemon('prometheus-node-exporter', [`--web.listen-address=${address}`, ...flags], () => answers(url));
  const first = await start();
  return {
    url,
    rules: [
      {
        match: '^node_network_receive_bytes_total$',
        where: { device: 'lo' },
        id: 'device',
        kind: 'input',
        metric: 'in_bytes',
      },
      {
        match: '^node_network_receive_packets_total$',
        where: { device: 'lo' },
        id: 'device',
        kind: 'input',
        metric: 'in_events',
      },
    ],
    pattern: 'custom:l*',
    input: 'custom:lo',
    async silence() {
      await end(first);
      return async () => void (await start());
    },
    reason: `: pipeline unreachable: http://${address}: `,
  };
}

/** Events come to it by StatsD. */
async function collectd(): Promise<Exporter> {
  const folder = temporaryFolder();
  const port = await freePort();
  const statsd = await freePort();
  const configuration = writeFileText(
    folder,
    'collectd.conf',
    `Hostname "edge1"
FQDNLookup false
Interval 1
BaseDir "${folder}"
PIDFile "${join(folder, 'pid')}"
LoadPlugin statsd
<Plugin statsd>
  Host "127.0.0.1"
  Port "${statsd}"
</Plugin>
LoadPlugin write_prometheus
<Plugin write_prometheus>
  Host "127.0.0.1"
  Port "${port}"
</Plugin>
`,
  );
  const url = `http://127.0.0.1:${port}/metrics`;
  await daemon('collectd', ['-f', '-C', configuration], () => answers(url));
  const socket = createSocket('udp4');
  let timer: NodeJS.Timeout | undefined;
  const send = async (): Promise<void> => {
    timer = setInterval(() => socket.send('app.lines:3|c', statsd, '127.0.0.1'), 100);
  };
  const cease = (): void => clearInterval(timer);
  onTestFinished(() => {
    cease();
    socket.close();
  });
  await send();
  return {
    url,
    rules: [{ match: '^collectd_statsd_derive_total$', id: 'statsd', kind: 'input', metric: 'in_events' }],
    pattern: 'custom:app*',
    input: 'custom:app.lines',
    async silence() {
      cease();
      return send;
    },
    reason: '',
  };
}

it.each([
  { name: 'prometheus-node-exporter', open: nodeExporter },
  { name: 'collectd', open: collectd },
])(
  "reads Debian's $name, by rules of one's own, and tells that its data stopped and came back",
  async ({ open }) => {
    const hook = await sink();
    const { url, rules, pattern, input, silence, reason } = await open();
    const folders = installation({
      settings: { pipelines: [{ id: 'edge', engine: 'custom', url, interval: '1s', rules }] },
      notifications: { targets: [webhook('hook', hook)], notifications: [noData('silent', pattern, '3s')] },
    });
    const server = await serve(folders);
    const api = await logIn(server.url);
    const seen = async () => (await api.items('/system/inputs', inputItem))[0];
    await until(async () => ((await seen())?.status.metrics.in_events ?? 0) > 10, 'ten events');
    expect(await seen()).toMatchObject({ status: { health: 'Green' }, headgate: { engine: 'custom' } });
    expect(hook.events()).toEqual([]);

    const goOn = await silence();
    await until(() => hook.events().length > 0, 'the alarm');
    await goOn();
    await until(() => hook.events().length > 1, 'its end');
    await until(async () => (await seen())?.status.health === 'Green', 'an input that is well again');
    expect(await stop(server)).toEqual({ code: 0, signal: null });

    const [alarm, resolution, ...others] = hook.events();
    expect(alarm).toMatchObject({ status: 'ALARM', input });
    expect(alarm?._raw).toContain(`Source ${input} had no data for 3s${reason}`);
    expect(resolution).toMatchObject({ status: 'OK', input, incidentId: alarm?.incidentId });
    expect(others).toEqual([]);
    expect(hook.refusals).toEqual([]);
  },
);
