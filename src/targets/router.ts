import * as z from 'zod';
import type { HeadgateEvent } from '../events/event.ts';
import type { Expression } from '../expressions/expression.ts';
import { withAliases } from '../lib/aliases.ts';
import { identifier } from '../lib/schemas.ts';
import { expressionText } from './expression-text.ts';
import { commonSettings } from './settings.ts';
import { defineTarget } from './target.ts';

const route = z.strictObject({
  filter: expressionText.describe('Expression over the event; the route is taken when it is true.'),
  output: identifier.describe('Id of the target that gets the event.'),
  description: z.string().max(4096).optional().describe('What the route is for.'),
  final: z.boolean().default(true).describe('Whether routes below a taken one are left out.'),
});

type Route = z.output<typeof route>;

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
  routes: (event, { routes }) => taken(event, routes).map(({ output }) => output),
  concurrency: () => 1,
  send: async () => ({ kind: 'refused', reason: 'a router only names the targets that get the event' }),
});

function taken(event: HeadgateEvent, routes: readonly Route[]): readonly Route[] {
  const all: Route[] = [];
  for (const one of routes) {
    if (!isTrue(one.filter, event)) continue;
    all.push(one);
    if (one.final) break;
  }
  return all;
}

/** A filter that cannot be evaluated for an event, as one of a field it does not have, is not true of it. */
function isTrue(filter: Expression, event: HeadgateEvent): boolean {
  try {
    return Boolean(filter.evaluate(event));
  } catch {
    return false;
  }
}
