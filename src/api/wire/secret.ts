import * as z from 'zod';
import type { SecretFacts } from '../../config/secret-writer.ts';
import { isoTime } from '../envelope.ts';
import type { Shape } from '../shape.ts';

const secret = z.object({
  name: z.string(),
  createdAt: z.iso.datetime(),
  updatedAt: z.iso.datetime(),
  updatedBy: z.string(),
});
/** What is known of a stored secret; never its value. */
export const secretShape: Shape = { name: 'Secret', schema: secret };

export const wireSecret = (facts: SecretFacts): z.output<typeof secret> => ({
  name: facts.name,
  createdAt: isoTime(facts.createdAt),
  updatedAt: isoTime(facts.updatedAt),
  updatedBy: facts.updatedBy,
});
