import { describe, expect, it } from 'vitest';
import { names, readTwice } from '../../../test/helpers/engines.ts';
import { startBench, URL_OF } from '../../../test/helpers/monitor.ts';
import { sample } from '../../../test/helpers/pages.ts';

describe('fluent-bit', () => {
  const page = sample('fluent-bit-5.1-api-v2-metrics-prometheus.txt');
  const atStart = page.replace(/(_total\{.*\}) \d+/g, '$1 0');

  it('lists plugins by alias or type, without the inputs that the engine makes for itself', async () => {
    const bench = await readTwice(
      'fluent-bit',
      atStart,
      `${page}fluentbit_input_records_total{name="tail.0"} 1\n`,
    );
    expect(names(bench)).toEqual([
      'input fluent-bit:app_tcp',
      'input fluent-bit:flood',
      'output fluent-bit:ok_file',
      'output fluent-bit:dead_http',
      'output fluent-bit:rw',
      'output fluent-bit:otlp',
      'input tail:tail.0',
    ]);
  });

  it('recognises a dead output by its retries, though its error counter stays 0', async () => {
    const bench = await readTwice('fluent-bit', atStart, page);
    expect(bench.status('dead_http')).toMatchObject({
      health: 'Red',
      metrics: { out_events: 0, out_bytes: 0, errors: 13, dropped: 2786, queue_size: 0, queue_capacity: 100 },
      lastDataAt: null,
    });
    expect(bench.status('ok_file')).toMatchObject({
      health: 'Green',
      metrics: { out_events: 500, out_bytes: 17890 },
    });
  });

  it('shows a paused input as blocked', async () => {
    const bench = await readTwice('fluent-bit', atStart, page);
    expect(bench.status('flood')).toMatchObject({
      health: 'Yellow',
      metrics: { in_events: 4572, blocked: 1 },
    });
    expect(bench.status('app_tcp')).toMatchObject({
      health: 'Green',
      metrics: { in_bytes: 17890, blocked: 0 },
    });
  });

  it.each([
    ['/api/v1/metrics', '{"input":{"tail.0":{"records":5,"bytes":60}}}'],
    ['/api/v2/metrics', '2026-07-01T00:00:00Z fluentbit_uptime{hostname="h"} = 44'],
  ])('names the right address where the page is that of %s', async (path, page) => {
    const url = `http://edge.test:2020${path}`;
    const bench = await startBench({ id: 'edge', engine: 'fluent-bit', url });
    bench.pages.serve(url, page);
    await bench.clock.advance(10_000);
    expect(bench.monitor.components.pipeline('edge')?.error).toMatch(
      /not Prometheus text: line 1 .*; fluent-bit shows its metrics at \/api\/v2\/metrics\/prometheus$/,
    );
  });
});

describe('prometheus', () => {
  const page = sample('prometheus-2.42-self-remote_write-one-down.txt');
  const atStart = page.replace(/(_total\{.*\}) \d+/g, '$1 0').replace(/(pending\{.*\}) \d+/g, '$1 0');

  it('does not take attempts for deliveries', async () => {
    const bench = await readTwice('prometheus', atStart, page);
    expect(bench.status('down')).toMatchObject({
      health: 'Red',
      metrics: { out_events: 100, out_bytes: 0, errors: 8200, queue_size: 699, queue_capacity: 500 },
    });
    expect(bench.status('good')).toMatchObject({
      health: 'Green',
      metrics: { out_events: 8695, out_bytes: 188391, errors: 0, queue_size: 60, queue_capacity: 500 },
    });
  });

  it('takes back what an attempt in flight counted too early', async () => {
    const sent = (total: number, retried: number): string =>
      page
        .replace(/(samples_total\{remote_name="down".*\}) \d+/, `$1 ${total}`)
        .replace(/(retried_total\{remote_name="down".*\}) \d+/, `$1 ${retried}`);
    const bench = await readTwice('prometheus', sent(8300, 8200), sent(8400, 8200));
    expect(bench.status('down').metrics.out_events).toBe(100);
    await bench.scrape(sent(8400, 8300));
    await bench.scrape(sent(8500, 8300));
    expect(bench.status('down').metrics.out_events).toBe(100);
  });

  it('counts the samples of each new federated scrape, and sees a job that is down', async () => {
    const page = sample('prometheus-2.42-federate.txt');
    const next = page.replaceAll('1795824483', '1795824498');
    const bench = await readTwice('prometheus', page, next);
    await bench.scrape(next);
    expect(bench.status('node')).toMatchObject({ health: 'Green', metrics: { in_events: 505, up: 1 } });
    expect(bench.status('dead')).toMatchObject({
      health: 'Red',
      error: 'it reports that it is down',
      metrics: { in_events: 0, up: 0 },
    });
  });
});

