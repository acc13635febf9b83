import * as z from 'zod';
import { conditions } from '../conditions/index.ts';
import { OWN_FIELDS } from '../events/event-fields.ts';
import { POSTED_STEERING } from '../events/steering.ts';
import { fieldName } from './notification.ts';

const MOST_EVENTS = 1000;
const MOST_FIELDS = 100;
/** Of the fields of one event, as JSON. */
const MOST_FIELDS_LENGTH = 65_536;

const posted = new Map(
  conditions.flatMap((one): [string, { adds: readonly string[] }][] =>
    one.source === 'posted' || one.source === 'beat' ? [[one.id, one]] : [],
  ),
);
const own = new Set(OWN_FIELDS);

const event = z
  .strictObject({
    condition: z
      .enum([...posted.keys()], {
        error: `must be a condition that takes posted events: ${[...posted.keys()].join(', ')}`,
      })
      .describe('Which condition it tells of.'),
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
    for (const [path, message] of faultsOf(fields, posted.get(condition)?.adds ?? []))
      context.addIssue({ code: 'custom', path: ['fields', ...path], message });
  });

function* faultsOf(
  fields: Readonly<Record<string, unknown>>,
  added: readonly string[],
): Generator<[string[], string]> {
  const names = Object.keys(fields);
  if (names.length > MOST_FIELDS) return yield [[], `must be at most ${MOST_FIELDS} fields`];
  for (const name of names) {
    const fault = faultOf(name, fields[name], added);
    if (fault !== undefined) yield [[name], fault];
  }
  if (names.length > 0 && JSON.stringify(fields).length > MOST_FIELDS_LENGTH)
    yield [[], `must be at most ${MOST_FIELDS_LENGTH} characters of JSON`];
}

function faultOf(name: string, value: unknown, added: readonly string[]): string | undefined {
  if (name.startsWith('__')) return steeringFault(name, value);
  if (own.has(name) || added.includes(name))
    return `must have another name: the event has a ${name} of its own`;
  const read = fieldName.safeParse(name);
  return read.success ? undefined : read.error.issues[0]?.message;
}

const MOST_STEERING_LENGTH = 2048;

function steeringFault(name: string, value: unknown): string | undefined {
  if (!POSTED_STEERING.includes(name))
    return `must not begin with "__", as what steers the delivery does; of those there may be ${POSTED_STEERING.join(', ')}`;
  return typeof value === 'string' && value.length <= MOST_STEERING_LENGTH
    ? undefined
    : `must be a text of at most ${MOST_STEERING_LENGTH} characters: it steers the delivery`;
}

const events = z.array(event).max(MOST_EVENTS, `must be at most ${MOST_EVENTS} events`);

/** The body of `POST /ingest/events`: an event or some. */
export const postedEventsSchema = z.union([event, events]);

export type PostedEvent = z.output<typeof event>;

/** Reads a body; throws `z.ZodError` with the index of each bad event: one of them spoils the whole body. */
export function readPostedEvents(raw: unknown): readonly PostedEvent[] {
  return Array.isArray(raw) ? events.parse(raw) : [event.parse(raw)];
}
