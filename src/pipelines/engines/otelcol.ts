import { counter, defineProfile, gauge, type Meaning, type ProfileRule } from './profile.ts';

const SIGNAL = '(?:log_records|metric_points|spans|profile_samples|profiles)';
/** The unit and `_total` come and go with the version and the reader's configuration. */
const SUFFIX = '(?:__\\w+_)?(?:_total)?$';

/** The labels that hold the ids of receivers and exporters. */
interface IdLabels {
  readonly receiver: string;
  readonly exporter: string;
}

/**
 * What the collector counts of its receivers and exporters, one family per signal, added up. The queue is the fullest
 * one over `data_type`: their sum would hide a full one.
 */
export function collectorRules(ids: IdLabels): readonly ProfileRule[] {
  const receiver = (verb: string, meaning: Meaning): ProfileRule => ({
    match: new RegExp(`^otelcol_receiver_${verb}_${SIGNAL}${SUFFIX}`),
    kind: 'input',
    id: ids.receiver,
    meaning,
  });
  const exporter = (name: string, meaning: Meaning): ProfileRule => ({
    match: new RegExp(`^otelcol_exporter_${name}`),
    kind: 'output',
    id: ids.exporter,
    meaning,
  });
  const ofSignal = (verb: string): string => `${verb}_${SIGNAL}${SUFFIX}`;
  return [
    receiver('accepted', counter('in_events')),
    receiver('(?:refused|failed)', counter('errors')),
    receiver('refused', gauge('blocked', 'max', { reads: 'grew' })),
    {
      match: new RegExp(`^otelcol_scraper_errored_${SIGNAL}${SUFFIX}`),
      kind: 'input',
      id: ids.receiver,
      meaning: counter('errors'),
    },
    exporter(ofSignal('sent'), counter('out_events')),
    exporter(ofSignal('send_failed'), counter('errors')),
    exporter(ofSignal('enqueue_failed'), counter('dropped')),
    exporter('queue_size(?:__\\w+_)?$', gauge('queue_size', 'max')),
    exporter('queue_capacity(?:__\\w+_)?$', gauge('queue_capacity', 'max')),
  ];
}

/** The collector's own telemetry, of 0.57 and later: names differ in their unit and in `_total`. */
export const otelcol = defineProfile({
  engine: 'otelcol',
  namespace: 'otelcol',
  knownBy: /^otelcol_/,
  typeOf: id => id.split('/')[0],
  rules: collectorRules({ receiver: 'receiver', exporter: 'exporter' }),
});
