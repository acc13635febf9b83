import type { HeadgateEvent } from '../events/event.ts';
import { withSteering } from '../events/steering.ts';
import { withoutInternal, withSystemFields } from '../events/system-fields.ts';

const text = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined);

/** The event as this target gets it: its system fields attached, names beginning `__` left behind or kept apart. */
export const outgoing = (
  event: HeadgateEvent,
  systemFields: readonly string[],
  host: string,
): HeadgateEvent => withSteering(withoutInternal(attached(event, systemFields, host)), event);

/** The event with its system fields; `host` is what `cribl_host` says. */
export function attached(event: HeadgateEvent, systemFields: readonly string[], host: string): HeadgateEvent {
  const facts = {
    cribl_host: host,
    cribl_pipe: text(event.__pipeline),
    cribl_input: text(event.input),
    cribl_output: text(event.output),
    cribl_wp: text(event.__replica),
  };
  return withSystemFields(event, systemFields, facts);
}
