import { createServer } from 'node:http';
import type { Clock } from '../lib/clock.ts';
import { type Listening, listenOnLoopback } from './loopback.ts';
import { COMPONENTS, type SimulatedComponent, totalsOf } from './script.ts';

interface Family {
  readonly name: string;
  readonly type: 'counter' | 'gauge';
  readonly kind: SimulatedComponent['kind'];
  readonly value: (part: SimulatedComponent, elapsedMs: number) => number;
}

const QUEUE_CAPACITY = 10_000;

/** Names of Vector's `internal_metrics` source, to which its `prometheus_exporter` adds a prefix. */
const FAMILIES: readonly Family[] = [
  counted('component_received_events_total', 'input', 'events'),
  counted('component_received_bytes_total', 'input', 'bytes'),
  counted('component_sent_events_total', 'output', 'events'),
  counted('component_sent_bytes_total', 'output', 'bytes'),
  counted('component_errors_total', 'output', 'errors'),
  { ...counted('buffer_size_events', 'output', 'queued'), type: 'gauge' },
  { name: 'buffer_max_size_events', type: 'gauge', kind: 'output', value: () => QUEUE_CAPACITY },
];

function counted(
  name: string,
  kind: SimulatedComponent['kind'],
  total: keyof ReturnType<typeof totalsOf>,
): Family {
  return { name, type: 'counter', kind, value: (part, elapsedMs) => totalsOf(part, elapsedMs)[total] };
}

/** The page of a Vector that has run for `elapsedMs`; `now` is epoch ms. */
function vectorPage(elapsedMs: number, now: number): string {
  return FAMILIES.map(({ name, type, kind, value }) => {
    const series = COMPONENTS.filter(part => part.kind === kind).map(
      part => `vector_${name}{${labelsOf(part, name)}} ${value(part, elapsedMs)} ${now}\n`,
    );
    return `# HELP vector_${name} ${name}\n# TYPE vector_${name} ${type}\n${series.join('')}`;
  }).join('\n');
}

function labelsOf({ kind, type, id }: SimulatedComponent, family: string): string {
  const labels = {
    ...(family.startsWith('buffer_') && { buffer_id: id }),
    component_id: id,
    component_kind: kind === 'input' ? 'source' : 'sink',
    component_type: type,
    host: 'demo',
    ...(family.startsWith('buffer_') && { stage: '0' }),
  };
  return Object.entries(labels)
    .map(([name, value]) => `${name}="${value}"`)
    .join(',');
}

export interface SimulatedPipeline extends Listening {
  /** Starts the script; before that nothing flows. */
  begin(): void;
}

/** A pipeline whose metrics page looks like Vector's, at `/metrics` on a free port of loopback. */
export async function startSimulatedPipeline(clock: Clock): Promise<SimulatedPipeline> {
  let begunAt: number | undefined;
  const server = createServer((request, response) => {
    if (request.url !== '/metrics') {
      response.writeHead(404).end('The metrics are at /metrics\n');
      return;
    }
    const elapsedMs = begunAt === undefined ? 0 : clock.monotonic() - begunAt;
    response.writeHead(200, { 'content-type': 'text/plain; version=0.0.4' });
    response.end(vectorPage(elapsedMs, clock.now()));
  });
  const listening = await listenOnLoopback(server);
  return {
    ...listening,
    begin() {
      begunAt ??= clock.monotonic();
    },
  };
}
