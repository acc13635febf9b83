import * as z from 'zod';
import { conditions } from '../conditions/index.ts';
import { EXTERNAL_HINTS } from '../events/delivery-hints.ts';
import { RESERVED_FIELDS } from '../events/system-fields.ts';
import { ProblemList, readInput } from '../lib/problem-list.ts';
import { fieldName } from './metadata.ts';

const MAX_EVENTS = 1000;
const MAX_FIELDS = 100;
/** Limit on the fields of one event, as JSON. */
const MAX_FIELDS_LENGTH = 65_536;

/** By id of a condition that takes external events: the fields that it adds itself. */
const addedFields = new Map(
  conditions.flatMap(({ id, receivesEvents, otherFields = [] }) =>
    receivesEvents === true ? [[id, otherFields] as const] : [],
  ),
);
const ownFields = new Set(RESERVED_FIELDS);

const event = z
  .strictObject({
    condition: z
      .enum([...addedFields.keys()], {
        error: `must be a condition that takes posted events: ${[...addedFields.keys()].join(', ')}`,
      })
      .describe('Which condition it is an event of.'),
    key: z
      .string()
      .regex(/^\P{Cc}{1,512}$/u, 'must be 1 to 512 characters that can be printed')
      .describe('What it is about, such as the id of a search: the subject of the incident.'),
    state: z
      .enum(['ALARM', 'OK'])
      .describe('ALARM opens an incident, OK closes it; of a heartbeat OK says that all is well.'),
    fields: z.record(z.string(), z.unknown()).optional().describe('What is added to the event, by name.'),
    id: z.string().min(1).max(512).optional().describe("The sender's own: the same one twice counts once."),
  })
  .superRefine(({ condition, fields }, context) => {
    if (fields === undefined) return;
    for (const [path, message] of faultsOf(fields, addedFields.get(condition) ?? []))
      context.addIssue({ code: 'custom', path: ['fields', ...path], message });
  });

function* faultsOf(
  fields: Readonly<Record<string, unknown>>,
  reserved: readonly string[],
): Generator<[string[], string]> {
  const names = Object.keys(fields);
  for (const name of names) {
    const fault = faultOf(name, fields[name], reserved);
    if (fault !== undefined) yield [[name], fault];
  }
  if (names.length > 0 && JSON.stringify(fields).length > MAX_FIELDS_LENGTH)
    yield [[], `must be at most ${MAX_FIELDS_LENGTH} characters of JSON`];
}

function faultOf(name: string, value: unknown, reserved: readonly string[]): string | undefined {
  if (name.startsWith('__')) return hintFault(name, value);
  if (ownFields.has(name) || reserved.includes(name))
    return `must have another name: the event has a ${name} of its own`;
  const read = fieldName.safeParse(name);
  return read.success ? undefined : read.error.issues[0]?.message;
}

const MAX_HINT_LENGTH = 2048;

function hintFault(name: string, value: unknown): string | undefined {
  if (!EXTERNAL_HINTS.includes(name))
    return `must not begin with "__", as what steers the delivery does; of those there may be ${EXTERNAL_HINTS.join(', ')}`;
  return typeof value === 'string' && value.length <= MAX_HINT_LENGTH
    ? undefined
    : `must be a text of at most ${MAX_HINT_LENGTH} characters: it steers the delivery`;
}

const TOO_MANY = `must be at most ${MAX_EVENTS} events`;
const events = z.array(event).max(MAX_EVENTS, TOO_MANY);

/** The body of `POST /ingest/events`: one event or an array. */
export const externalEventsSchema = z.union([event, events]);

export type ExternalEvent = z.output<typeof event>;

/** Takes events that the sender of a pipeline posts; resolves and rejects as `Engine.receive` does. */
export type ReceiveEvents = (pipeline: string, events: readonly ExternalEvent[]) => Promise<void>;

/** A list that is longer is refused before any of its events is looked at. */
const fewEvents = z.array(z.unknown()).max(MAX_EVENTS, TOO_MANY).pipe(events);

/** Reads a body; throws `invalid-request` with the index of each bad event: one bad event refuses the whole body. */
export function readExternalEvents(raw: unknown): readonly ExternalEvent[] {
  assertFewFields(raw);
  return Array.isArray(raw) ? readInput(fewEvents, raw) : [readInput(event, raw)];
}

/** Asked before any field is looked at. */
function assertFewFields(raw: unknown): void {
  const problems = new ProblemList();
  const list: readonly unknown[] = Array.isArray(raw) ? raw : [raw];
  if (list.length > MAX_EVENTS) return;
  for (const [at, one] of list.entries())
    if (countOf(one) > MAX_FIELDS)
      problems.add(Array.isArray(raw) ? `[${at}].fields` : 'fields', `must be at most ${MAX_FIELDS} fields`);
  if (problems.count > 0) throw problems.refusal();
}

function countOf(one: unknown): number {
  const { fields }: { readonly fields?: unknown } = Object(one);
  return typeof fields === 'object' && fields !== null ? Object.keys(fields).length : 0;
}
