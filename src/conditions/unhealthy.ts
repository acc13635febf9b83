import * as z from 'zod';
import { type Duration, formatDuration } from '../lib/duration.ts';
import type { ComponentKind } from '../pipelines/metric.ts';
import {
  type ComponentCondition,
  componentConf,
  type Description,
  defineComponentCondition,
  openDuration,
  type Subject,
  subjectTitle,
  sumFact,
  type Verdict,
} from './condition.ts';

interface UnhealthyOptions {
  readonly id: string;
  readonly name: string;
  readonly kind: ComponentKind;
  /** `_metric` in its events. */
  readonly metric: string;
  readonly example: ComponentCondition['example'];
}

/**
 * Red for this share of the window is an alarm, as Cribl-compatible clients count failed checks; of several replicas
 * more than half.
 */
const RED_SHARE = 0.05;
const RED_SHARE_OF_REPLICAS = 0.5;
const NOT_KNOWN = 'its health is not known';
/** Numbers of health in events: 0 Green, 1 Yellow, 2 Red. */
const HEALTH_NUMBERS = { Green: 0, Yellow: 1, Red: 2 } as const;

/**
 * Alarms when it was Red over the window, or its page could not be read for all of it: one reading that fails proves
 * nothing. Resolves only when it is known not to be Red now: a silent sender is not well again.
 */
function defineUnhealthy({ id, name, kind, metric, example }: UnhealthyOptions): ComponentCondition {
  return defineComponentCondition({
    id,
    name,
    category: kind === 'input' ? 'sources' : 'destinations',
    kind,
    description: `An ${kind} was Red over the time window.`,
    sample: { _metric: metric, health: HEALTH_NUMBERS.Red },
    example,
    schema: z.strictObject(componentConf(kind, 'The stretch of time whose health counts.')),
    // The page that ends the outage shows how it is.
    ...(kind === 'input' && { inhibitionGraceMs: () => 0 }),
    okWhile: (_, { timeWindow: { ms } }) => [
      { value: { metric: 'red_ms', ms }, holds: redMs => redMs / ms < RED_SHARE },
      { value: 'unreadMs', holds: unreadMs => unreadMs < ms },
    ],
    evaluate({ subject, components, open }, { timeWindow }) {
      const { component } = subject;
      const red = component && components.measure(component, 'red_ms', timeWindow.ms);
      if (component === undefined || red === undefined) return { state: 'unknown', reason: NOT_KNOWN };
      const share = red.sum / timeWindow.ms;
      const fields = { _metric: metric, timeWindow: timeWindow.text };
      const healthy = (now: 'Green' | 'Yellow'): Verdict => ({
        state: 'ok',
        describe: () => ({
          fields: { ...fields, health: HEALTH_NUMBERS[now] },
          text: `${subjectTitle(kind, subject)} is healthy again after ${openDuration(open)}`,
        }),
      });
      const isUnread = components.unreadMs(component) >= timeWindow.ms;
      // Most are evaluated here, and few have been Red: the check that looks at every replica comes after.
      if (open === undefined && share < RED_SHARE && !isUnread) return healthy('Green');
      const { health, error, replicas } = components.status(component);
      // One of two that is always Red amounts to half of the time: of several, more than half must be Red now as well.
      const isRed = replicas > 1 ? health === 'Red' && share >= RED_SHARE_OF_REPLICAS : share >= RED_SHARE;
      if (isRed || isUnread) return { state: 'alarm', describe: () => ill(subject, timeWindow, error) };
      if (health === 'Red' || health === 'Unknown')
        return { state: 'unknown', reason: `its health is ${health}, and not for long enough` };
      return healthy(health);
    },
    explain({ subject, components }, { timeWindow }) {
      const { component } = subject;
      const windowMs = timeWindow.ms;
      const red = (component && components.measure(component, 'red_ms', windowMs)) ?? NOT_KNOWN;
      const status = component && components.status(component);
      const share = (status?.replicas ?? 1) > 1 ? RED_SHARE_OF_REPLICAS : RED_SHARE;
      return {
        facts: [
          sumFact(
            {
              name: 'time Red',
              unit: 'milliseconds',
              windowMs,
              alarm: { when: 'at least', limit: share * windowMs },
            },
            red,
          ),
          {
            name: 'time in which its page could not be read',
            value: component && components.unreadMs(component),
            unit: 'milliseconds',
            alarm: { when: 'at least', limit: windowMs },
            unknown: component === undefined ? NOT_KNOWN : undefined,
          },
        ],
        alarmInMs: 0,
        provided: `it is Red for ${formatDuration(share * windowMs)} of ${timeWindow.text}`,
        alarm: () => ill(subject, timeWindow, status?.error ?? null),
      };
    },
  });

  function ill(subject: Subject, { text: timeWindow }: Duration, error: string | null): Description {
    return {
      fields: { _metric: metric, timeWindow, health: HEALTH_NUMBERS.Red },
      text: `${subjectTitle(kind, subject)} is unhealthy${error === null ? '' : `: ${error}`}`,
    };
  }
}

export const unhealthySource = defineUnhealthy({
  id: 'unhealthy-source',
  name: 'Unhealthy Source',
  kind: 'input',
  metric: 'health.inputs',
  example: { id: 'source_ill', conf: { name: '*', timeWindow: '5m' } },
});

export const unhealthyDest = defineUnhealthy({
  id: 'unhealthy-dest',
  name: 'Unhealthy Destination',
  kind: 'output',
  metric: 'health.outputs',
  example: { id: 'dest_ill', conf: { name: '*', timeWindow: '5m' } },
});
