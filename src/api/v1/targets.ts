import * as z from 'zod';
import { isMap, type PlainMap } from '../../config/plain.ts';
import { shownTarget } from '../../config/secrets/shown.ts';
import type { TestResult } from '../../delivery/test-send.ts';
import { resolveAliases } from '../../lib/aliases.ts';
import type { Call, KeptSettings } from '../../resources/context.ts';
import { etagOf } from '../../resources/etag.ts';
import { itemBody } from '../../resources/item-writes.ts';
import {
  createTarget,
  type DescribedTarget,
  getTarget,
  listKeptSettings,
  listTargets,
  removeKeptSettings,
  removeTarget,
  testTarget,
  updateTarget,
} from '../../resources/targets.ts';
import type { IncidentRow } from '../../storage/stores/incidents.ts';
import { findTargetType, targetTypes } from '../../targets/index.ts';
import { isoTime, item, list } from '../envelope.ts';
import type { Shape } from '../operation.ts';
import { type Route, route, WRITE_ERRORS } from '../route.ts';

/** `pager_duty` is PagerDuty: a kind of target by its type's words. */
const kindName = (type: string): string =>
  `${type
    .split('_')
    .map(word => word.charAt(0).toUpperCase() + word.slice(1))
    .join('')}Target`;

const status = z.object({
  health: z
    .enum(['Green', 'Yellow', 'Red'])
    .describe(
      'Red while deliveries to it fail, and while it is switched off; Yellow while an expression of it fails.',
    ),
  since: z.iso.datetime().optional().describe('Since when it fails.'),
  error: z.string().optional().describe('What its last failure was, or why it is switched off.'),
  warning: z
    .string()
    .optional()
    .describe('The expression of it that failed in the last attempt, and what was done without it.'),
  heldBecause: z.string().optional().describe('Why what is due for it waits its turn, while it does.'),
});

/** One shape for each type of target, distinguished by `type`. */
const targetShape: Shape = {
  name: 'Target',
  sentAs: 'TargetSettings',
  schema: z.unknown(),
  variants: targetTypes.map(({ type, schema, aliases }) => ({
    name: kindName(type),
    sentAs: `${kindName(type)}Settings`,
    schema,
    ...(aliases && { aliases }),
    answerFields: { status },
  })),
};

/** Effective settings, secrets masked. */
export function wireTarget({
  settings,
  switchedOff,
  failure,
  heldBecause,
  warning,
}: DescribedTarget): object {
  const type = typeof settings.type === 'string' ? findTargetType(settings.type) : undefined;
  const others = Object.entries(type?.aliases ?? {}).map(([name, key]) => [name, settings[key]]);
  return {
    ...settings,
    ...Object.fromEntries(others),
    status: {
      ...wireHealth(failure, switchedOff, warning),
      ...(heldBecause !== undefined && { heldBecause }),
    },
  };
}

function wireHealth(
  failure: IncidentRow | undefined,
  switchedOff: string | undefined,
  warning: string | undefined,
): z.output<typeof status> {
  const error = switchedOff === undefined ? failure?.text : `switched off: ${switchedOff}`;
  if (error === undefined) return warning === undefined ? { health: 'Green' } : { health: 'Yellow', warning };
  return {
    health: 'Red',
    ...(failure && { since: isoTime(failure.opened_at) }),
    error,
    ...(warning !== undefined && { warning }),
  };
}

/**
 * Brings a body under the settings' own names, as `underOwnNames` does. `present` is the target the client may have
 * read; undefined for a new one.
 */
export function sentTarget(sent: object, present: PlainMap | undefined): object {
  const type: unknown = Reflect.get(sent, 'type') ?? present?.type;
  const schema = typeof type === 'string' ? findTargetType(type)?.schema : undefined;
  if (schema === undefined) return sent;
  return resolveAliases(schema, sent, present);
}

const headers = z.record(z.string(), z.string()).describe('Values of headers that may be secret are masked.');

const testFields = {
  target: z.string().describe('Id of the target that was sent to.'),
  success: z.boolean().describe('Whether it arrived.'),
  verdict: z
    .enum(['sent', 'retry', 'unknown', 'refused'])
    .describe('What a delivery would do now: it has arrived, is tried again, or is given up.'),
  reason: z.string().optional().describe('Why it did not arrive; of one that did, what it does not show.'),
  request: z
    .union([
      z.object({ method: z.string(), url: z.string(), headers, body: z.string() }),
      z.object({ event: z.record(z.string(), z.unknown()) }),
    ])
    .describe('The request over HTTP, or the event for what goes another way; secrets are masked.'),
  response: z
    .object({ status: z.int().optional(), headers: headers.optional(), body: z.string() })
    .nullable()
    .describe('What was answered, up to 2 KB; null when nothing was.'),
};
const testResultSchema = z.object({
  ...testFields,
  outputs: z
    .array(z.object(testFields))
    .optional()
    .describe('Of a router: what came of it at each target it led to.'),
});
const testResultShape: Shape = { name: 'TargetTest', schema: testResultSchema };

const wireTestResult = ({ outputs, ...one }: TestResult): z.output<typeof testResultSchema> => ({
  ...wireTest(one),
  ...(outputs && { outputs: outputs.map(wireTest) }),
});

function wireTest({ outputs: _, ...one }: TestResult): Omit<z.output<typeof testResultSchema>, 'outputs'> {
  const { request } = one;
  return { ...one, request: 'event' in request ? { event: { ...request.event } } : request };
}

