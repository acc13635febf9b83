import type { DeliveryRow, IncidentRow } from '../storage/storage.ts';
import type { Notification } from './notification.ts';
import type { Outages } from './outages.ts';

/** For how long after an outage what is about to end may be waited for. */
export const MOST_ENDING_MS = 600_000;

/** Alarms that come of a pipeline which cannot be read, for a target that was told of that. */
export interface Hold {
  readonly pipeline: string;
  readonly target: string;
}

export interface Holds {
  /** The incidents for whose sake deliveries of an alarm are held back, by target. */
  of(
    rule: Rule,
    pipeline: string | undefined,
    deliveries: readonly DeliveryRow[],
  ): ReadonlyMap<string, IncidentRow>;
  /** Whether the target of a hold is still told of the pipeline. */
  isTold(hold: Hold): boolean;
}

type Rule = Notification['rule'] | undefined;

/** How long an alarm may come of an outage that is over, in milliseconds; undefined when it never does. */
export const outageMsOf = (rule: Rule): number | undefined =>
  rule?.source === 'component' ? rule.outageMs : undefined;

export function createHolds(
  outages: Outages['toldTo'],
  /** Whether what a target is to be told of an incident still waits, and nothing was sent before. */
  isUntold: (incident: string, target: string) => boolean,
): Holds {
  const outageTold = (pipeline: string, target: string): IncidentRow | undefined =>
    outages(pipeline, target).find(({ id }) => !isUntold(id, target));

  return {
    of(rule, pipeline, deliveries) {
      const holds = new Map<string, IncidentRow>();
      if (pipeline === undefined || outageMsOf(rule) === undefined) return holds;
      for (const { target } of deliveries) {
        const outage = outageTold(pipeline, target);
        if (outage !== undefined) holds.set(target, outage);
      }
      return holds;
    },
    isTold: ({ pipeline, target }) => outageTold(pipeline, target) !== undefined,
  };
}
