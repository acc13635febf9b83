import { counter, defineProfile, gauge, type Meaning, type ProfileRule } from './profile.ts';

/** NiFi shows what each part of a flow did in the last five minutes. */
const WINDOW = { reads: 'delta', windowMs: 5 * 60_000 } as const;

const PARTS = { component_type: /^(?:Processor|InputPort|OutputPort|RemoteProcessGroup)$/ };

const moved = (kind: 'input' | 'output', name: string, meaning: Meaning): ProfileRule => ({
  match: new RegExp(`^nifi_amount_${name}$`),
  kind,
  id: 'component_name',
  type: 'component_type',
  where: PARTS,
  meaning,
});

/** A connection is the queue before the processor that it leads to, and what holds up the one that it comes from. */
const connection = (kind: 'input' | 'output', name: string, meaning: Meaning): ProfileRule => ({
  match: new RegExp(`^nifi_${name}$`),
  kind,
  id: kind === 'input' ? 'source_name' : 'destination_name',
  joins: true,
  where: { component_type: 'Connection' },
  meaning,
});

/**
 * NiFi, by its API since 1.14 or the reporting task of before: a processor that received something from outside is an
 * input, one that sent something is an output. All of it is of the last five minutes, so that silence shows as late.
 */
export const nifi = defineProfile({
  engine: 'nifi',
  knownBy: /^nifi_/,
  metricsPath: '/nifi-api/flow/metrics/prometheus',
  rules: [
    moved('input', 'flowfiles_received', counter('in_events', WINDOW)),
    moved('input', 'bytes_received', counter('in_bytes', WINDOW)),
    moved('output', 'flowfiles_sent', counter('out_events', WINDOW)),
    moved('output', 'bytes_sent', counter('out_bytes', WINDOW)),
    connection('input', 'backpressure_enabled', gauge('blocked', 'max')),
    connection('output', 'percent_used_(?:count|bytes)', gauge('queue_size', 'max')),
    connection(
      'output',
      'percent_used_(?:count|bytes)',
      gauge('queue_capacity', 'max', { scale: 0, offset: 100 }),
    ),
  ],
});
