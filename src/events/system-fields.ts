import * as z from 'zod';
import type { HeadgateEvent } from './event.ts';

/** Every field that can be attached at send; `cribl_route` is a name of Cribl's that has no value here. */
export const SYSTEM_FIELDS = [
  'cribl_host',
  'cribl_pipe',
  'cribl_input',
  'cribl_output',
  'cribl_wp',
  'cribl_route',
] as const;
type SystemField = (typeof SYSTEM_FIELDS)[number];

/** Values that are known when an event is sent; one that is not known is not attached. */
export type SystemFieldValues = { readonly [field in SystemField]?: string | undefined } & {
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

/** Attaches the values whose names a pattern matches. A field the event already has keeps its value. */
export function withSystemFields(
  event: HeadgateEvent,
  patterns: readonly string[],
  values: SystemFieldValues,
): HeadgateEvent {
  // Set one by one, as each event is sent through here: what is spread behind it costs as much as all the rest.
  const whole: HeadgateEvent & { [field: string]: unknown } = { ...event };
  for (const field of SYSTEM_FIELDS) {
    const value = values[field];
    if (value === undefined || Object.hasOwn(event, field)) continue;
    if (patterns.some(one => matches(one, field))) whole[field] = value;
  }
  return whole;
}

function matches(text: string, field: SystemField): boolean {
  if (!text.includes('*')) return text === field;
  const parts = text.split(/\*+/).map(part => part.replace(/[^\w]/g, '\\$&'));
  return new RegExp(`^${parts.join('.*')}$`).test(field);
}

/** The system fields an event has, as lines for people. */
export const systemFieldLines = (event: HeadgateEvent): readonly string[] =>
  SYSTEM_FIELDS.flatMap(field => (Object.hasOwn(event, field) ? [`${field}: ${String(event[field])}`] : []));

/** The event without the names that begin `__`: they influence delivery inside and never leave. */
export function withoutInternal(event: HeadgateEvent): HeadgateEvent {
  const internal = Object.keys(event).filter(field => field.startsWith('__'));
  if (internal.length === 0) return event;
  const copy: HeadgateEvent & { [field: string]: unknown } = { ...event };
  for (const field of internal) delete copy[field];
  return copy;
}

/** Fields that say the same of every event, and those attached at send: nobody who adds fields may set them. */
export const RESERVED_FIELDS: readonly string[] = [
  'id',
  'status',
  'condition',
  'cribl_notification',
  'input',
  'output',
  'key',
  'target',
  'origin_metadata',
  '_time',
  'starttime',
  'endtime',
  'severity',
  'incidentId',
  'incidentUrl',
  'silenceUrl',
  'description',
  'runbookUrl',
  '_raw',
  ...SYSTEM_FIELDS,
];

/** Variables that subject and body of a mail may name besides; templates of Cribl-compatible clients do. */
export const MAIL_VARIABLES: readonly string[] = [
  'workspace',
  'organization',
  'timestamp',
  'timewindow',
  'queue_usage',
  'worker_group',
  'name',
];
