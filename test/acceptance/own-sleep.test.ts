import { Counter } from 'prom-client';
import { expect, it, onTestFinished } from 'vitest';
import { installation, metricsPage, serve, sink, stop, until, webhook } from './harness.ts';

const EVENT_MS = 50;

it('takes no time in which the process was stopped for the silence of anything', async () => {
  const [page, hook] = [await metricsPage(), await sink()];
  const labels = { component_id: 'app', component_kind: 'source', component_type: 'syslog' };
  const events = new Counter({
    name: 'vector_component_received_events_total',
    help: 'events',
    labelNames: Object.keys(labels),
    registers: [page.registry],
  });
  let counted = 0;
  const timer = setInterval(() => {
    counted++;
    events.inc(labels);
  }, EVENT_MS);
  onTestFinished(() => clearInterval(timer));
  const rule = (id: string, condition: string, name: string): object => ({
    id,
    condition,
    targets: ['hook'],
    conf: { name, timeWindow: '6s' },
  });
  const server = await serve(
    installation({
      settings: {
        pipelines: [{ id: 'edge', engine: 'vector', url: page.url, interval: '1s', timeout: '500ms' }],
      },
      notifications: {
        targets: [webhook('hook', hook)],
        notifications: [
          rule('silent', 'no-data', 'syslog:app'),
          rule('red', 'unhealthy-source', 'syslog:app'),
          rule('lost', 'pipeline-unreachable', 'edge'),
        ],
      },
    }),
  );
  // A whole window is observed before.
  await until(() => page.served() >= 8, 'some readings');
  server.signal('SIGSTOP');
  const stoppedAt = counted;
  // The input counts on for 15 seconds.
  await until(() => counted >= stoppedAt + 15_000 / EVENT_MS, 'events while the process is stopped');
  server.signal('SIGCONT');
  const servedBefore = page.served();
  await until(() => page.served() >= servedBefore + 8, 'readings after it goes on');
  expect(hook.events()).toEqual([]);
  await until(
    () => server.records().some(({ msg }) => String(msg).startsWith('this process did not run')),
    'the log of the pause',
  );

  // It still alerts of a real silence.
  clearInterval(timer);
  await until(() => hook.events().length > 0, 'the alarm');
  expect(hook.events()).toMatchObject([{ cribl_notification: 'silent', status: 'ALARM' }]);
  await stop(server);
});