describe('otelcol', () => {
  it.each([
    'otelcol_receiver_accepted_log_records',
    'otelcol_receiver_accepted_log_records_total',
    'otelcol_receiver_accepted_spans__spans__total',
    'otelcol_receiver_accepted_metric_points',
    'otelcol_receiver_accepted_log_records__records__total',
    'otelcol_receiver_accepted_log_records__records_',
    'otelcol_receiver_accepted_profile_samples_total',
  ])('reads %s', async name => {
    const page = (value: number): string =>
      `${name}{receiver="syslog/app",transport="tcp",otel_scope_name="x"} ${value}\n`;
    const bench = await readTwice('otelcol', page(1200), page(1205));
    expect(names(bench)).toEqual(['input syslog:syslog/app']);
    expect(bench.status('syslog/app').metrics.in_events).toBe(5);
    expect(bench.find('syslog/app').id).toBe('syslog_app');
  });

  it("reads the page of OpenTelemetry's own exporter", async () => {
    const page = sample('otel-js-prometheus-exporter.txt');
    const bench = await readTwice(
      'otelcol',
      page,
      page.replace('otel_scope_name="x"} 5', 'otel_scope_name="x"} 9'),
    );
    expect(bench.status('syslog/app').metrics.in_events).toBe(4);
  });

  /** What 0.100 shows at its own port, 0.130 with a reader of its own, and 0.147 at its own port. */
  const VERSIONS = [
    ['0.100', (name: string) => name, 'service_name="otelcol"'],
    ['0.130', (name: string) => `${name}__records__total`, 'otel_scope_name="x",otel_scope_version=""'],
    ['0.147', (name: string) => `${name}_total`, 'server_address="b",url_path="/v1/logs"'],
  ] as const;

  it.each(VERSIONS)('reads the names of %s', async (_, named, labels) => {
    const page = (n: number): string => `
${named('otelcol_receiver_accepted_log_records')}{receiver="otlp",transport="grpc",${labels}} ${n}
${named('otelcol_receiver_failed_log_records')}{receiver="otlp",transport="grpc",${labels}} ${n}
${named('otelcol_exporter_sent_log_records')}{exporter="otlp_http/b",${labels}} ${2 * n}
${named('otelcol_exporter_send_failed_log_records')}{exporter="otlp_http/b",error_type="Unavailable",${labels}} ${n}
otelcol_exporter_queue_size{exporter="otlp_http/b",${labels}} 7
otelcol_exporter_in_flight_requests{exporter="otlp_http/b",${labels}} 1
otelcol_process_uptime_seconds_total{${labels}} 30
`;
    const bench = await readTwice('otelcol', page(0), page(4));
    expect(names(bench)).toEqual(['input otlp:otlp', 'output otlp_http:otlp_http/b']);
    expect(bench.status('otlp').metrics).toEqual({ in_events: 4, errors: 4 });
    expect(bench.status('otlp_http/b').metrics).toEqual({ out_events: 8, errors: 4, queue_size: 7 });
  });

  it('reads a page whose names begin otherwise, where the pipeline says how', async () => {
    const page = (n: number): string => `edge_receiver_accepted_spans_total{receiver="otlp"} ${n}\n`;
    const bench = await readTwice('otelcol', page(1), page(5), { namespace: 'edge' });
    expect(bench.status('otlp').metrics.in_events).toBe(4);
  });

  it('adds the signals, takes refusals for errors and blocking, and shows the fullest queue', async () => {
    const page = (n: number): string => `
otelcol_receiver_accepted_log_records{receiver="otlp",transport="grpc"} ${n}
otelcol_receiver_accepted_spans{receiver="otlp",transport="grpc"} ${n}
otelcol_receiver_refused_spans{receiver="otlp",transport="grpc"} ${n}
otelcol_exporter_sent_log_records{exporter="otlp/prod"} ${n}
otelcol_exporter_send_failed_log_records{exporter="otlp/prod"} ${n}
otelcol_exporter_enqueue_failed_log_records{exporter="otlp/prod"} ${n}
otelcol_exporter_queue_size{exporter="otlp/prod",data_type="logs"} 990
otelcol_exporter_queue_size{exporter="otlp/prod",data_type="traces"} 0
otelcol_exporter_queue_capacity{exporter="otlp/prod",data_type="logs"} 1000
otelcol_exporter_queue_capacity{exporter="otlp/prod",data_type="traces"} 1000
`;
    const bench = await readTwice('otelcol', page(0), page(3));
    expect(bench.status('otlp')).toMatchObject({
      health: 'Yellow',
      metrics: { in_events: 6, errors: 3, blocked: 1 },
    });
    expect(bench.status('otlp/prod')).toMatchObject({
      health: 'Yellow',
      metrics: { out_events: 3, errors: 3, dropped: 3, queue_size: 990, queue_capacity: 1000 },
    });
  });
});

