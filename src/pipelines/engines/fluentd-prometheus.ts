import { INTERNAL_PLUGINS } from './fluentd.ts';
import { counter, defineProfile, gauge, type Meaning, type ProfileRule } from './profile.ts';

const plugin = (kind: 'input' | 'output', name: string, meaning: Meaning): ProfileRule => ({
  match: new RegExp(`^fluentd_${kind}_status_${name}$`),
  kind,
  id: 'plugin_id',
  type: 'type',
  meaning,
});

/**
 * Fluentd by fluent-plugin-prometheus. What it emits is what went into a buffer: it counts nothing as delivered. A
 * plugin without `@id` has another id after each start.
 */
export const fluentdPrometheus = defineProfile({
  engine: 'fluentd-prometheus',
  ignoresTypes: INTERNAL_PLUGINS,
  knownBy: /^fluentd_/,
  rules: [
    plugin('input', 'num_records_total', counter('in_events')),
    plugin('output', 'emit_records', counter('out_events')),
    plugin('output', '(?:num_errors|rollback_count)', counter('errors')),
    plugin('output', 'buffer_available_space_ratio', gauge('queue_size', 'max', { scale: -1, offset: 100 })),
    plugin(
      'output',
      'buffer_available_space_ratio',
      gauge('queue_capacity', 'max', { scale: 0, offset: 100 }),
    ),
  ],
});
