import { createHash } from 'node:crypto';
import * as z from 'zod';
import { identifier } from '../../lib/schemas.ts';
import { matchedField, matchersSchema } from '../matchers.ts';

/** Rules of one configuration: each transition is compared with all of them. */
export const MOST_INHIBITIONS = 1000;

/** An inhibition as it is in the file. */
export const inhibitionSchema = z.strictObject({
  id: identifier.describe('Unique identifier of the inhibition.'),
  when: matchersSchema.describe(
    'All of them must fit the alarm that opened an incident: while that is open, it inhibits others.',
  ),
  hold: matchersSchema.describe('All of them must fit an alarm that is held back meanwhile.'),
  equal: z
    .array(matchedField)
    .max(32)
    .default([])
    .describe('Fields in which the two must agree; one that both lack is the same in both.'),
});

/** An inhibition of the configuration. */
export interface InhibitionRule {
  readonly id: string;
  /** Changes with its content. */
  readonly fingerprint: string;
  /** Serialises to what a file would say. */
  readonly settings: z.output<typeof inhibitionSchema>;
}

/** Reads a raw item; throws `z.ZodError`. */
export function configureInhibition(raw: unknown): InhibitionRule {
  const settings = inhibitionSchema.parse(raw);
  const fingerprint = createHash('sha256').update(JSON.stringify(settings)).digest('base64url').slice(0, 27);
  return { id: settings.id, fingerprint, settings };
}
