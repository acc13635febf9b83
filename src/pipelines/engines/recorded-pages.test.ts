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
  });
});
