import { counter, defineProfile, gauge, type Meaning, type ProfileRule } from './profile.ts';

/** Several plugins of one type are distinguished only by an alias. */
const plugin = (kind: 'input' | 'output', name: string, meaning: Meaning): ProfileRule => ({
  match: new RegExp(`^internal_${name}$`),
  kind,
  id: ['alias', kind],
  type: kind,
  meaning,
});

/**
 * Telegraf's `inputs.internal`, shown by its `outputs.prometheus_client`. Metrics count as events; there are no bytes.
 * Telegraf drops what overflows its buffer without an error. `errors` counts for every plugin; `gather_errors` and
 * `write_errors`, since 1.39, the same failures once more, so they are omitted.
 */
export const telegraf = defineProfile({
  engine: 'telegraf',
  knownBy: /^internal_/,
  rules: [
    plugin('input', 'gather_metrics_gathered', counter('in_events')),
    plugin('input', 'gather_(?:errors|gather_timeouts)', counter('errors')),
    plugin('output', 'write_metrics_written', counter('out_events')),
    plugin('output', 'write_errors', counter('errors')),
    plugin('output', 'write_metrics_(?:dropped|rejected)', counter('dropped')),
    plugin('output', 'write_buffer_size', gauge('queue_size', 'sum')),
    plugin('output', 'write_buffer_limit', gauge('queue_capacity', 'sum')),
  ],
});