describe('custom', () => {
  it('follows the rules of its user', async () => {
    const bench = await startBench({
      id: 'edge',
      engine: 'custom',
      url: URL_OF('edge'),
      rules: [
        {
          match: '^in_total$',
          where: { dir: 'in' },
          id: 'name',
          type: 'kind',
          kind: 'input',
          metric: 'in_events',
        },
        { match: '^depth$', id: 'name', kind: 'output', metric: 'queue_size', fold: 'sum' },
      ],
    });
    const page = (n: number): string =>
      `in_total{dir="in",name="a",kind="udp"} ${n}\nin_total{dir="out",name="b"} ${n}\ndepth{name="q",p="1"} 2\ndepth{name="q",p="2"} 3\n`;
    await bench.scrape(page(1));
    await bench.scrape(page(4));
    expect(names(bench)).toEqual(['input udp:a', 'output custom:q']);
    expect(bench.status('a').metrics).toEqual({ in_events: 3 });
    expect(bench.status('q').metrics).toEqual({ queue_size: 5 });
  });
});

describe('telegraf', () => {
  const page = (written: number, size: number): string =>
    [
      `internal_gather_metrics_gathered{input="cpu",_id="1"} ${written}`,
      `internal_gather_metrics_gathered{alias="shop",input="http"} ${written}`,
      `internal_gather_errors{input="cpu"} 0`,
      `internal_write_metrics_written{alias="lake",output="influxdb"} ${written}`,
      `internal_write_errors{alias="lake",output="influxdb"} 0`,
      `internal_write_metrics_dropped{alias="lake",output="influxdb"} 0`,
      `internal_write_buffer_size{alias="lake",output="influxdb"} ${size}`,
      `internal_write_buffer_limit{alias="lake",output="influxdb"} 10000`,
      '',
    ].join('\n');

  it('knows plugins by alias, else by type, and the fill of their buffers', async () => {
    const bench = await readTwice('telegraf', page(0, 0), page(40, 2500));
    expect(names(bench)).toEqual(['input cpu:cpu', 'input http:shop', 'output influxdb:lake']);
    expect(bench.status('shop').metrics).toEqual({ in_events: 40 });
    expect(bench.status('lake').metrics).toMatchObject({ out_events: 40, queue_size: 2500 });
    expect(bench.monitor.components.queueUsage(bench.find('lake'))).toBe(25);
  });
});

describe('redpanda-connect', () => {
  it('knows components by label, else by path, within their stream', async () => {
    const page = (count: number): string =>
      [
        `input_received{label="",path="root.input",stream="orders"} ${count}`,
        `input_received{label="kafka_in",path="root.input"} ${count}`,
        `output_sent{label="s3",path="root.output",stream="orders"} ${count}`,
        `output_error{label="s3",path="root.output",stream="orders"} ${count}`,
        '',
      ].join('\n');
    const bench = await readTwice('redpanda-connect', page(0), page(7));
    expect(names(bench)).toEqual([
      'input redpanda-connect:orders/root.input',
      'input redpanda-connect:kafka_in',
      'output redpanda-connect:orders/s3',
    ]);
    expect(bench.status('orders/s3')).toMatchObject({
      health: 'Yellow',
      metrics: { out_events: 7, errors: 7 },
    });
  });
});

describe('fluentd-prometheus', () => {
  it('takes the space that is left in a buffer for the fill of its queue', async () => {
    const labels = '{hostname="h",plugin_id="out_es",type="elasticsearch"}';
    const page = (count: number, left: number): string =>
      [
        `fluentd_input_status_num_records_total{plugin_id="in_tail",type="tail"} ${count}`,
        `fluentd_output_status_emit_records${labels} ${count}`,
        `fluentd_output_status_num_errors${labels} 0`,
        `fluentd_output_status_buffer_available_space_ratio${labels} ${left}`,
        '',
      ].join('\n');
    const bench = await readTwice('fluentd-prometheus', page(0, 100), page(5, 10));
    expect(names(bench)).toEqual(['input tail:in_tail', 'output elasticsearch:out_es']);
    expect(bench.status('out_es')).toMatchObject({
      health: 'Yellow',
      error: 'its queue is at least 80% full',
      metrics: { out_events: 5, queue_size: 90, queue_capacity: 100 },
    });
  });

  it('lists no plugin as an output that hands events on, throws them away or shows the metrics', async () => {
    const page = (count: number): string =>
      ['copy', 'relabel', 'null', 'roundrobin', 'prometheus', 'forward']
        .flatMap(type => [
          `fluentd_output_status_emit_records{plugin_id="out_${type}",type="${type}",hostname="h"} ${count}`,
          `fluentd_output_status_num_errors{plugin_id="out_${type}",type="${type}",hostname="h"} 0`,
        ])
        .join('\n')
        .concat('\n');
    expect(names(await readTwice('fluentd-prometheus', page(0), page(5)))).toEqual([
      'output forward:out_forward',
    ]);
  });
});
