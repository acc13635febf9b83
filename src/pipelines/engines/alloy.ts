import { collectorRules } from './otelcol.ts';
import { counter, defineProfile, type Meaning, type ProfileRule } from './profile.ts';
import { remoteWriteRules } from './prometheus.ts';

const ID = 'component_id';

const input = (match: RegExp, meaning: Meaning, where?: ProfileRule['where']): ProfileRule => ({
  match,
  kind: 'input',
  id: ID,
  meaning,
  ...(where && { where }),
});

const lokiWrite = (name: string, meaning: Meaning): ProfileRule => ({
  match: new RegExp(`^loki_write_${name}_total$`),
  kind: 'output',
  id: ID,
  meaning,
});

/**
 * Grafana Alloy, at `/metrics`: sources and writers of loki, receivers and exporters of otelcol, scrapes and remote
 * writes of prometheus, each by its `component_id`. Components between them only change what passes. The bytes that
 * `loki.source.file` shows are a place in a file and no count. What `loki.write` sends again is an error.
 */
export const alloy = defineProfile({
  engine: 'alloy',
  knownBy: /^alloy_/,
  typeOf: id => /^(.+)\.[^.]+$/.exec(id)?.[1],
  rules: [
    input(/^loki_source_\w+_(?:entries|lines)_total$/, counter('in_events')),
    input(/^loki_source_api_entries_written(?:_total)?$/, counter('in_events')),
    input(/^loki_source_\w+_parsing_errors_total$/, counter('errors')),
    input(/^prometheus_forwarded_samples_total$/, counter('in_events'), {
      [ID]: /^prometheus\.(?:scrape|receive_http)\./,
    }),
    lokiWrite('sent_entries', counter('out_events')),
    lokiWrite('sent_bytes', counter('out_bytes')),
    lokiWrite('batch_retries', counter('errors')),
    lokiWrite('dropped_entries', counter('dropped')),
    ...collectorRules({ receiver: ID, exporter: ID }),
    ...remoteWriteRules(ID),
  ],
});
