import { counter, defineProfile, gauge, type Meaning, type ProfileRule } from './profile.ts';

const SIGNAL = '(?:log_records|metric_points|spans|profile_samples)';
/** The unit and `_total` come and go with the version and the reader's configuration. */
const SUFFIX = '(?:__\\w+_)?(?:_total)?$';

const receiver = (verb: string, meaning: Meaning): ProfileRule => ({
  match: new RegExp(`^otelcol_receiver_${verb}_${SIGNAL}${SUFFIX}`),
  kind: 'input',
  id: 'receiver',
  meaning,
});

const exporter = (verb: string, meaning: Meaning): ProfileRule => ({
  match: new RegExp(`^otelcol_exporter_${verb}_${SIGNAL}${SUFFIX}`),
  kind: 'output',
  id: 'exporter',
  meaning,
});

/**
 * The collector's own telemetry, one family per signal, added up. The queue is the fullest one over
 * `data_type`: their sum would hide a full one.
 */
export const otelcol = defineProfile({
  engine: 'otelcol',
  knownBy: /^otelcol_/,
  typeOf: id => id.split('/')[0],
  rules: [
    receiver('accepted', counter('in_events')),
    receiver('(?:refused|failed)', counter('errors')),
    receiver('refused', gauge('blocked', 'max', { reads: 'grew' })),
    {
      match: new RegExp(`^otelcol_scraper_errored_${SIGNAL}${SUFFIX}`),
      kind: 'input',
      id: 'receiver',
      meaning: counter('errors'),
    },
    exporter('sent', counter('out_events')),
    exporter('send_failed', counter('errors')),
    exporter('enqueue_failed', counter('dropped')),
    {
      match: /^otelcol_exporter_queue_size(?:__\w+_)?$/,
      kind: 'output',
      id: 'exporter',
      meaning: gauge('queue_size', 'max'),
    },
    {
      match: /^otelcol_exporter_queue_capacity(?:__\w+_)?$/,
      kind: 'output',
      id: 'exporter',
      meaning: gauge('queue_capacity', 'max'),
    },
  ],
});
