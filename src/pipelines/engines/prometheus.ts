import { counter, defineProfile, gauge, type Meaning, type ProfileRule } from './profile.ts';

/**
 * Remote writes, with the label that holds their id. `samples_total` counts attempts, so what was delivered is it less
 * the retried and the failed ones.
 */
export function remoteWriteRules(id: string): readonly ProfileRule[] {
  const remote = (name: string, meaning: Meaning): ProfileRule => ({
    match: new RegExp(`^prometheus_remote_storage_${name}$`),
    kind: 'output',
    id,
    meaning,
  });
  return [
    remote('samples_total', counter('out_events')),
    remote('samples_(?:retried|failed)_total', counter('out_events', { scale: -1 })),
    remote('samples_(?:retried|failed)_total', counter('errors')),
    remote('bytes_total', counter('out_bytes')),
    remote('samples_dropped_total', counter('dropped')),
    remote('samples_pending', gauge('queue_size', 'sum')),
    remote('shards', gauge('queue_capacity', 'product')),
    remote('shard_capacity', gauge('queue_capacity', 'product')),
  ];
}

/** Prometheus and its agents: jobs by `/federate`, remote writes by their own page. */
export const prometheus = defineProfile({
  engine: 'prometheus',
  knownBy: /^prometheus_/,
  rules: [
    {
      match: /^scrape_samples_scraped$/,
      kind: 'input',
      id: 'job',
      meaning: counter('in_events', { reads: 'delta' }),
    },
    { match: /^up$/, kind: 'input', id: 'job', meaning: gauge('up', 'last') },
    ...remoteWriteRules('remote_name'),
  ],
});
