import { expect, it } from 'vitest';
import { installation, logIn, noData, serve, serveAtOnce, sink, stop, until, webhook } from './harness.ts';

it('does not end at a SIGHUP that comes while it starts', async () => {
  const starting = serveAtOnce(installation());
  await until(() => starting.stderr().includes('configuration loaded'), 'the start');
  starting.signal('SIGHUP');
  await until(() => starting.stdout().includes('headgate ready'), 'the ready line');
  starting.signal('SIGTERM');
  expect(await starting.ended).toEqual({ code: 0, signal: null });
});

it('stops gracefully when the signal comes twice at once, as npm and timeout send it', async () => {
  const server = await serve(installation());
  server.signal('SIGTERM');
  server.signal('SIGTERM');
  expect(await server.ended).toEqual({ code: 0, signal: null });
});

it('ends at once at a second signal of the other kind', async () => {
  const hook = await sink();
  hook.become('hang');
  const server = await serve(
    installation({
      settings: {},
      notifications: { targets: [webhook('hook', hook)], notifications: [noData('early', 'a:early', '1s')] },
    }),
  );
  await logIn(server.url);
  await until(() => hook.requests.length > 0, 'the attempt');
  server.signal('SIGTERM');
  await until(() => server.stderr().includes('stopping'), 'the stop');
  server.signal('SIGINT');
  expect(await server.ended).toEqual({ code: null, signal: 'SIGINT' });
});

it('stops within seconds though hundreds wait for a target that hangs, and sends them after the next start', async () => {
  const hook = await sink();
  hook.become('hang');
  const names = Array.from({ length: 300 }, (_, index) => `n${index}`);
  const folders = installation({
    settings: {},
    notifications: {
      targets: [webhook('hook', hook)],
      notifications: names.map(name => noData(name, `a:${name}`, '1s')),
    },
  });
  const server = await serve(folders);
  const api = await logIn(server.url);
  await until(async () => (await api.total('/deliveries?state=waiting')) === names.length, 'the deliveries');
  const asked = performance.now();
  server.signal('SIGTERM');
  expect(await server.ended).toEqual({ code: 0, signal: null });
  expect(performance.now() - asked).toBeLessThan(25_000);

  hook.become('accept');
  const next = await serve(folders);
  const told = () => new Set(hook.events().map(event => event.cribl_notification));
  await until(() => told().size === names.length, 'all of them');
  await stop(next);
});
