import { Counter, Gauge, type Registry } from 'prom-client';
import { expect, it, onTestFinished } from 'vitest';
import { type Api, engineItem, inputItem } from './client.ts';
import { installation, logIn, metricsPage, noData, serve, sink, stop, until, webhook } from './harness.ts';
import type { MetricsPage } from './metrics-page.ts';

/** An input as its engine counts it, with a record of what it really counted. */
interface Simulator {
  /** Counts events now and then until the returned call. */
  startTraffic(): () => void;
  /** Counts so many events at once. */
  burst(count: number): void;
  /** All that was ever counted, over restarts of the counter. */
  counted(): number;
  /** The process of the engine starts anew. `atOnce` events are counted before anybody can look. */
  restart(atOnce: number): void;
  /** The series goes, as an idle one does after a while, and begins at 0 when it comes back. */
  vanish(): void;
}

interface Engine {
  readonly engine: string;
  /** The subject's name. */
  readonly input: string;
  readonly simulate: (registry: Registry) => Simulator;
}

function simulator(parts: {
  readonly add: (count: number) => void;
  readonly vanish: () => void;
  readonly restarted: () => void;
}): Simulator {
  let counted = 0;
  const add = (count: number): void => {
    counted += count;
    parts.add(count);
  };
  add(1000);
  return {
    startTraffic() {
      const timer = setInterval(() => add(3), 50);
      const end = (): void => clearInterval(timer);
      onTestFinished(end);
      return end;
    },
    burst: add,
    counted: () => counted,
    restart(atOnce) {
      parts.vanish();
      parts.restarted();
      add(atOnce);
    },
    vanish: parts.vanish,
  };
}

/** Of an idle input that stays on the page when the other one vanishes, so that the page is seen to be good. */
function beginAnew(counter: Counter, idle: Record<string, string>): void {
  counter.remove(idle);
  counter.inc(idle, 0);
}

const vector: Engine = {
  engine: 'vector',
  input: 'syslog:app',
  simulate(registry) {
    const counter = new Counter({
      name: 'vector_component_received_events_total',
      help: 'events',
      labelNames: ['component_id', 'component_kind', 'component_type', 'host'],
      registers: [registry],
    });
    new Gauge({ name: 'vector_build_info', help: 'build', registers: [registry] }).set(1);
    const labels = { component_id: 'app', component_kind: 'source', component_type: 'syslog', host: 'h1' };
    const idle = { ...labels, component_id: 'idle' };
    counter.inc(idle, 1);
    return simulator({
      add: count => counter.inc(labels, count),
      vanish: () => counter.remove(labels),
      restarted: () => beginAnew(counter, idle),
    });
  },
};

const otelcol: Engine = {
  engine: 'otelcol',
  input: 'syslog:syslog/app',
  simulate(registry) {
    const records = new Counter({
      name: 'otelcol_receiver_accepted_log_records',
      help: 'records',
      labelNames: ['receiver', 'transport'],
      registers: [registry],
    });
    const start = new Gauge({
      name: 'otelcol_process_start_time_seconds',
      help: 'start',
      registers: [registry],
    });
    start.set(Date.now() / 1000 - 3600);
    const labels = { receiver: 'syslog/app', transport: 'tcp' };
    const idle = { ...labels, receiver: 'syslog/idle' };
    records.inc(idle, 1);
    return simulator({
      add: count => records.inc(labels, count),
      vanish: () => records.remove(labels),
      restarted: () => {
        beginAnew(records, idle);
        // A process takes a moment to start, and the next page is read a second later.
        start.set(Date.now() / 1000 + 0.5);
      },
    });
  },
};

const fluentBit: Engine = {
  engine: 'fluent-bit',
  input: 'tail:tail.0',
  simulate(registry) {
    const records = new Counter({
      name: 'fluentbit_input_records_total',
      help: 'records',
      labelNames: ['name'],
      registers: [registry],
    });
    new Gauge({ name: 'fluentbit_uptime', help: 'uptime', registers: [registry] }).set(1);
    const labels = { name: 'tail.0' };
    const idle = { name: 'tail.1' };
    records.inc(idle, 1);
    return simulator({
      add: count => records.inc(labels, count),
      vanish: () => records.remove(labels),
      restarted: () => beginAnew(records, idle),
    });
  },
};

const inputNamed = async (api: Api, pipeline: string) =>
  (await api.items('/system/inputs', inputItem)).find(
    item => item.headgate.pipeline === pipeline && !/idle|tail\.1/.test(item.headgate.engineId),
  );

/** Waits for so many more good pages to be read. */
async function pages(page: MetricsPage, count: number): Promise<void> {
  const wanted = page.served() + count;
  await until(() => page.served() >= wanted, `${count} more pages`);
}

