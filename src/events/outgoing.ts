import { withDeliveryHints } from './delivery-hints.ts';
import type { HeadgateEvent } from './event.ts';
import { withoutInternal, withSystemFields } from './system-fields.ts';

const text = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined);

/** The event as this target gets it: its system fields attached, names beginning `__` dropped or kept as delivery hints. */
export const toOutgoing = (
  event: HeadgateEvent,
  systemFields: readonly string[],
  host: string,
): HeadgateEvent => withDeliveryHints(withoutInternal(withAttachedFields(event, systemFields, host)), event);

/** The event with its system fields; `host` is what `cribl_host` says. */
export function withAttachedFields(
  event: HeadgateEvent,
  systemFields: readonly string[],
  host: string,
): HeadgateEvent {
  const systemValues = {
    cribl_host: host,
    cribl_pipe: text(event.__pipeline),
    cribl_input: text(event.input),
    cribl_output: text(event.output),
    cribl_wp: text(event.__replica),
  };
  return withSystemFields(event, systemFields, systemValues);
}
