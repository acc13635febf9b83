import * as z from 'zod';
import type { ComponentKind } from '../pipelines/metric.ts';
import {
  type ComponentCondition,
  componentConf,
  defineComponentCondition,
  openDuration,
  subjectTitle,
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
    evaluate({ subject, components, open }, { timeWindow }) {
      const { component } = subject;
      const red = component && components.measure(component, 'red_ms', timeWindow.ms);
      if (component === undefined || red === undefined)
        return { state: 'unknown', reason: 'its health is not known' };
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
      if (isRed || isUnread)
        return {
          state: 'alarm',
          describe: () => ({
            fields: { ...fields, health: HEALTH_NUMBERS.Red },
            text: `${subjectTitle(kind, subject)} is unhealthy${error === null ? '' : `: ${error}`}`,
          }),
        };
      if (health === 'Red' || health === 'Unknown')
        return { state: 'unknown', reason: `its health is ${health}, and not for long enough` };
      return healthy(health);
    },
  });
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
