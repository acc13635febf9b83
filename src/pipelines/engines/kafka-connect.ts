import { counter, defineProfile, gauge, type Meaning, type ProfileRule } from './profile.ts';

/**
 * Rules of the JMX exporter name the same attribute in several ways: with or without the words of its bean, with a
 * prefix (Confluent's charts), and without the `_total` that exporters from 1.0 on take off what is no counter to them.
 */
const attribute = (name: string): RegExp =>
  new RegExp(`^(?:[a-z]+_)?kafka_connect_(?:[a-z]+_)*?${name}(?:_total)?$`);

const source = (name: string, meaning: Meaning): ProfileRule => ({
  match: attribute(name),
  kind: 'input',
  id: 'connector',
  meaning,
});

const sink = (name: string, meaning: Meaning): ProfileRule => ({
  match: attribute(name),
  kind: 'output',
  id: 'connector',
  meaning,
});

/** Said of a connector whatever its direction is, which other series know. */
const either = (name: string, meaning: Meaning, where: ProfileRule['where'] = {}): ProfileRule[] =>
  (['input', 'output'] as const).map(kind => ({
    match: attribute(name),
    kind,
    id: 'connector',
    joins: true,
    where,
    meaning,
  }));

/**
 * Kafka Connect by the page of the JMX exporter: a source connector is an input, a sink connector an output, each over
 * all its tasks. A task that failed takes its series along, and a status that does not say `failed` says that it works.
 */
export const kafkaConnect = defineProfile({
  engine: 'kafka-connect',
  knownBy: /^(?:[a-z]+_)?kafka_connect_/,
  rules: [
    source('source_record_poll', counter('in_events')),
    sink('sink_record_send', counter('out_events')),
    ...either('total_record_(?:errors|failures)', counter('errors')),
    ...either('total_retries', counter('errors')),
    ...either('total_records_skipped', counter('dropped')),
    ...either('status', gauge('up', 'product', { scale: -1, offset: 1 }), { status: /^failed$/i }),
    ...either('status', gauge('up', 'product'), {
      status: /^(?:running|paused|stopped|unassigned|restarting)$/i,
    }),
  ],
});
