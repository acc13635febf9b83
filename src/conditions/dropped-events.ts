import { defineCount } from './count.ts';
import { nameOf } from './wording.ts';

export const droppedEvents = defineCount({
  id: 'dropped-events',
  name: 'Dropped Events',
  kind: 'either',
  counter: 'dropped',
  description: 'An input or output dropped more events in the time window than threshold.',
  alarm: (subject, count, window) => `${nameOf(subject)} dropped ${count} events in ${window}`,
  ok: (subject, lasted) => `${nameOf(subject)} drops no more events after ${lasted}`,
});
