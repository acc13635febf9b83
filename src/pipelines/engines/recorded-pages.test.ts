import { describe, expect, it } from 'vitest';
import { names, readTwice } from '../../../test/helpers/engines.ts';
import type { Bench } from '../../../test/helpers/monitor.ts';
import { sample } from '../../../test/helpers/pages.ts';

/** The page of a process that has counted nothing yet, then the recorded one. */
async function readFromStart(engine: string, file: string): Promise<Bench> {
  const page = sample(file);
  return readTwice(engine, page.replace(/^([^#].*) [\d.]+$/gm, '$1 0'), page);
}

describe('syslog-ng', () => {
  it('reads the statistics of 4.2, whose drivers are named by their instance', async () => {
    const bench = await readFromStart('syslog-ng', 'syslog-ng-4.2-stats-prometheus.txt');
    expect(names(bench)).toEqual([
      'input syslog-ng:s_net#0',
      'input syslog-ng:s_local#1',
      'output syslog-ng:d_file#0',
      'output syslog-ng:d_fwd#0',
    ]);
    expect(bench.status('s_net#0').metrics).toEqual({ in_events: 200, in_bytes: 8200 });
    expect(bench.status('s_local#1').metrics).toEqual({ in_events: 12 });
    expect(bench.status('d_file#0')).toMatchObject({
      health: 'Green',
      metrics: { out_events: 212, out_bytes: 8700, dropped: 0, queue_size: 0 },
    });
    expect(bench.status('d_fwd#0')).toMatchObject({
      health: 'Red',
      metrics: { out_events: 0, queue_size: 524_288, queue_capacity: 1_048_576 },
    });
    expect(bench.monitor.components.queueUsage(bench.find('d_fwd#0'))).toBe(50);
  });

  it('reads the statistics of 4.8, with types, requests and what cannot be reached', async () => {
    const bench = await readFromStart('syslog-ng', 'axosyslog-4.8-stats-prometheus.txt');
    expect(names(bench)).toEqual([
      'input afsocket:s_net#0',
      'output http:d_http#0',
      'output afsocket:d_fwd#0',
    ]);
    expect(bench.status('s_net#0').metrics).toEqual({ in_events: 200, in_bytes: 8200 });
    expect(bench.status('d_http#0')).toMatchObject({
      health: 'Yellow',
      metrics: { out_events: 160, errors: 3, queue_size: 40, up: 1 },
    });
    expect(bench.status('d_fwd#0')).toMatchObject({
      health: 'Red',
      error: 'it reports that it is down',
      metrics: { up: 0, queue_capacity: 1_048_576 },
    });
  });
});

describe('alloy', () => {
  it.each(['1.4', '1.11'])('reads the page of %s by the ids of its components', async version => {
    const bench = await readFromStart('alloy', `alloy-${version}-metrics.txt`);
    expect(names(bench)).toEqual([
      'input loki.source.file:loki.source.file.app',
      'input loki.source.syslog:loki.source.syslog.edge',
      'input loki.source.docker:loki.source.docker.all',
      'output loki.write:loki.write.main',
      'output loki.write:loki.write.dead',
      'input otelcol.receiver.otlp:otelcol.receiver.otlp.default',
      'output otelcol.exporter.otlp:otelcol.exporter.otlp.tempo',
      'input prometheus.scrape:prometheus.scrape.nodes',
      'output prometheus.remote_write:prometheus.remote_write.mimir',
    ]);
    expect(bench.status('loki.source.file.app').metrics).toEqual({ in_events: 60 });
    expect(bench.status('loki.source.syslog.edge')).toMatchObject({
      health: 'Yellow',
      metrics: { in_events: 7, errors: 2 },
    });
    expect(bench.status('otelcol.receiver.otlp.default').metrics).toEqual({ in_events: 34 });
    expect(bench.status('prometheus.scrape.nodes').metrics).toEqual({ in_events: 3430 });
    expect(bench.status('loki.write.main')).toMatchObject({
      health: 'Green',
      metrics: { out_events: 61, out_bytes: 9120 },
    });
    expect(bench.status('loki.write.dead')).toMatchObject({
      health: 'Red',
      metrics: { out_events: 0, errors: 11, dropped: 72 },
    });
    expect(bench.status('otelcol.exporter.otlp.tempo').metrics).toMatchObject({
      out_events: 30,
      queue_size: 3,
      queue_capacity: 1000,
    });
    expect(bench.status('prometheus.remote_write.mimir').metrics).toMatchObject({
      out_events: 3430,
      out_bytes: 51_200,
    });
  });
});

describe('kafka-connect', () => {
  it.each([
    ['the rules of Strimzi', 'kafka-connect-jmx-0.20-strimzi-rules.txt', ''],
    ['the names of the exporter itself', 'kafka-connect-jmx-1.0-default-names.txt', ''],
    ["the prefix of Confluent's charts", 'kafka-connect-jmx-1.0-default-names.txt', 'cp_'],
  ])('reads the connectors of a page with %s', async (_, file, prefix) => {
    const page = sample(file).replace(/^kafka/gm, `${prefix}kafka`);
    const atStart = page.replace(/^([^#].*) [\d.]+$/gm, '$1 0');
    const bench = await readTwice('kafka-connect', atStart, page);
    await bench.scrape(page);
    expect(names(bench)).toEqual(['input kafka-connect:orders-db', 'output kafka-connect:search']);
    expect(bench.status('orders-db').metrics).toMatchObject({ in_events: 1500, errors: 0 });
    expect(bench.status('search')).toMatchObject({
      metrics: { out_events: 940, errors: 5, dropped: 2 },
    });
  });

  it('shows a connector Red of which a task failed, where the rules of the exporter show its status', async () => {
    const page = sample('kafka-connect-jmx-0.20-strimzi-rules.txt');
    const bench = await readTwice('kafka-connect', page, page);
    expect(bench.status('orders-db')).toMatchObject({ health: 'Red', metrics: { up: 0 } });
    expect(bench.status('search').metrics.up).toBe(1);
    const restarted = page
      .replace(/^.*"failed".*\n/m, '')
      .concat('kafka_connect_connector_status{connector="orders-db",task="1",status="running",} 1.0\n');
    await bench.scrape(restarted);
    expect(bench.status('orders-db').metrics.up).toBe(1);
    await bench.scrape(restarted.replaceAll('"running"', '"restarting"'));
    expect(bench.status('orders-db').metrics.up).toBe(1);
  });
});

describe('nifi', () => {
  it.each(['nifi-1.23-reporting-task.txt', 'nifi-2.4-flow-metrics.txt'])(
    'reads %s: each reading has its share of what five minutes brought',
    async file => {
      const bench = await readTwice('nifi', sample(file), sample(file));
      await bench.scrape(sample(file));
      expect(names(bench)).toEqual(['input Processor:ListenTCP app', 'output Processor:PublishKafka main']);
      expect(bench.status('ListenTCP app')).toMatchObject({
        health: 'Yellow',
        metrics: { in_events: 20, in_bytes: 4000, blocked: 1 },
      });
      expect(bench.status('PublishKafka main')).toMatchObject({
        health: 'Yellow',
        error: 'its queue is at least 80% full',
        metrics: { out_events: 10, out_bytes: 2000, queue_size: 85, queue_capacity: 100 },
      });
    },
  );

  it('lists a processor once it has moved something, and is silent when five minutes brought nothing', async () => {
    const page = sample('nifi-2.4-flow-metrics.txt');
    const idle = page.replace(/^(nifi_amount[^ ]*.*) [\d.]+$/gm, '$1 0.0');
    const bench = await readTwice('nifi', idle, page);
    await bench.scrape(page);
    const found = bench.status('ListenTCP app').metrics.in_events;
    await bench.scrape(idle);
    await bench.scrape(idle);
    expect(found).toBe(10);
    expect(bench.status('ListenTCP app').metrics.in_events).toBe(10);
    expect(bench.monitor.components.silentMs(bench.find('ListenTCP app'))).toBeGreaterThan(20_000);
  });
});

describe('filebeat', () => {
  const fromStart = (page: string): string =>
    page.replace(/("(?:total|acked|failed|dropped|dead_letter|bytes)"): \d+/g, '$1: 0');

  it('reads the statistics of 7.17, which know no size of the queue', async () => {
    const page = sample('filebeat-7.17-stats.json');
    const bench = await readTwice('filebeat', fromStart(page), page);
    expect(names(bench)).toEqual(['input beat:filebeat', 'output logstash:logstash']);
    expect(bench.status('filebeat').metrics).toMatchObject({ in_events: 20_753, errors: 0, dropped: 0 });
    expect(bench.status('logstash')).toMatchObject({
      health: 'Green',
      metrics: { out_events: 20_734, out_bytes: 24_899_446, errors: 0, queue_capacity: 4096 },
    });
  });

  it('reads the statistics of 9.1, with its queue, and shows an output Red whose events are all sent again', async () => {
    const page = sample('filebeat-9.1-stats.json');
    const bench = await readTwice('filebeat', fromStart(page), page);
    expect(bench.status('elasticsearch')).toMatchObject({
      health: 'Yellow',
      metrics: { out_events: 20_000, errors: 730, dropped: 5, queue_size: 17, queue_capacity: 3200 },
    });
    await bench.scrape(page.replace('"failed": 730', '"failed": 780').replace('24899446', '24999446'));
    expect(bench.status('elasticsearch')).toMatchObject({
      health: 'Red',
      error: 'its requests fail, and nothing was delivered',
    });
  });

  it('begins anew with another process', async () => {
    const page = sample('filebeat-9.1-stats.json');
    const bench = await readTwice(
      'filebeat',
      page,
      page.replace('9684cd3e', '0000cd3e').replaceAll('20753', '25000'),
    );
    expect(bench.status('filebeat').metrics.in_events).toBe(25_000);
  });

  it('lists the inputs that count something where the page is that of inputs', async () => {
    const page = sample('filebeat-9.1-inputs.json');
    const bench = await readTwice(
      'filebeat',
      page,
      page.replace('520,\n  "files', '560,\n  "files').replace('45', '50'),
    );
    expect(names(bench)).toEqual(['input filestream:app-logs', 'input udp:netflow-in']);
    expect(bench.status('app-logs').metrics).toEqual({ in_events: 40, in_bytes: 0, errors: 0 });
    expect(bench.status('netflow-in').metrics).toEqual({ in_events: 5, in_bytes: 0 });
  });
});
