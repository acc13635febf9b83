import { expect, it } from 'vitest';
import { inputItem } from './client.ts';
import { installation, logIn, noData, serve, sink, stop, until, webhook } from './harness.ts';
import { lineSink } from './line-sink.ts';
import { rsyslog } from './rsyslog.ts';

const TOKEN = 'token-of-the-syslog-pipeline';

it("tells once that an input of Debian's rsyslog stopped, and once that it came back", async () => {
  const hook = await sink();
  const folders = installation({
    settings: { pipelines: [{ id: 'syslog', engine: 'rsyslog', push: true, token: TOKEN }] },
    notifications: {
      targets: [webhook('hook', hook)],
      notifications: [noData('silent', 'imtcp:edge_in*', '4s')],
    },
  });
  const server = await serve(folders);
  const api = await logIn(server.url);
  const daemon = await rsyslog({
    name: 'edge_in',
    url: `${server.url}/ingest/impstats?instance=host1`,
    token: TOKEN,
  });
  const input = async () =>
    (await api.items('/system/inputs', inputItem)).find(item => item.type === 'imtcp');
  const events = async () => (await input())?.status.metrics.in_events ?? 0;

  const stopFirst = daemon.startSending();
  await until(async () => (await events()) >= 50, '50 counted lines');
  expect(hook.events()).toEqual([]);
  const seen = await input();
  expect(seen).toMatchObject({
    status: { health: 'Green' },
    headgate: { pipeline: 'syslog', engine: 'rsyslog', engineId: expect.stringMatching(/^edge_in/) },
  });

  stopFirst();
  await until(() => hook.events().length > 0, 'the alarm');
  const stopSecond = daemon.startSending();
  await until(() => hook.events().length > 1, 'the resolution');
  const counted = await events();
  await until(async () => (await events()) >= counted + 30, 'more lines after the resolution');
  stopSecond();
  expect(await stop(server)).toEqual({ code: 0, signal: null });

  const [alarm, resolution, ...others] = hook.events();
  const name = `imtcp:${seen?.headgate.engineId}`;
  expect(alarm).toMatchObject({ status: 'ALARM', input: name, _raw: `Source ${name} had no data for 4s` });
  expect(resolution).toMatchObject({ status: 'OK', input: name, incidentId: alarm?.incidentId });
  expect(resolution?._raw).toContain(`Source ${name} is receiving data again after`);
  expect(others).toEqual([]);
  expect(hook.taken).toHaveLength(2);
  expect(hook.refusals).toEqual([]);
});

const about = (id: string, condition: string, conf: object): object => ({
  id,
  condition,
  targets: ['hook'],
  conf: { timeWindow: '3s', ...conf },
});

it("tells of Debian's rsyslog that its destination died, that its queue fills, and that its source stopped", async () => {
  const hook = await sink();
  const destination = await lineSink();
  const folders = installation({
    settings: {
      pipelines: [
        { id: 'syslog', engine: 'rsyslog', push: true, token: TOKEN, queueCapacities: { out_fwd: 50 } },
      ],
    },
    notifications: {
      targets: [webhook('hook', hook)],
      notifications: [
        about('dead', 'unhealthy-dest', { name: 'core.action:out_fwd' }),
        about('full', 'persistent-queue-usage', { name: 'core.action:out_fwd', usageThreshold: 50 }),
        about('silent', 'no-data', { name: 'imtcp:edge_in*' }),
      ],
    },
  });
  const server = await serve(folders);
  const daemon = await rsyslog({
    name: 'edge_in',
    url: `${server.url}/ingest/impstats?instance=host1`,
    token: TOKEN,
    forwardTo: destination.port,
  });
  const told = (status: string): string[] =>
    hook
      .events()
      .filter(event => event.status === status)
      .map(event => event.cribl_notification)
      .sort();
  const stopFirst = daemon.startSending();
  await until(() => destination.received() > 1000, 'lines at the destination');
  expect(hook.events()).toEqual([]);

  await destination.close();
  await until(() => told('ALARM').length === 2, 'the alarms of the destination');
  expect(told('ALARM')).toEqual(['dead', 'full']);
  expect(told('OK')).toEqual([]);
  await destination.open();
  await until(() => told('OK').length === 2, 'the ends of both');

  stopFirst();
  await until(() => told('ALARM').length === 3, 'the alarm of the source');
  const stopSecond = daemon.startSending();
  await until(() => told('OK').length === 3, 'its end');
  stopSecond();
  expect(await stop(server)).toEqual({ code: 0, signal: null });

  const texts = (notification: string): string[] =>
    hook.events().flatMap(event => (event.cribl_notification === notification ? [event._raw] : []));
  expect(texts('dead')).toEqual([
    'Destination core.action:out_fwd is unhealthy: its queue grows, and nothing was delivered',
    expect.stringMatching(/^Destination core\.action:out_fwd is healthy again after /),
  ]);
  expect(texts('full')).toEqual([
    'Persistent Queue usage of core.action:out_fwd has surpassed 50%',
    expect.stringMatching(/^Persistent Queue usage of core\.action:out_fwd is below 50% again after /),
  ]);
  expect(texts('silent')).toEqual([
    expect.stringMatching(/^Source imtcp:edge_in\S* had no data for 3s$/),
    expect.stringMatching(/^Source imtcp:edge_in\S* is receiving data again after /),
  ]);
  expect(hook.refusals).toEqual([]);
});
