import { counter, defineProfile, gauge, type Meaning, type ProfileRule } from './profile.ts';

const source = {
  kind: 'input',
  id: 'component_id',
  type: 'component_type',
  where: { component_kind: 'source' },
} as const;
const sink = {
  kind: 'output',
  id: 'component_id',
  type: 'component_type',
  where: { component_kind: 'sink' },
} as const;

/**
 * Both names of each gauge are accepted: 0.53 renamed them and emits both for now. The stages of a
 * buffer are not added: one full stage blocks.
 */
const buffer = (match: RegExp, meaning: Meaning): ProfileRule[] => [
  { ...sink, match, meaning },
  { match, kind: 'output', id: 'buffer_id', joins: true, meaning },
];

/** A request that is refused or tried again counts as an error where the sink counts none, and shows in its health. */
const failedRequests = (rule: Omit<ProfileRule, 'meaning'>): ProfileRule[] => [
  { ...rule, meaning: counter('errors', { isFallback: true }) },
  { ...rule, meaning: gauge('failing', 'max', { reads: 'grew' }) },
];

/**
 * Vector's `internal_metrics`. A filter discards on purpose (`intentional="true"`), which is no loss.
 * Idle series expire after 300 s since 0.43 and start again at 0. Sources that listen on UDP count what they received
 * only in newer versions: what they sent on counts before that. Sinks that speak HTTP may count no error while every
 * request is refused or tried again for ever (vectordotdev/vector#18296): their client does.
 */
export const vector = defineProfile({
  engine: 'vector',
  namespace: 'vector',
  knownBy: /^vector_/,
  rules: [
    { ...source, match: /^vector_component_received_events_total$/, meaning: counter('in_events') },
    {
      ...source,
      match: /^vector_component_sent_events_total$/,
      meaning: counter('in_events', { isFallback: true }),
    },
    { ...source, match: /^vector_component_received_bytes_total$/, meaning: counter('in_bytes') },
    { ...source, match: /^vector_component_errors_total$/, meaning: counter('errors') },
    {
      ...source,
      match: /^vector_component_discarded_events_total$/,
      where: { ...source.where, intentional: 'false' },
      meaning: counter('dropped'),
    },
    { ...sink, match: /^vector_component_sent_events_total$/, meaning: counter('out_events') },
    { ...sink, match: /^vector_component_sent_bytes_total$/, meaning: counter('out_bytes') },
    { ...sink, match: /^vector_component_errors_total$/, meaning: counter('errors') },
    ...failedRequests({ ...sink, match: /^vector_http_client_errors_total$/ }),
    ...failedRequests({
      ...sink,
      match: /^vector_http_client_responses_total$/,
      where: { ...sink.where, status: /^[45]\d\d\b/ },
    }),
    {
      ...sink,
      match: /^vector_component_discarded_events_total$/,
      where: { ...sink.where, intentional: 'false' },
      meaning: counter('dropped'),
    },
    {
      ...sink,
      match: /^vector_buffer_discarded_events_total$/,
      where: { ...sink.where, intentional: 'false' },
      meaning: counter('dropped'),
    },
    ...buffer(/^vector_buffer_(size_)?events$/, gauge('queue_size', 'max')),
    ...buffer(/^vector_buffer_max_(size_events|event_size)$/, gauge('queue_capacity', 'max')),
    ...buffer(/^vector_buffer_(size_bytes|byte_size)$/, gauge('queue_bytes', 'max')),
    ...buffer(/^vector_buffer_max_(size_bytes|byte_size)$/, gauge('queue_capacity_bytes', 'max')),
  ],
});
