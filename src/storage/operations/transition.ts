import type { DeliveryRow } from '../stores/deliveries.ts';
import type { EventRow } from '../stores/events.ts';
import type { IncidentRow } from '../stores/incidents.ts';
import type { MessageRow } from '../stores/messages.ts';

/**
 * Writes an incident's transition or repeat with all that follows from it, or nothing at all.
 * Refused with `conflict` when `expectedSeq` (0 to open) is not the incident's present one, or when another incident
 * of the same notification and subject is open.
 */
export interface TransitionOperation {
  readonly kind: 'transition';
  readonly workspace: string;
  readonly expectedSeq: number;
  readonly incident: IncidentRow;
  readonly event: EventRow;
  readonly deliveries: readonly DeliveryRow[];
  readonly message: MessageRow;
  /** Ids of deliveries that wait in a group and are not to be told any more; conflicts with one that was let go. */
  readonly dropped?: readonly string[];
}
