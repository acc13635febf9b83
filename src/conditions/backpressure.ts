import * as z from 'zod';
import { type Duration, formatDuration } from '../lib/duration.ts';
import {
  componentConf,
  type Description,
  defineComponentCondition,
  openDuration,
  type Subject,
  subjectName,
  sumFact,
} from './condition.ts';

/** Blocking or dropping in this share of the window is an alarm. */
const BLOCKED_SHARE = 0.05;
/** `backpressure_type` in events. */
const BLOCKING = 1;
const DROPPING = 2;
const NOTHING_KNOWN = 'nothing is known of its backpressure';

export const backpressureDest = defineComponentCondition({
  id: 'backpressure-dest',
  name: 'Destination Backpressure Activated',
  category: 'destinations',
  kind: 'output',
  description: 'An output blocked or dropped in at least 5 % of the time window.',
  sample: { _metric: 'backpressure.outputs', backpressure_type: BLOCKING },
  example: { id: 'dest_blocked', conf: { name: '*', timeWindow: '5m' } },
  schema: z.strictObject(componentConf('output', 'The stretch of time that is looked at.')),
  okWhile: (_, { timeWindow: { ms } }) => [
    { value: { metric: 'blocked_ms', ms }, holds: blockedMs => blockedMs < BLOCKED_SHARE * ms },
  ],
  evaluate({ subject, components, open }, { timeWindow }) {
    const { component } = subject;
    const blocked = component && components.measure(component, 'blocked_ms', timeWindow.ms);
    const dropped = component && components.measure(component, 'dropped', timeWindow.ms);
    if (blocked === undefined || dropped === undefined) return { state: 'unknown', reason: NOTHING_KNOWN };
    const fields = { _metric: 'backpressure.outputs', timeWindow: timeWindow.text };
    if (blocked.sum < BLOCKED_SHARE * timeWindow.ms)
      return {
        state: 'ok',
        describe: () => ({
          fields,
          text: `Backpressure is released for destination ${subjectName(subject)} after ${openDuration(open)}`,
        }),
      };
    return { state: 'alarm', describe: () => alarmOf(subject, timeWindow, dropped.sum > 0) };
  },
  explain({ subject, components }, { timeWindow }) {
    const { component } = subject;
    const windowMs = timeWindow.ms;
    const measured = (metric: 'blocked_ms' | 'dropped') =>
      (component && components.measure(component, metric, windowMs)) ?? NOTHING_KNOWN;
    const dropped = measured('dropped');
    const limit = BLOCKED_SHARE * windowMs;
    return {
      facts: [
        sumFact(
          {
            name: 'time in which it blocked or dropped',
            unit: 'milliseconds',
            windowMs,
            alarm: { when: 'at least', limit },
          },
          measured('blocked_ms'),
        ),
        sumFact({ name: 'dropped events', unit: 'events', windowMs }, dropped),
      ],
      alarmInMs: 0,
      provided: `it blocks or drops for ${formatDuration(limit)} of ${timeWindow.text}`,
      alarm: () => alarmOf(subject, timeWindow, typeof dropped !== 'string' && dropped.sum > 0),
    };
  },
});

const alarmOf = (subject: Subject, { text: timeWindow }: Duration, drops: boolean): Description => ({
  fields: {
    _metric: 'backpressure.outputs',
    timeWindow,
    backpressure_type: drops ? DROPPING : BLOCKING,
  },
  text: `Backpressure (${drops ? 'dropping' : 'blocking'}) is engaged for destination ${subjectName(subject)}`,
});
