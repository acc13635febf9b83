import * as z from 'zod';
import type { HeadgateEvent } from '../events/event.ts';
import { FACT_FIELDS } from '../events/facts.ts';
import { RESERVED_FIELDS } from '../events/system-fields.ts';
import type { Expression } from '../expressions/expression.ts';
import { expressionText } from '../expressions/schema.ts';
import { reasonOf } from '../lib/errors.ts';
import { repeatedItems } from '../lib/schemas.ts';

/** Name of a field that a notification adds to events. */
export const fieldName = z
  .string()
  .regex(/^[A-Za-z_][A-Za-z0-9_]{0,127}$/, 'must be a name of letters, digits and "_", no digit first');

export const metadata = z
  .array(
    z.strictObject({
      name: fieldName
        .refine(name => !RESERVED_FIELDS.includes(name), {
          error: 'is a field that every event has or may have; choose another name',
        })
        .describe('Name of the field.'),
      value: expressionText.describe(
        "Expression that gives its value; a text stands in quotes: `'production'`.",
      ),
    }),
  )
  .max(100)
  .superRefine((entries, context) => {
    for (const { index } of repeatedItems(entries, ({ name }) => name))
      context.addIssue({
        code: 'custom',
        path: [index, 'name'],
        message: 'must be given once; an earlier item has the same name',
      });
  });

/** A field that a notification adds to its events. */
export interface MetadataField {
  readonly name: string;
  readonly value: Expression;
}

/** Limit on all fields that are added to one event, as JSON. */
const MAX_METADATA_LENGTH = 65_536;

const facts: ReadonlySet<string> = new Set(FACT_FIELDS);

/**
 * Adds the fields of its notification to an event, each evaluated over the event as it was without them. A field that
 * the event has keeps its value, unless it is one of the facts. A field that cannot be evaluated is omitted, and
 * `omitted` called.
 */
export function withMetadata(
  event: HeadgateEvent,
  metadata: readonly MetadataField[],
  omitted: (field: string, reason: string) => void,
): HeadgateEvent {
  const added: [string, unknown][] = [];
  let remaining = MAX_METADATA_LENGTH;
  for (const { name, value } of metadata) {
    if (Object.hasOwn(event, name) && !facts.has(name)) continue;
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
