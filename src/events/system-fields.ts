import * as z from 'zod';
import type { HeadgateEvent } from './event.ts';

/** Every field that can be attached at send; `cribl_route` is a name of the family that has nothing to say here. */
export const SYSTEM_FIELDS = [
  'cribl_host',
  'cribl_pipe',
  'cribl_input',
  'cribl_output',
  'cribl_wp',
  'cribl_route',
] as const;
type SystemField = (typeof SYSTEM_FIELDS)[number];

/** What is known when an event is sent; a fact that is not known is not attached. */
export type SystemFacts = { readonly [field in SystemField]?: string | undefined } & {
  /** Name of this instance. */
  readonly cribl_host: string;
};

const isKnown = (name: string): boolean => SYSTEM_FIELDS.some(field => field === name);

const pattern = z
  .string()
  .max(128)
  .refine(text => text.includes('*') || isKnown(text), {
    error: `is no system field; known are ${SYSTEM_FIELDS.join(', ')}, and patterns with "*"`,
  });

/** Names or patterns with `*` of the fields a target wants; an empty list attaches none. */
export const systemFieldPatterns = z.array(pattern).max(32);

/** Attaches the facts whose names a pattern matches. A field the event already has keeps its value. */
export function withSystemFields(
  event: HeadgateEvent,
  patterns: readonly string[],
  facts: SystemFacts,
): HeadgateEvent {
  const attached: Record<string, string> = {};
  for (const field of SYSTEM_FIELDS) {
    const fact = facts[field];
    if (fact === undefined || Object.hasOwn(event, field)) continue;
    if (patterns.some(one => matches(one, field))) attached[field] = fact;
  }
  return { ...event, ...attached };
}

function matches(text: string, field: SystemField): boolean {
  if (!text.includes('*')) return text === field;
  const parts = text.split(/\*+/).map(part => part.replace(/[^\w]/g, '\\$&'));
  return new RegExp(`^${parts.join('.*')}$`).test(field);
}

/** The system fields an event has, as lines for people. */
export const systemFieldLines = (event: HeadgateEvent): readonly string[] =>
  SYSTEM_FIELDS.flatMap(field => (Object.hasOwn(event, field) ? [`${field}: ${String(event[field])}`] : []));

/** The event without the names that begin `__`: they steer delivery inside and never leave. */
export function withoutInternal(event: HeadgateEvent): HeadgateEvent {
  const internal = Object.keys(event).filter(field => field.startsWith('__'));
  if (internal.length === 0) return event;
  const copy: HeadgateEvent & { [field: string]: unknown } = { ...event };
  for (const field of internal) delete copy[field];
  return copy;
}
