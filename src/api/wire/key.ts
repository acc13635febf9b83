import * as z from 'zod';
import type { KeyFacts } from '../../auth/key-life.ts';
import { isoTime } from '../envelope.ts';
import type { Shape } from '../shape.ts';

const key = z.object({
  id: z.string().describe('Its kid, which the header of each token that it signed names.'),
  algorithm: z.string(),
  state: z
    .enum(['next', 'active', 'retiring'])
    .describe(
      '`next` is published and does not sign yet, `active` signs, `retiring` verifies until its last token is over.',
    ),
  createdAt: z.iso.datetime(),
  since: z.iso.datetime().describe('Since when it is in that state.'),
  endsAt: z.iso.datetime().optional().describe('When it is gone; only of a retiring one.'),
});
export const keyShape: Shape = { name: 'Key', schema: key };

export const wireKey = (facts: KeyFacts): z.output<typeof key> => ({
  id: facts.kid,
  algorithm: facts.algorithm,
  state: facts.state,
  createdAt: isoTime(facts.created_at),
  since: isoTime(facts.since),
  ...(facts.ends_at !== null && { endsAt: isoTime(facts.ends_at) }),
});
