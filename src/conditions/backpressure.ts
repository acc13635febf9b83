import * as z from 'zod';
import { componentConf, defineComponentCondition, openDuration, subjectName } from './condition.ts';

/** Blocking or dropping in this share of the window is an alarm. */
const BLOCKED_SHARE = 0.05;
/** `backpressure_type` in events. */
const BLOCKING = 1;
const DROPPING = 2;

export const backpressureDest = defineComponentCondition({
  id: 'backpressure-dest',
  name: 'Destination Backpressure Activated',
  category: 'destinations',
  kind: 'output',
  description: 'An output blocked or dropped in at least 5 % of the time window.',
  sample: { _metric: 'backpressure.outputs', backpressure_type: BLOCKING },
  example: { id: 'dest_blocked', conf: { name: '*', timeWindow: '5m' } },
  schema: z.strictObject(componentConf('output', 'The stretch of time that is looked at.')),
  evaluate({ subject, components, open }, { timeWindow }) {
    const { component } = subject;
    const blocked = component && components.measure(component, 'blocked_ms', timeWindow.ms);
    const dropped = component && components.measure(component, 'dropped', timeWindow.ms);
    if (blocked === undefined || dropped === undefined)
      return { state: 'unknown', reason: 'nothing is known of its backpressure' };
    const fields = { _metric: 'backpressure.outputs', timeWindow: timeWindow.text };
    if (blocked.sum < BLOCKED_SHARE * timeWindow.ms)
      return {
        state: 'ok',
        describe: () => ({
          fields,
          text: `Backpressure is released for destination ${subjectName(subject)} after ${openDuration(open)}`,
        }),
      };
    const drops = dropped.sum > 0;
    return {
      state: 'alarm',
      describe: () => ({
        fields: { ...fields, backpressure_type: drops ? DROPPING : BLOCKING },
        text: `Backpressure (${drops ? 'dropping' : 'blocking'}) is engaged for destination ${subjectName(subject)}`,
      }),
    };
  },
});
