import * as z from 'zod';
import { invalidField } from '../../auth/users.ts';
import type { Clock } from '../../lib/clock.ts';
import { identifier } from '../../lib/schemas.ts';

/** As paths name tokens. */
export const reference = z.string().max(512);

/** What both a new token and a change of one say. */
export const described = {
  id: identifier.optional(),
  description: z.string().max(1024).nullish().describe('For people: which sender has it.'),
  enabled: z.boolean().optional().describe('While it is false, senders that show it are refused.'),
  expiresAt: z.iso
    .datetime({ offset: true })
    .nullish()
    .describe('From when on senders that show it are refused; null for never.'),
};

/** Epoch ms; null is no time, undefined says nothing. Throws `invalid-request` for a time that has passed. */
export function expiryOf(
  text: string | null | undefined,
  clock: Pick<Clock, 'now'>,
): number | null | undefined {
  if (text === null || text === undefined) return text;
  const time = Date.parse(text);
  if (time <= clock.now()) throw invalidField('expiresAt', 'must be later than now');
  return time;
}
