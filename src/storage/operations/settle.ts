import type { AttemptRow, DeliveryRow } from '../stores/deliveries.ts';
import type { DeliveryState } from '../tables.ts';

/**
 * Books what an attempt brought. Refused with `conflict` when the delivery is settled already, when it was not sent and a
 * person has put it back since the attempt began, and when it is to be skipped and an alarm before it was put back.
 */
export interface SettleOperation {
  readonly kind: 'settle';
  readonly workspace: string;
  readonly deliveryId: string;
  readonly state: Exclude<DeliveryState, 'grouped'>;
  readonly attempts: number;
  readonly nextAt: number | null;
  readonly lastStatus: number | null;
  readonly lastError: string | null;
  readonly settledAt: number | null;
  /** `retried_at` of the delivery when the attempt began. */
  readonly retriedAt: number | null;
  /**
   * Books the same of a delivery that was put back since, and of no other: it waits to be tried at once, as if that had been
   * asked for a moment later. False when left out.
   */
  readonly isRequeued?: boolean;
  /** Written for failures and retries only: a first-try success lives in the delivery. */
  readonly attempt: AttemptRow | null;
  /** What it goes on travelling in, null for alone. */
  readonly batch: string | null;
  /** What is left of it to do; left out, nobody has part of it. */
  readonly remainder?: string;
  /** Kept beside the settings of the target that asked for it, where these are kept. Left out, nobody asked. */
  readonly pause?: TargetPause;
  /** Deliveries of the same event to other targets; nothing happens where such a target has one already. */
  readonly fallbackDeliveries: readonly DeliveryRow[];
}

/** Nothing is sent to the target for a while. */
export interface TargetPause {
  readonly target: string;
  /** Epoch ms. */
  readonly until: number;
}

/** Binds waiting deliveries together before they are sent as one, so that they are always the same under one id. */
export interface BatchOperation {
  readonly kind: 'batch';
  readonly workspace: string;
  readonly batch: string;
  readonly deliveryIds: readonly string[];
}