const testRequestShape: Shape = {
  name: 'TargetTestRequest',
  schema: z.object({
    testEmails: z.array(z.string()).optional().describe('Who gets the test of an smtp target.'),
    target: itemBody.optional(),
  }),
};

const PATH = '/notification-targets';
const targetRoute = {
  path: `${PATH}/:id`,
  answer: item(targetShape, wireTarget),
  etag: ({ settings }: DescribedTarget) => etagOf(settings),
};
const example = { params: { id: 'shop_hook' } };

function acceptTarget(body: unknown, { context }: Call, { id }: PlainMap): unknown {
  if (!isMap(body)) return body;
  const now = context.configuration();
  const present = now.targets.find(({ settings }) => settings.id === id);
  return sentTarget(body, present && shownTarget(now, present));
}

export const targetRoutes: readonly Route[] = [
  route({
    id: 'targets.list',
    grouped: 'alike',
    method: 'GET',
    path: PATH,
    summary: 'List the targets with every default, secrets masked',
    verb: listTargets,
    answer: list(targetShape, wireTarget),
    example: { query: { limit: '1' } },
  }),
  route({
    ...targetRoute,
    id: 'targets.create',
    grouped: 'alike',
    method: 'POST',
    path: PATH,
    summary: 'Add a target',
    description: 'Secrets of the body go to the encrypted store, references to them into the file.',
    verb: createTarget,
    takes: { shape: targetShape },
    accept: body => (isMap(body) ? sentTarget(body, undefined) : body),
    errors: WRITE_ERRORS,
    example: {
      body: {
        id: 'shop_hook',
        type: 'webhook',
        url: 'https://hooks.example/shop',
        authType: 'token',
        token: 'from-the-receiver',
      },
    },
  }),
  route({
    ...targetRoute,
    id: 'targets.get',
    grouped: 'alike',
    method: 'GET',
    summary: 'Get a target',
    verb: getTarget,
    example: { params: { id: 'log' } },
  }),
  route({
    ...targetRoute,
    id: 'targets.update',
    grouped: 'alike',
    method: 'PATCH',
    summary: 'Change a target',
    description:
      'Another destination, or another protection, must bring its secrets anew. `********` keeps what is stored.',
    verb: updateTarget,
    takes: { shape: targetShape, kind: 'part' },
    accept: acceptTarget,
    errors: WRITE_ERRORS,
    example: { ...example, body: { description: 'The team of the shop.' } },
  }),
  route({
    ...targetRoute,
    id: 'targets.remove',
    grouped: 'alike',
    method: 'DELETE',
    summary: 'Remove a target that nothing sends to',
    verb: removeTarget,
    errors: WRITE_ERRORS,
    example,
  }),
  route({
    id: 'targets.test',
    grouped: 'alike',
    method: 'POST',
    path: `${PATH}/:id/test`,
    summary: 'Send a test to a target as deliveries are sent to it',
    description:
      'The answer is 200 whatever came of it: `success` says whether it arrived. Of a router `outputs` says it for each target the test was routed to. With `target` in the body those settings are tested and not kept.',
    verb: testTarget,
    takes: { shape: testRequestShape },
    accept: (body, call, input) =>
      isMap(body) && isMap(body.target) ? { ...body, target: acceptTarget(body.target, call, input) } : body,
    answer: item(testResultShape, wireTestResult),
    errors: ['rate-limited', 'unprocessable', 'configuration-broken', 'conflict'],
    example: { params: { id: 'log' }, body: {} },
  }),
];

const keptSettings = z.object({
  id: z.string(),
  target: z.string().describe('The target whose settings they were.'),
  type: z.string().describe('Its type by them.'),
  reason: z
    .enum(['changed', 'removed'])
    .describe('Whether the target has other settings now, or is not configured any more.'),
  replacedAt: z.iso.datetime().describe('When that happened.'),
  expiresAt: z.iso.datetime().describe('When they are dropped at the latest.'),
  incidents: z.int().describe('How many open incidents may be open by them.'),
});
const keptSettingsShape: Shape = { name: 'KeptSettings', schema: keptSettings };

const wireKeptSettings = (kept: KeptSettings): z.output<typeof keptSettings> => ({
  ...kept,
  replacedAt: isoTime(kept.replacedAt),
  expiresAt: isoTime(kept.expiresAt),
});

const keptPath = '/kept-settings';

export const keptSettingsRoutes: readonly Route[] = [
  route({
    id: 'keptSettings.remove',
    method: 'DELETE',
    path: `${keptPath}/:id`,
    summary: 'Remove kept settings, such as those with a secret that has leaked',
    description: 'What is open by them is closed by nothing any more: close it by hand.',
    verb: removeKeptSettings,
    answer: item(keptSettingsShape, wireKeptSettings),
    errors: ['not-found'],
    example: { params: { id: '{kept}' } },
  }),
  route({
    id: 'keptSettings.list',
    method: 'GET',
    path: keptPath,
    summary: 'List the settings of before that are kept for the ends of alarms, the oldest first',
    description:
      'What they are is not shown: they hold secrets. They are dropped when nothing is open by them any more, after 30 days at the latest.',
    verb: listKeptSettings,
    answer: list(keptSettingsShape, wireKeptSettings),
  }),
];
