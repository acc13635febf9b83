import type { SettleOperation } from '../storage/operations/settle.ts';
import type { DeliveryRow } from '../storage/stores/deliveries.ts';
import type { TargetHealthChange } from './health.ts';

/** Published once it is on disk, but what cannot be. */
type DeliveryResult =
  | {
      readonly kind: 'settled';
      /** The delivery as it was before. */
      readonly row: DeliveryRow;
      readonly operation: SettleOperation;
      /** Null when nothing was sent. */
      readonly durationMs: number | null;
    }
  /** Skipped because too many wait for its target. */
  | { readonly kind: 'dropped'; readonly row: DeliveryRow }
  /** What became of something that was sent could not be written before the process had to end. */
  | { readonly kind: 'unrecorded'; readonly target: string }
  /** The target was removed before this was sent: others get it in its place, or nobody. */
  | { readonly kind: 'moved'; readonly row: DeliveryRow; readonly targets: readonly string[] }
  /** The target may take again what it did not: what waits for it and what was given up can be sent. */
  | { readonly kind: 'well'; readonly target: string }
  | {
      readonly kind: 'health';
      readonly target: string;
      readonly change: TargetHealthChange;
      /** The notification of the delivery that showed the change. */
      readonly notification: string;
    };

/** Carries the results of deliveries from the workers to the parts that need them. */
export interface ResultBus {
  publish(result: DeliveryResult): void;
  /** Listeners are called at once, in the order in which they subscribed, and must not throw. */
  subscribe(listener: (result: DeliveryResult) => void): void;
}

export function createResultBus(): ResultBus {
  const listeners: ((result: DeliveryResult) => void)[] = [];
  return {
    publish(result) {
      for (const listener of listeners) listener(result);
    },
    subscribe: listener => void listeners.push(listener),
  };
}
