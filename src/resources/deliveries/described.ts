import type { DeliveryRow } from '../../storage/storage.ts';
import type { House } from '../verb.ts';

/** A delivery as reads answer it. */
export interface DescribedDelivery {
  readonly row: DeliveryRow;
  /** Why it waits, when that is not for its next attempt. */
  readonly heldBecause: string | undefined;
}

export function describedDelivery(
  { configuration }: Pick<House, 'configuration'>,
  row: DeliveryRow,
): DescribedDelivery {
  if (row.state === 'grouped' && row.held_for !== null) return { row, heldBecause: outageBecause(row) };
  const isHeld =
    row.state === 'waiting' && !configuration().targets.some(({ settings }) => settings.id === row.target);
  return { row, heldBecause: isHeld ? heldBecause(row) : undefined };
}

const outageBecause = ({ held_for: pipeline, target }: DeliveryRow): string =>
  `pipeline '${pipeline}' is unreachable, and target '${target}' was told; it is sent if its incident outlasts that`;

const heldBecause = ({ status, target }: DeliveryRow): string =>
  status === 'OK'
    ? `target '${target}' was removed; it is told the end of what it was told as long as its last settings work`
    : `target '${target}' was removed; it is sent when a target of this id is configured again`;
