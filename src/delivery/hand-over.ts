import type { Ids } from '../lib/ids.ts';
import { freshDelivery } from '../storage/fresh-delivery.ts';
import type { DeliveryRow, SettleOperation } from '../storage/storage.ts';

export interface HandOver {
  readonly row: DeliveryRow;
  /** Ids of the targets that stand in now, a router exchanged for where it leads. */
  readonly fallbacks: () => readonly string[];
  /** Whether the target is failing, this attempt included. */
  readonly isFailing: boolean;
  /** Of an end: who was told of the beginning in place of the target, whatever stands in now. */
  readonly standIns: readonly string[];
  /** Of the deliveries that others get. */
  readonly ids: Ids;
  /** Epoch ms. */
  readonly now: number;
}

/**
 * The settlement with what others get in place of the target, written in one commit. An alarm that the target has lost or
 * that it fails to take goes to its fallbacks. The end goes to all that were told an alarm so, while the target itself is
 * tried to the end of the schedule: nobody else can close what each was told.
 */
export function handedOver(settled: SettleOperation, handOver: HandOver): SettleOperation {
  const { row, isFailing, standIns } = handOver;
  if (row.status === 'OK')
    return standIns.length === 0
      ? settled
      : { ...settled, handOver: standIns.map(target => deliveryTo(target, handOver)) };
  const isLost = settled.state === 'refused' || settled.state === 'exhausted';
  if (!isLost && !(settled.state === 'waiting' && isFailing)) return settled;
  const fallbacks = handOver.fallbacks();
  if (fallbacks.length === 0) return settled;
  return {
    ...settled,
    state: isLost ? settled.state : 'exhausted',
    nextAt: null,
    settledAt: settled.settledAt ?? handOver.now,
    lastError: `${settled.lastError}; handed over to its fallback ${fallbacks.map(id => `'${id}'`).join(', ')}`,
    handOver: fallbacks.map(target => deliveryTo(target, handOver)),
  };
}

const deliveryTo = (target: string, { row, ids, now }: HandOver): DeliveryRow =>
  freshDelivery({ ...row, id: ids.next(), target, created_at: now }, row.target);
