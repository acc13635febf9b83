import * as z from 'zod';
import { templateText } from '../expressions/schema.ts';
import { renderTemplate } from '../expressions/template.ts';
import { formatDuration } from '../lib/duration.ts';
import type { ConditionTraits, Description, Explanation, RuleTraits } from './condition.ts';

/** The state of a subject as an external event reports it. */
interface ExternalChange {
  readonly key: string;
  readonly state: 'ALARM' | 'OK';
  /** Fields its sender adds to the event. */
  readonly fields: Readonly<Record<string, unknown>>;
  /** How long the incident that it ends was open, in milliseconds; undefined when it begins one. */
  readonly openMs: number | undefined;
}

interface ExternalDefinition<Conf extends object> extends Omit<ConditionTraits, 'kind' | 'sample'> {
  readonly schema: z.ZodType<Conf>;
  /** Matches the keys that are equal to it or begin with it and a slash; undefined for all keys. */
  readonly topic: (conf: Conf) => string | undefined;
  /** Pure: the same event and conf give the same description. */
  readonly describe: (change: ExternalChange, conf: Conf) => Description;
}

/** A kind of rule on external events, from `POST /ingest/events`; its conf's type is hidden behind `configure`. */
export interface ExternalCondition extends ConditionTraits {
  readonly source: 'external';
  readonly schema: z.ZodType<object>;
  /** Validates a raw conf; throws `z.ZodError`. */
  configure(raw: unknown): ExternalRule;
}

/** A condition on external events with its conf. */
export interface ExternalRule extends RuleTraits {
  readonly source: 'external';
  readonly condition: ExternalCondition;
  /** Effective conf; serialises to what a file would say. */
  readonly conf: object;
  readonly topic: string | undefined;
  describe(change: ExternalChange): Description;
  /** An alarm of the key, without fields: what is behind it only its sender knows. */
  explain(key: string): Explanation;
}

/** The part of a key that is compared with a topic. */
export function topicOf(key: string): string {
  const end = key.indexOf('/');
  return end === -1 ? key : key.slice(0, end);
}

function defineExternalCondition<Conf extends object>(
  definition: ExternalDefinition<Conf>,
): ExternalCondition {
  const { schema, topic, describe, ...traits } = definition;
  const condition: ExternalCondition = {
    ...traits,
    source: 'external',
    kind: 'key',
    receivesEvents: true,
    schema,
    configure(raw) {
      const conf = schema.parse(raw);
      return {
        source: 'external',
        condition,
        conf,
        kind: 'key',
        windowMs: 0,
        repeatMs: null,
        noPending: `external events of '${traits.id}' notify at once; let their sender wait`,
        noKeeping: `external events of '${traits.id}' say themselves when an alarm ends; let their sender wait`,
        topic: topic(conf),
        describe: change => describe(change, conf),
        explain: key => ({
          facts: [],
          alarmInMs: 0,
          provided: `an ALARM of '${traits.id}' is posted to /ingest/events`,
          alarm: () => describe({ key, state: 'ALARM', fields: {}, openMs: undefined }, conf),
        }),
      };
    },
  };
  return condition;
}

/** A license that ends soon or has ended; the key says which license. */
export const licenseExpiration = defineExternalCondition({
  id: 'license-expiration',
  name: 'License Expiration',
  type: 'message',
  category: 'license',
  description: 'Somebody posted that a license expires; the field `expirationDate` says when.',
  senderFields: ['expirationDate'],
  example: { id: 'license' },
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

const NOT_EVALUATED_HERE = 'For the program that runs the search: its events have been judged already.';

const searchSchema = z.strictObject({
  savedQueryId: z
    .string()
    .regex(/^[^/\p{Cc}]{1,512}$/u, 'must be 1 to 512 characters without "/"')
    .describe('The saved search: meant are the keys that are equal to it, or begin with it and a slash.'),
  message: templateText
    .refine(({ text }) => text !== '' && text.length <= 1000, { error: 'must be 1 to 1000 characters' })
    .describe('The text of the message; a field of the event stands as `${field}`.'),
  triggerType: z.enum(['resultsCount', 'custom']).optional().describe(`What triggers. ${NOT_EVALUATED_HERE}`),
  triggerComparator: z
    .enum(['>', '<', '===', '!==', '>=', '<=', '='])
    .optional()
    .describe(`How the results are compared. ${NOT_EVALUATED_HERE}`),
  triggerCount: z.number().optional().describe(`With how many they are compared. ${NOT_EVALUATED_HERE}`),
  trigger: z.string().max(65_536).optional().describe(`Filter of the results. ${NOT_EVALUATED_HERE}`),
});

/** A saved search that found what it looks for. */
export const search = defineExternalCondition({
  id: 'search',
  name: 'Search Condition',
  type: 'search',
  category: 'search',
  description: 'The program that runs a saved search sent that it found something.',
  otherFields: ['savedQueryId'],
  example: { id: 'found', conf: { savedQueryId: 'errors', message: 'errors were found' } },
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

/** A monitor elsewhere that fires; the key is the monitor's id, with what distinguishes its alerts. */
export const monitorAlerts = defineExternalCondition({
  id: 'monitor-alerts',
  name: 'Monitor Alerts',
  type: 'monitor-alerts',
  category: 'alerts',
  description:
    'A monitor elsewhere posted that it fires; the fields `monitor_name` and `value` go into the text.',
  senderFields: ['monitor_name', 'value'],
  example: { id: 'alerts' },
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
