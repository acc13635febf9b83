import type { ComponentKind } from '../metric.ts';
import { counter, defineProfile, gauge, type Meaning, type ProfileRule } from './profile.ts';

const of = (kind: ComponentKind, name: string, meaning: Meaning): ProfileRule => ({
  match: new RegExp(`^cribl_logstream_${name}$`),
  kind,
  id: kind,
  meaning,
});

const increase = { reads: 'delta' } as const;

/**
 * Cribl Stream and Edge by their own metrics, which the source CriblMetrics sends to a destination such as Prometheus or
 * OpenTelemetry. Counters are increases, left out where they are 0; ids hold the type, as `syslog:in1`. Health is 2 where
 * it is Red, and an output with backpressure blocks (1) or drops (2). Inputs of the type `cribl` are its own logs and
 * metrics.
 */
export const cribl = defineProfile({
  engine: 'cribl',
  namespace: 'cribl_logstream',
  knownBy: /^cribl_logstream_/,
  typeOf: id => id.split(':')[0],
  ignores: /^cribl:/,
  idOf: id => id.slice(id.indexOf(':') + 1),
  rules: [
    of('input', 'total_in_events', counter('in_events', increase)),
    of('input', 'total_in_bytes', counter('in_bytes', increase)),
    of('input', 'total_dropped_events', counter('dropped', increase)),
    of('input', 'health_inputs', gauge('up', 'product', { atLeast: 2, scale: -1, offset: 1 })),
    of('output', 'total_out_events', counter('out_events', increase)),
    of('output', 'total_out_bytes', counter('out_bytes', increase)),
    of('output', 'total_dropped_events', counter('dropped', increase)),
    of('output', '(?:backpressure|blocked)_outputs', gauge('blocked', 'max', { atLeast: 1 })),
    of('output', 'health_outputs', gauge('up', 'product', { atLeast: 2, scale: -1, offset: 1 })),
    of('output', 'pq_queue_size', gauge('queue_size', 'sum')),
  ],
});
