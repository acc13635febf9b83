import { counter, gauge, type Meaning, type Profile, type Rule } from './profile.ts';

const plugin = (kind: 'input' | 'output', place: string, means: Meaning): Rule => ({
  match: new RegExp(`^${kind}s\\.${place}$`),
  kind,
  id: 'id',
  within: 'pipeline',
  type: 'name',
  means,
});

/** A pipeline has one queue, between its inputs and its outputs: it tells of both. */
const queue = (kind: 'input' | 'output'): Rule[] => [
  plugin(kind, 'queue\\.queue_size_in_bytes', gauge('queue_bytes', 'last')),
  plugin(kind, 'queue\\.max_queue_size_in_bytes', gauge('queue_capacity_bytes', 'last')),
  plugin(kind, 'status', gauge('up', 'last')),
];

/**
 * Logstash's node stats. An input that waits to put events into the queue is held up by what comes after it. An output
 * that is stuck counts nothing but what it holds. There are no bytes, and a plugin without `id` has another one after
 * each change of its pipeline.
 */
export const logstash: Profile = {
  engine: 'logstash',
  rules: [
    plugin('input', 'events\\.out', counter('in_events')),
    plugin('input', 'events\\.queue_push_duration_in_millis', gauge('blocked', 'max', { reads: 'share' })),
    ...queue('input'),
    plugin('output', 'events\\.out', counter('out_events')),
    plugin('output', 'events\\.pending', gauge('queue_size', 'last')),
    plugin('output', 'documents\\.non_retryable_failures', counter('errors')),
    plugin('output', 'bulk_requests\\.failures', counter('errors')),
    plugin('output', 'dead_letter_queue\\.dropped_events', counter('dropped')),
    ...queue('output'),
  ],
};
