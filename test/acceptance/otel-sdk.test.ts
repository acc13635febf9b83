import { OTLPMetricExporter as JsonExporter } from '@opentelemetry/exporter-metrics-otlp-http';
import { OTLPMetricExporter as ProtobufExporter } from '@opentelemetry/exporter-metrics-otlp-proto';
import { CompressionAlgorithm } from '@opentelemetry/otlp-exporter-base';
import { resourceFromAttributes } from '@opentelemetry/resources';
import {
  AggregationTemporality,
  MeterProvider,
  PeriodicExportingMetricReader,
} from '@opentelemetry/sdk-metrics';
import { expect, it, onTestFinished } from 'vitest';
import { inputItem } from './client.ts';
import { installation, logIn, noData, serve, sink, stop, until, webhook } from './harness.ts';

const TOKEN = 'token-of-the-collector-pipeline';
const INPUT = 'syslog:syslog/app';

const { CUMULATIVE, DELTA } = AggregationTemporality;
const { GZIP, NONE } = CompressionAlgorithm;

/** A program instrumented with OpenTelemetry's SDK, which calls its counters as the Collector does. */
function instrumented(exporter: JsonExporter | ProtobufExporter) {
  const provider = new MeterProvider({
    resource: resourceFromAttributes({ 'service.instance.id': 'collector-1' }),
    readers: [
      new PeriodicExportingMetricReader({ exporter, exportIntervalMillis: 500, exportTimeoutMillis: 400 }),
    ],
  });
  const records = provider.getMeter('collector').createCounter('otelcol_receiver_accepted_log_records');
  let counted = 0;
  const timer = setInterval(() => {
    counted += 4;
    records.add(4, { receiver: 'syslog/app', transport: 'tcp' });
  }, 50);
  let ended: Promise<void> | undefined;
  const end = (): Promise<void> => {
    clearInterval(timer);
    ended ??= provider.shutdown();
    return ended;
  };
  onTestFinished(end);
  return { counted: () => counted, end };
}

it.each([
  {
    Exporter: JsonExporter,
    encoding: 'JSON',
    compression: NONE,
    temporality: CUMULATIVE,
    sums: 'cumulative',
  },
  { Exporter: JsonExporter, encoding: 'JSON', compression: GZIP, temporality: DELTA, sums: 'delta' },
  {
    Exporter: ProtobufExporter,
    encoding: 'protobuf',
    compression: GZIP,
    temporality: CUMULATIVE,
    sums: 'cumulative',
  },
  { Exporter: ProtobufExporter, encoding: 'protobuf', compression: NONE, temporality: DELTA, sums: 'delta' },
])(
  'counts each record of an SDK that sends $sums sums as $encoding with compression $compression, and tells when it stops',
  async ({ Exporter, compression, temporality }) => {
    const hook = await sink();
    const folders = installation({
      settings: { pipelines: [{ id: 'collector', engine: 'otelcol', push: true, token: TOKEN }] },
      notifications: {
        targets: [webhook('hook', hook)],
        notifications: [noData('silent', 'syslog:*', '3s')],
      },
    });
    const server = await serve(folders);
    const api = await logIn(server.url);
    const inputs = () => api.items('/system/inputs', inputItem);
    const events = async () => (await inputs())[0]?.status.metrics.in_events ?? 0;
    const start = () =>
      instrumented(
        new Exporter({
          url: `${server.url}/ingest/otlp/v1/metrics`,
          headers: { authorization: `Bearer ${TOKEN}` },
          compression,
          temporalityPreference: temporality,
        }),
      );

    const first = start();
    await until(async () => (await events()) >= 100, 'a hundred records');
    expect(await inputs()).toMatchObject([
      { status: { health: 'Green' }, headgate: { engineId: 'syslog/app' } },
    ]);
    expect(hook.events()).toEqual([]);
    await first.end();
    // The first of a cumulative sum is where counting begins; all of a delta counts.
    const counted = await events();
    expect(counted).toBeLessThanOrEqual(first.counted());
    if (temporality === DELTA) expect(counted).toBe(first.counted());

    await until(() => hook.events().length > 0, 'the alarm');
    const second = start();
    await until(() => hook.events().length > 1, 'its end');
    await second.end();
    // It began at 0 while it was watched: all that it counted is new.
    await until(
      async () => (await events()) === counted + second.counted(),
      'every record of the second life',
    );
    expect(await stop(server)).toEqual({ code: 0, signal: null });

    expect(hook.events()).toMatchObject([
      { status: 'ALARM', input: INPUT, _raw: `Source ${INPUT} had no data for 3s` },
      { status: 'OK', input: INPUT, incidentId: hook.events()[0]?.incidentId },
    ]);
    expect(hook.refusals).toEqual([]);
  },
);
