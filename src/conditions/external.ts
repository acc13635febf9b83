import * as z from 'zod';
import { templateText } from '../expressions/schema.ts';
import { renderTemplate } from '../expressions/template.ts';
import { formatDuration } from '../lib/duration.ts';
import type { Description } from './condition.ts';

/** What somebody else found out and posted. */
interface ExternalChange {
  /** What it is about; the incident's subject. */
  readonly key: string;
  readonly state: 'ALARM' | 'OK';
  /** Fields its sender adds to the event. */
  readonly fields: Readonly<Record<string, unknown>>;
  /** How long the incident that it ends was open, in milliseconds; undefined when it begins one. */
  readonly openMs: number | undefined;
}

interface ExternalConditionFields {
  readonly id: string;
  readonly name: string;
  readonly type: 'message' | 'search' | 'monitor-alerts';
  readonly category: 'license' | 'search' | 'alerts';
  readonly description: string;
  /** Names of the fields it adds to an event, which nobody else may set. */
  readonly adds: readonly string[];
}

interface ExternalDefinition<Conf extends object> extends ExternalConditionFields {
  readonly schema: z.ZodType<Conf>;
  /** Meant are the keys that are equal to it or begin with it and a slash; undefined for all keys. */
  topic(conf: Conf): string | undefined;
  /** Pure: the same event and conf give the same description. */
  describe(change: ExternalChange, conf: Conf): Description;
}

/** A kind of rule that is told by others over `POST /ingest/events`, its conf's type hidden behind `configure`. */
export interface ExternalCondition extends ExternalConditionFields {
  readonly source: 'posted';
  readonly schema: z.ZodType<object>;
  /** Validates a raw conf; throws `z.ZodError`. */
  configure(raw: unknown): ExternalRule;
}

/** A condition on posted events with its conf. */
export interface ExternalRule {
  readonly source: 'posted';
  readonly condition: ExternalCondition;
  /** Effective conf; serialises to what a file would say. */
  readonly conf: object;
  readonly topic: string | undefined;
  describe(change: ExternalChange): Description;
}

/** The part of a key that a topic is held against. */
export function topicOf(key: string): string {
  const end = key.indexOf('/');
  return end === -1 ? key : key.slice(0, end);
}

function defineExternalCondition<Conf extends object>(
  definition: ExternalDefinition<Conf>,
): ExternalCondition {
  const { id, name, type, category, description, adds, schema } = definition;
  const condition: ExternalCondition = {
    source: 'posted',
    id,
    name,
    type,
    category,
    description,
    adds,
    schema,
    configure(raw) {
      const conf = schema.parse(raw);
      return {
        source: 'posted',
        condition,
        conf,
        topic: definition.topic(conf),
        describe: change => definition.describe(change, conf),
      };
    },
  };
  return condition;
}

/** A license that ends soon or has ended, as whoever watches it posts; the key says which license. */
export const licenseExpiration = defineExternalCondition({
  id: 'license-expiration',
  name: 'License Expiration',
  type: 'message',
  category: 'license',
  description: 'Somebody posted that a license expires; the field `expirationDate` says when.',
  adds: [],
  schema: z.strictObject({}),
  topic: () => undefined,
  describe({ key, fields, openMs }) {
    if (openMs !== undefined)
      return { fields, text: `License ${key} is valid again after ${formatDuration(openMs)}` };
    const { expirationDate } = fields;
    const isKnown = typeof expirationDate === 'string' || typeof expirationDate === 'number';
    return { fields, text: `License ${key} expires${isKnown ? ` on ${expirationDate}` : ''}` };
  },
});

const NOT_EVALUATED_HERE = 'For whoever runs the search: what is posted has been judged already.';

const searchSchema = z.strictObject({
  savedQueryId: z
    .string()
    .regex(/^[^/\p{Cc}]{1,512}$/u, 'must be 1 to 512 characters without "/"')
    .describe('The saved search: meant are the keys that are equal to it, or begin with it and a slash.'),
  message: templateText
    .refine(({ text }) => text !== '' && text.length <= 1000, { error: 'must be 1 to 1000 characters' })
    .describe('What people are told; a field of the event stands as `${field}`.'),
  triggerType: z.enum(['resultsCount', 'custom']).optional().describe(`What triggers. ${NOT_EVALUATED_HERE}`),
  triggerComparator: z
    .enum(['>', '<', '===', '!==', '>=', '<=', '='])
    .optional()
    .describe(`How the results are compared. ${NOT_EVALUATED_HERE}`),
  triggerCount: z.number().optional().describe(`With how many they are compared. ${NOT_EVALUATED_HERE}`),
  trigger: z.string().max(65_536).optional().describe(`Filter of the results. ${NOT_EVALUATED_HERE}`),
});

/** A saved search that found what it looks for, as whoever runs it posts. */
export const search = defineExternalCondition({
  id: 'search',
  name: 'Search Condition',
  type: 'search',
  category: 'search',
  description: 'Whoever runs a saved search posted that it found something.',
  adds: ['savedQueryId'],
  schema: searchSchema,
  topic: ({ savedQueryId }) => savedQueryId,
  describe({ key, fields, openMs }, { savedQueryId, message }) {
    const eventFields = { ...fields, savedQueryId };
    if (openMs !== undefined)
      return {
        fields: eventFields,
        text: `Search ${key} finds nothing any more after ${formatDuration(openMs)}`,
      };
    const { text, ...gaps } = renderTemplate(message, { ...eventFields, key });
    return { fields: eventFields, text: `Search ${key}: ${text}`, gaps: { setting: 'message', ...gaps } };
  },
});

/** What a monitor elsewhere found; the key is the monitor's id, with whatever tells its alerts apart. */
export const monitorAlerts = defineExternalCondition({
  id: 'monitor-alerts',
  name: 'Monitor Alerts',
  type: 'monitor-alerts',
  category: 'alerts',
  description:
    'A monitor elsewhere posted that it fires; the fields `monitor_name` and `value` go into the text.',
  adds: [],
  schema: z.strictObject({}),
  topic: () => undefined,
  describe({ key, fields, openMs }) {
    const { monitor_name, value } = fields;
    const name = typeof monitor_name === 'string' && monitor_name !== '' ? `${monitor_name} (${key})` : key;
    if (openMs !== undefined)
      return { fields, text: `Monitor ${name} is cleared after ${formatDuration(openMs)}` };
    const isKnown = typeof value === 'string' || typeof value === 'number';
    return { fields, text: `Monitor ${name} is firing${isKnown ? `: ${value}` : ''}` };
  },
});
