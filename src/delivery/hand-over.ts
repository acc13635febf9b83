import type { DeliveryRow, SettleOperation } from '../storage/storage.ts';

export interface HandOver {
  readonly row: DeliveryRow;
  /** Id of the target that stands in. */
  readonly fallback: string;
  /** Whether the target is failing, this attempt included. */
  readonly isFailing: boolean;
  /** Whether the fallback has been told of the incident. */
  readonly isGiven: boolean;
  /** Of the fallback's delivery. */
  readonly id: string;
  /** Epoch ms. */
  readonly now: number;
}

/**
 * The settlement with what the fallback gets, written in one commit. An alarm that the target has lost or that it fails
 * to take goes there in its place. The end goes there too when the alarm did, while the target itself is tried to the
 * end of the schedule: nobody else can close what it was told.
 */
export function handedOver(settled: SettleOperation, handOver: HandOver): SettleOperation {
  const { row, fallback, isFailing, isGiven } = handOver;
  if (row.status === 'OK') return isGiven ? { ...settled, handOver: deliveryTo(handOver) } : settled;
  const isLost = settled.state === 'refused' || settled.state === 'exhausted';
  if (!isLost && !(settled.state === 'waiting' && isFailing)) return settled;
  return {
    ...settled,
    state: isLost ? settled.state : 'exhausted',
    nextAt: null,
    settledAt: settled.settledAt ?? handOver.now,
    lastError: `${settled.lastError}; handed over to its fallback '${fallback}'`,
    handOver: deliveryTo(handOver),
  };
}

const deliveryTo = ({ row, fallback, id, now }: HandOver): DeliveryRow => ({
  ...row,
  id,
  target: fallback,
  state: 'waiting',
  attempts: 0,
  next_at: null,
  last_status: null,
  last_error: null,
  created_at: now,
  settled_at: null,
  retried_from: 0,
  retried_at: null,
  instead_of: row.target,
  batch: null,
});
