import { readdirSync } from 'node:fs';
import { expect, it } from 'vitest';
import { names, readTwice } from '../../../test/helpers/engines.ts';
import { readText, tableRows } from '../../../test/helpers/markdown.ts';
import { type Bench, startBench } from '../../../test/helpers/monitor.ts';
import { sample } from '../../../test/helpers/pages.ts';
import { JSON_ENGINES, TEXT_ENGINES } from './index.ts';

const ENGINES = [...TEXT_ENGINES, ...JSON_ENGINES, 'rsyslog'];

const recorded = tableRows(readText('test/samples/README.md')).map(
  ([file = '', engine = '', version = '', source = '']) => ({ file, engine, version, source }),
);
const pages = recorded.filter(({ engine }) => ENGINES.includes(engine));

/** The page of the same process before it counted anything. */
const atStart = (page: string): string =>
  /^[{[]/.test(page)
    ? page.replace(/(": ?)\d+(?:\.\d+)?/g, '$10')
    : page.replace(/^(?!#)(.*?[}\w]) \S+( \d{13})?$/gm, '$1 0$2');

/** The same figures, of ten seconds later where lines have times. */
const later = (page: string): string =>
  page.replace(/ (\d{13})$/gm, (_, time) => ` ${Number(time) + 10_000}`);

/** Lines of rsyslog come by themselves; every other engine has a page. */
async function read(engine: string, page: string, resetCounters: boolean): Promise<Bench> {
  if (engine !== 'rsyslog') {
    const bench = await readTwice(engine, atStart(page), page);
    await bench.scrape(later(page));
    return bench;
  }
  const bench = await startBench({
    id: 'edge',
    engine,
    push: true,
    token: 'token of the edge',
    resetCounters,
  });
  await bench.monitor.ingestImpstats('edge', 'web1', page);
  return bench;
}

it('the list names every recorded page, and where it comes from', () => {
  const files = readdirSync('test/samples').filter(name => name !== 'README.md');
  expect(recorded.map(({ file }) => file).sort()).toEqual(files.sort());
  expect(recorded.filter(({ source }) => !/^(?:recorded|built: \S)/.test(source))).toEqual([]);
});

it.each(ENGINES)('%s is read in two versions, or the list says why in one only', engine => {
  const own = pages.filter(one => one.engine === engine);
  const versions = new Set(own.map(({ version }) => version));
  expect(own.length).toBeGreaterThan(0);
  if (!own.some(({ source }) => source.includes('the only version')))
    expect(versions.size).toBeGreaterThan(1);
});

it.each(pages)(
  '$file: inputs or outputs are found, and count what the page says',
  async ({ engine, file, source }) => {
    const bench = await read(engine, sample(file), source.includes('resetCounters'));
    expect(bench.monitor.components.pipeline('edge')?.error).toBeNull();
    const metrics = bench.monitor.components.all().map(one => bench.status(one.engineId).metrics);
    const events = metrics.map(({ in_events = 0, out_events = 0 }) => in_events + out_events);
    expect(Math.max(...events)).toBeGreaterThan(0);
  },
);

const FIGURES: readonly [string, string, readonly (readonly [string, object])[]][] = [
  [
    'vector',
    'vector-0.38-internal-metrics.txt',
    [
      ['input kafka:kafka_applogs', { in_events: 150_000, in_bytes: 48_203_994 }],
      ['input syslog:edge_syslog', { in_events: 120 }],
      [
        'output elasticsearch:opensearch_applogs',
        { out_events: 149_470, out_bytes: 61_203_441, errors: 31, queue_size: 480, queue_capacity: 500 },
      ],
      [
        'output clickhouse:product_store',
        { out_events: 59_708, queue_size: 132_581_856, queue_capacity: 268_435_488 },
      ],
    ],
  ],
  [
    'vector',
    'vector-0.58-internal-metrics.txt',
    [
      ['input file:in_access', { in_events: 1200, in_bytes: 301_000 }],
      ['input file:in_spool', { in_events: 30 }],
      [
        'output aws_s3:archive',
        { out_events: 1100, out_bytes: 52_000, errors: 2, dropped: 2, queue_size: 450, queue_capacity: 500 },
      ],
    ],
  ],
  [
    'otelcol',
    'otelcol-0.100-metrics.txt',
    [
      ['input syslog:syslog/tcp', { in_events: 42, errors: 0, blocked: 0 }],
      ['input filelog:filelog/app', { in_events: 7 }],
      [
        'output splunk_hec:splunk_hec/main',
        { out_events: 40, errors: 2, dropped: 1, queue_size: 5, queue_capacity: 1000 },
      ],
    ],
  ],
  [
    'otelcol',
    'otelcol-0.130-reader-metrics.txt',
    [
      ['input filelog:filelog', { in_events: 214_406 }],
      ['input otlp:otlp', { in_events: 106, errors: 0 }],
      ['output otlp:otlp/collector2', { out_events: 214_369 }],
      ['output otlp:otlp/failing', { out_events: 0, errors: 4885, queue_size: 2040, queue_capacity: 2048 }],
    ],
  ],
  [
    'otelcol',
    'otelcol-0.147-metrics.txt',
    [
      ['input k8sobjects:k8sobjects', { in_events: 6 }],
      ['input otlp:otlp', { in_events: 1_284_933, errors: 3, blocked: 0 }],
      ['output otlp:otlp/tempo', { out_events: 1_284_933, queue_size: 5, queue_capacity: 5000 }],
      ['output opensearch:opensearch', { out_events: 0, errors: 6, queue_size: 7 }],
    ],
  ],
  [
    'fluent-bit',
    'fluent-bit-1.8-api-v1-metrics-prometheus.txt',
    [
      ['input cpu:cpu.0', { in_events: 57, in_bytes: 18_069 }],
      ['output stdout:stdout.0', { out_events: 54, out_bytes: 17_118, errors: 0 }],
    ],
  ],
  [
    'fluentd-prometheus',
    'fluentd-prometheus-2.0-metrics.txt',
    [
      ['output stdout:object:8fc', { out_events: 0, errors: 0 }],
      ['output kafka2:object:898', { out_events: 14, errors: 0, queue_size: 0, queue_capacity: 100 }],
    ],
  ],
  [
    'fluentd-prometheus',
    'fluentd-prometheus-2.1-metrics.txt',
    [
      ['input tail:in_tail_container', { in_events: 214_406 }],
      ['output http:out_victorialogs', { out_events: 214_406, errors: 8, queue_size: 87.5 }],
    ],
  ],
  [
    'telegraf',
    'telegraf-1.32-internal.txt',
    [
      ['input opcua:opcua', { in_events: 207_600, errors: 0 }],
      [
        'output influxdb_v2:influxdb_v2',
        { out_events: 219_723, errors: 3, dropped: 12, queue_size: 9700, queue_capacity: 10_000 },
      ],
      ['output prometheus_client:prometheus_client', { out_events: 249_667 }],
    ],
  ],
  [
    'telegraf',
    'telegraf-1.39-internal.txt',
    [
      ['input opcua:line_a', { in_events: 5200, errors: 3 }],
      ['output influxdb_v2:main', { out_events: 5100, errors: 1, dropped: 5, queue_size: 40 }],
    ],
  ],
  [
    'redpanda-connect',
    'redpanda-connect-3.71-metrics.txt',
    [
      ['input redpanda-connect:root.input', { in_events: 18, errors: 0 }],
      ['output redpanda-connect:root.output', { out_events: 18, errors: 0 }],
    ],
  ],
  [
    'redpanda-connect',
    'redpanda-connect-4.57-streams-metrics.txt',
    [
      ['input redpanda-connect:aq-mqtt-ingest/mqtt', { in_events: 128_401, errors: 1 }],
      ['input redpanda-connect:other-stream/mqtt', { in_events: 77 }],
      ['output redpanda-connect:aq-mqtt-ingest/gateway', { out_events: 128_390, errors: 11, dropped: 2 }],
    ],
  ],
  [
    'prometheus',
    'prometheus-3.5-metrics.txt',
    [
      [
        'output prometheus:central',
        { out_events: 351_392, errors: 6, dropped: 5, queue_size: 120, queue_capacity: 40_000 },
      ],
      ['output prometheus:archive', { out_events: 0, errors: 8200, queue_size: 9800 }],
    ],
  ],
  [
    'logstash',
    'logstash-7.4-node-stats.json',
    [
      ['input beats:infra/8526dc80bc22', { in_events: 2_665_549 }],
      [
        'output elasticsearch:infra/38967f09bbd2',
        { out_events: 2_665_549, errors: 13_995, queue_size: 32_028_566 },
      ],
    ],
  ],
  [
    'fluentd',
    'fluentd-1.16-monitor_agent-plugins.json',
    [
      ['input forward:in_forward', { in_events: 1204 }],
      ['output elasticsearch:out_es', { out_events: 0, errors: 4 }],
      ['output tdlog:out_td', { out_events: 1203, errors: 0 }],
    ],
  ],
];

it.each(FIGURES)('%s: %s shows these, with these figures', async (engine, file, expected) => {
  const page = sample(file);
  const bench = await readTwice(engine, atStart(page), page);
  const found = names(bench);
  expect(found).toEqual(expect.arrayContaining(expected.map(([name]) => name)));
  for (const [name, metrics] of expected) {
    const engineId = name.slice(name.indexOf(':') + 1);
    expect({ name, ...bench.status(engineId).metrics }).toMatchObject({ name, ...metrics });
  }
});

it('reads the increases of Cribl with each push, and what a version shows of health', async () => {
  const old = sample('cribl-3.5-criblmetrics.txt');
  const before = await readTwice('cribl', old, later(old));
  expect(names(before)).toEqual(['input splunk:in_splunk', 'output s3:archive']);
  expect(before.status('in_splunk').metrics).toMatchObject({ in_events: 40, in_bytes: 9000, dropped: 3 });
  expect(before.status('archive')).toMatchObject({
    health: 'Red',
    metrics: { out_events: 37, blocked: 1, up: 0 },
  });
  const page = sample('cribl-4.4-criblmetrics.txt');
  const now = await readTwice('cribl', page, later(page));
  expect(names(now)).toEqual(['input syslog:in_app', 'output open_telemetry:otel_webhook_dest']);
  expect(now.status('otel_webhook_dest')).toMatchObject({
    health: 'Green',
    metrics: { out_events: 118, out_bytes: 40_120, queue_size: 1024, up: 1 },
  });
});
