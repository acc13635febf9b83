import * as z from 'zod';
import { duration } from '../lib/schemas.ts';
import type { ComponentKinds } from './condition.ts';

/** What every condition over a stretch of time has in its conf; `window` says what its timeWindow is. */
export const windowConf = (kind: ComponentKinds | 'pipeline', window: string) => ({
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

/** What every condition on components has in its conf. */
export const componentConf = (kind: ComponentKinds, window: string) => ({
  name: z
    .string()
    .min(1)
    .describe(`The ${calledIn(kind)}: \`type:id\`, an id, or a pattern with \`*\`.`),
  ...windowConf(kind, window),
});

const calledIn = (kind: ComponentKinds | 'pipeline', plural = ''): string =>
  kind === 'either' ? `input${plural} or output${plural}` : `${kind}${plural}`;

/** The key that narrows a condition on inputs and outputs. */
export const eitherConf = {
  kind: z.enum(['input', 'output']).optional().describe('Only this kind; left out, both.'),
};
