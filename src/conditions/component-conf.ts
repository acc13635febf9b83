import * as z from 'zod';
import { duration } from '../lib/schemas.ts';
import type { ComponentKind } from '../pipelines/component.ts';

/** What every condition over a stretch of time has in its conf; `window` says what its timeWindow is. */
export const windowConf = (kind: ComponentKind | 'pipeline', window: string) => ({
  timeWindow: duration({ min: '1s' }).prefault('60s').describe(window),
  notifyOnResolution: z
    .boolean()
    .default(true)
    .describe('true: one message at the start, one at the end. false: one each timeWindow while it lasts.'),
  __workerGroup: z.string().min(1).optional().describe(`Only ${kind}s of this group.`),
});

/** What every condition on components has in its conf. */
export const componentConf = (kind: ComponentKind, window: string) => ({
  name: z.string().min(1).describe(`The ${kind}: \`type:id\`, an id, or a pattern with \`*\`.`),
  ...windowConf(kind, window),
});
