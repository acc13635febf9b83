import { expect, it } from 'vitest';
import { inputItem } from './client.ts';
import { installation, logIn, noData, serve, sink, stop, until, webhook } from './harness.ts';
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
