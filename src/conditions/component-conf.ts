import * as z from 'zod';
import { duration } from '../lib/schemas.ts';
import type { ComponentKinds } from './condition.ts';

/** What every condition on components has in its conf; `window` says what its timeWindow is. */
export const componentConf = (kind: ComponentKinds, window: string) => ({
  name: z
    .string()
    .min(1)
    .describe(`The ${calledIn(kind)}: \`type:id\`, an id, or a pattern with \`*\`.`),
  timeWindow: duration({ min: '1s' }).prefault('60s').describe(window),
  notifyOnResolution: z
    .boolean()
    .default(true)
    .describe('true: one message at the start, one at the end. false: one each timeWindow while it lasts.'),
  __workerGroup: z
    .string()
    .min(1)
    .optional()
    .describe(`Only ${calledIn(kind, 's')} of this group.`),
});

const calledIn = (kind: ComponentKinds, plural = ''): string =>
  kind === 'either' ? `input${plural} or output${plural}` : `${kind}${plural}`;

/** The key that narrows a condition on inputs and outputs. */
export const eitherConf = {
  kind: z.enum(['input', 'output']).optional().describe('Only this kind; left out, both.'),
};
