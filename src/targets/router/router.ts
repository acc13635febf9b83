import * as z from 'zod';
import type { HeadgateEvent } from '../../events/event.ts';
import type { Expression } from '../../expressions/expression.ts';
import { expressionText } from '../../expressions/schema.ts';
import { withAliases } from '../../lib/aliases.ts';
import { calendarWindows, isInWindows } from '../../lib/calendar-windows.ts';
import { reasonOf } from '../../lib/errors.ts';
import { identifier } from '../../lib/schemas.ts';
import { EACH, filterSetting, settingsAt } from '../declarations.ts';
import { commonSettings, defineTarget, nothingToSend, type TakenRoute } from '../target.ts';

const route = z.strictObject({
  filter: expressionText.describe('Expression over the event; the route is taken when it is true.'),
  output: identifier.describe('Id of the target that gets the event.'),
  description: z.string().max(4096).optional().describe('What the route is for.'),
  activeWindows: calendarWindows
    .optional()
    .describe('When the route is taken, such as on-call hours; at any time when left out.'),
  final: z.boolean().default(true).describe('Whether routes below a taken one are left out.'),
});

const NAMES_OTHERS = {
  kind: 'refused',
  reason: 'a router only names the targets that get the event',
} as const;
const STANDS_IN = {
  kind: 'refused',
  reason: 'a default target only names the target that stands in',
} as const;

type RouterRoute = z.output<typeof route>;

/** Hands events on to other targets by rules, in their order. */
export const router = defineTarget({
  type: 'router',
  description: 'Hands events on to other targets by rules.',
  schema: withAliases(
    z.strictObject({
      ...commonSettings,
      type: z.literal('router').describe('Kind of target.'),
      routes: z
        .array(route)
        .min(1)
        .max(1000)
        .describe('The rules, tried in their order.')
        .meta({ aliases: ['rules'], template: true }),
    }),
  ),
  aliases: { rules: 'routes' },
  templates: [filterSetting(['routes', EACH, 'filter'])],
  references: [['routes', EACH, 'output']],
  routeRules: settings =>
    settingsAt(settings, ['routes', EACH]).flatMap(({ path, value }) =>
      settingsAt(value, ['filter']).flatMap(({ value: filter }) => {
        const isFinal =
          settingsAt(value, ['final']).every(one => one.value !== false) &&
          settingsAt(value, ['activeWindows']).length === 0;
        return typeof filter === 'string' ? [{ path: [...path, 'filter'], filter, isFinal }] : [];
      }),
    ),
  needsRecipients: false,
  usesProcessIdentity: () => undefined,
  files: [],
  routes: (event, { routes }, warn) => matchingRoutes(event, routes, warn),
  showsRepeats: () => false,
  concurrency: () => 1,
  send: async () => NAMES_OTHERS,
  preview: () => nothingToSend(NAMES_OTHERS),
});

function matchingRoutes(
  event: HeadgateEvent,
  routes: readonly RouterRoute[],
  warn: (reason: string) => void,
): readonly TakenRoute[] {
  const all: TakenRoute[] = [];
  for (const [index, one] of routes.entries()) {
    const failed = (reason: string): void =>
      warn(`routes[${index}].filter: ${reason}; the route is not taken`);
    if (!isActive(one, event) || !matches(one.filter, event, failed)) continue;
    all.push({ output: one.output, place: `routes[${index}]`, filter: one.filter.text });
    if (one.final) break;
  }
  return all;
}

/** Goes by the time of the event, so that the same event always takes the same routes. */
const isActive = ({ activeWindows }: RouterRoute, { _time }: HeadgateEvent): boolean =>
  activeWindows === undefined || isInWindows(activeWindows, _time * 1000);

/** Does not match an event for which the filter cannot be evaluated, such as one without its field. */
function matches(filter: Expression, event: HeadgateEvent, failed: (reason: string) => void): boolean {
  try {
    return Boolean(filter.evaluate(event));
  } catch (error) {
    failed(reasonOf(error));
    return false;
  }
}

/** Names the target that gets events for ids that no target has. Ids are replaced when the configuration is loaded. */
export const defaultTarget = defineTarget({
  type: 'default',
  description: 'Names the target that stands in for targets that do not exist.',
  schema: z.strictObject({
    ...commonSettings,
    type: z.literal('default').describe('Kind of target.'),
    defaultId: identifier.describe('Id of the target that gets the events.'),
  }),
  templates: [],
  references: [['defaultId']],
  isDefault: true,
  needsRecipients: false,
  usesProcessIdentity: () => undefined,
  files: [],
  routes: (_, { defaultId }) => [{ output: defaultId, place: 'defaultId' }],
  showsRepeats: () => false,
  concurrency: () => 1,
  send: async () => STANDS_IN,
  preview: () => nothingToSend(STANDS_IN),
});
