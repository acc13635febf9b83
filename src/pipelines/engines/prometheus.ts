import { counter, gauge, type Meaning, type Profile, type Rule } from './profile.ts';

const remote = (name: string, means: Meaning): Rule => ({
  match: new RegExp(`^prometheus_remote_storage_${name}$`),
  kind: 'output',
  id: 'remote_name',
  means,
});

/**
 * Prometheus and its agents: jobs by `/federate`, remote writes by their own page. `samples_total`
 * counts attempts, so what was delivered is it less the retried and the failed ones.
 */
export const prometheus: Profile = {
  engine: 'prometheus',
  rules: [
    {
      match: /^scrape_samples_scraped$/,
      kind: 'input',
      id: 'job',
      means: counter('in_events', { reads: 'amount' }),
    },
    { match: /^up$/, kind: 'input', id: 'job', means: gauge('up', 'last') },
    remote('samples_total', counter('out_events')),
    remote('samples_(?:retried|failed)_total', counter('out_events', { scale: -1 })),
    remote('samples_(?:retried|failed)_total', counter('errors')),
    remote('bytes_total', counter('out_bytes')),
    remote('samples_dropped_total', counter('dropped')),
    remote('samples_pending', gauge('queue_size', 'sum')),
    remote('shards', gauge('queue_capacity', 'product')),
    remote('shard_capacity', gauge('queue_capacity', 'product')),
  ],
};
