import { counter, defineProfile, gauge, type Meaning, type ProfileRule } from './profile.ts';

const input = (name: string, meaning: Meaning): ProfileRule => ({
  match: new RegExp(`^fluentbit_input_${name}$`),
  kind: 'input',
  id: 'name',
  meaning,
});

const output = (name: string, meaning: Meaning): ProfileRule => ({
  match: new RegExp(`^fluentbit_output_${name}$`),
  kind: 'output',
  id: 'name',
  meaning,
});

/**
 * Fluent Bit's `/api/v2/metrics/prometheus`. With a destination that refuses, `errors_total` stays 0
 * and only retries show it, so all three are errors. A plugin without alias is named `type.N`. What a full
 * ring buffer loses is counted in bytes, which are no events: it shows as blocked.
 */
export const fluentBit = defineProfile({
  engine: 'fluent-bit',
  knownBy: /^fluentbit_/,
  metricsPath: '/api/v2/metrics/prometheus',
  typeOf: id => /^(.+)\.\d+$/.exec(id)?.[1],
  ignores: /^(storage_backlog|fluentbit_metrics)\.\d+$/,
  rules: [
    input('records_total', counter('in_events')),
    input('bytes_total', counter('in_bytes')),
    input('ring_buffer_retry_failures_total', counter('errors')),
    input('memrb_dropped_bytes', gauge('blocked', 'max', { reads: 'grew' })),
    input('(?:ingestion_paused|storage_overlimit)', gauge('blocked', 'max')),
    output('proc_records_total', counter('out_events')),
    output('proc_bytes_total', counter('out_bytes')),
    output('(?:errors|retries|retries_failed)_total', counter('errors')),
    output('dropped_records_total', counter('dropped')),
    output('chunk_available_capacity_percent', gauge('queue_size', 'max', { scale: -1, offset: 100 })),
    output('chunk_available_capacity_percent', gauge('queue_capacity', 'max', { scale: 0, offset: 100 })),
  ],
});
