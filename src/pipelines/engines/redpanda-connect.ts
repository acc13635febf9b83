import { counter, defineProfile, type Meaning, type ProfileRule } from './profile.ts';

/** A component without a label is known by its path; in streams mode both are unique within a stream only. */
const component = (kind: 'input' | 'output', name: string, meaning: Meaning): ProfileRule => ({
  match: new RegExp(`^${kind}_${name}(?:_total)?$`),
  kind,
  id: ['label', 'path'],
  within: 'stream',
  meaning,
});

/** Redpanda Connect, that was Benthos, at `/metrics`. It has neither bytes nor queues. */
export const redpandaConnect = defineProfile({
  engine: 'redpanda-connect',
  knownBy: /^(?:input|output|processor)_/,
  rules: [
    component('input', 'received', counter('in_events')),
    component('input', 'connection_(?:failed|lost)', counter('errors')),
    component('output', 'sent', counter('out_events')),
    component('output', '(?:error|connection_(?:failed|lost))', counter('errors')),
    component('output', 'rejected', counter('dropped')),
  ],
});
