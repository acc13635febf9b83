import type { HeadgateEvent } from '../events/event.ts';
import type { Expression } from '../expressions/expression.ts';
import { reasonOf } from '../lib/errors.ts';

/** A field that a notification adds to its events. */
export interface MetadataField {
  readonly name: string;
  readonly value: Expression;
}

/** Limit on all fields that are added to one event, as JSON. */
const MAX_METADATA_LENGTH = 65_536;

/**
 * Adds the fields of its notification to an event, each evaluated over the event as it was without them. A field that
 * the event has keeps its value. A field that cannot be evaluated is omitted, and `omitted` called.
 */
export function withMetadata(
  event: HeadgateEvent,
  metadata: readonly MetadataField[],
  omitted: (field: string, reason: string) => void,
): HeadgateEvent {
  const added: [string, unknown][] = [];
  let remaining = MAX_METADATA_LENGTH;
  for (const { name, value } of metadata) {
    if (Object.hasOwn(event, name)) continue;
    try {
      const result = value.evaluate(event);
      if (result === undefined) continue;
      remaining -= JSON.stringify(result).length;
      if (remaining < 0)
        omitted(name, `metadata of one event comes to more than ${MAX_METADATA_LENGTH} characters`);
      else added.push([name, result]);
    } catch (error) {
      omitted(name, reasonOf(error));
    }
  }
  return added.length === 0 ? event : { ...event, ...Object.fromEntries(added) };
}