it.each([
  { ...vector, atOnce: 5, what: 'a smaller value' },
  { ...fluentBit, atOnce: 5, what: 'a smaller value' },
  { ...otelcol, atOnce: 5000, what: 'a larger value and a newer start time' },
])(
  'loses nothing of $engine over a restart with $what and a vanished series, and tells only true outages',
  async ({ engine, input, simulate, atOnce }) => {
    const page = await metricsPage();
    const hook = await sink();
    const app = simulate(page.registry);
    const folders = installation({
      settings: { pipelines: [{ id: 'edge', engine, url: page.url, interval: '1s' }] },
      notifications: { targets: [webhook('hook', hook)], notifications: [noData('silent', input, '4s')] },
    });
    const server = await serve(folders);
    const api = await logIn(server.url);
    // The first page is where counting begins.
    await until(() => page.served() > 0, 'the first page');
    const before = app.counted();
    let stopTraffic = app.startTraffic();
    await pages(page, 2);
    await page.afterNextPage(() => app.restart(atOnce));
    await pages(page, 2);
    await page.afterNextPage(() => {
      stopTraffic();
      app.vanish();
    });
    await pages(page, 1);
    // More than before it went: a reborn counter counts in full all the same.
    app.burst(20_000);
    stopTraffic = app.startTraffic();
    await pages(page, 2);

    stopTraffic();
    await until(() => hook.events().length > 0, 'the alarm of silence');
    expect((await inputNamed(api, 'edge'))?.status.metrics.in_events).toBe(app.counted() - before);

    stopTraffic = app.startTraffic();
    await until(() => hook.events().length > 1, 'the resolution');

    page.become('failing');
    await until(() => hook.events().length > 2, 'the alarm of an unreadable page');
    expect(await inputNamed(api, 'edge')).toMatchObject({ status: { health: 'Red' } });
    page.become('well');
    await until(() => hook.events().length > 3, 'the second resolution');
    stopTraffic();
    await pages(page, 2);
    await until(
      async () => (await inputNamed(api, 'edge'))?.status.metrics.in_events === app.counted() - before,
      'every event to be counted, those of the outage included',
    );
    expect(await stop(server)).toEqual({ code: 0, signal: null });

    const origin = new URL(page.url).origin;
    expect(hook.events().map(({ status, input: name, _raw }) => [status, name, _raw])).toEqual([
      ['ALARM', input, `Source ${input} had no data for 4s`],
      ['OK', input, expect.stringContaining('is receiving data again after')],
      ['ALARM', input, `Source ${input} had no data for 4s: pipeline unreachable: ${origin}: answered 500`],
      ['OK', input, expect.stringContaining('is receiving data again after')],
    ]);
    expect(hook.taken).toHaveLength(4);
    expect(hook.refusals).toEqual([]);
  },
);

it('says what is wrong with each bad page and reads the good one undisturbed', async () => {
  const moods = ['hang', 'failing', 'huge', 'garbage'] as const;
  const good = await metricsPage();
  const hook = await sink();
  const app = vector.simulate(good.registry);
  const bad = await Promise.all(
    moods.map(async mood => {
      const page = await metricsPage();
      page.become(mood);
      return { id: mood, engine: 'vector', url: page.url, interval: '1s', timeout: '1s' };
    }),
  );
  const closed = { id: 'closed', engine: 'vector', url: 'http://127.0.0.1:9/metrics', interval: '1s' };
  const folders = installation({
    settings: {
      pipelines: [...bad, closed, { id: 'good', engine: 'vector', url: good.url, interval: '1s' }],
    },
    notifications: {
      targets: [webhook('hook', hook)],
      notifications: [noData('silent', 'syslog:app', '5s')],
    },
  });
  const server = await serve(folders);
  const api = await logIn(server.url);
  await until(() => good.served() > 0, 'the first page');
  const before = app.counted();
  const stopTraffic = app.startTraffic();
  const engines = () => api.items('/system/engines', engineItem);
  await until(
    async () => (await engines()).filter(({ state }) => state === 'unreachable').length === 5,
    'five unreachable pipelines',
  );
  await pages(good, 8);
  const origin = (id: string): string => new URL(bad.find(item => item.id === id)?.url ?? '').origin;
  expect(Object.fromEntries((await engines()).map(({ id, state, error }) => [id, error ?? state]))).toEqual({
    hang: expect.stringMatching(`^${origin('hang')}: .*(within|timed out|time)`),
    failing: `${origin('failing')}: answered 500`,
    huge: `${origin('huge')}: the page is larger than 16777216 bytes; raise maxBytes or expose less`,
    garbage: expect.stringContaining('not Prometheus text: line 1 is not a metric name and a value'),
    closed: expect.stringMatching(/^http:\/\/127\.0\.0\.1:9: .*refused/i),
    good: 'reachable',
  });
  expect(hook.events()).toEqual([]);
  stopTraffic();
  await until(() => hook.events().length > 0, 'the alarm of the good pipeline');
  expect(hook.events()).toMatchObject([{ status: 'ALARM', input: 'syslog:app' }]);
  expect(await inputNamed(api, 'good')).toMatchObject({
    status: { metrics: { in_events: app.counted() - before } },
  });
  expect(await stop(server)).toEqual({ code: 0, signal: null });
});
