import * as z from 'zod';
import { systemFieldPatterns } from '../events/system-fields.ts';
import { rate } from '../lib/rate.ts';
import { identifier } from '../lib/schemas.ts';

/**
 * Settings of every type, to be spread into its schema. Marks on fields, here and in each type: `aliases` other names it
 * may be written by; `destination` what decides where secrets are sent; `secret` what no read shows; `template` a text
 * whose `$` is its own.
 */
export const commonSettings = {
  id: identifier.describe('Unique identifier of the target.'),
  description: z.string().max(4096).optional().describe('What the target is for.'),
  systemFields: systemFieldPatterns
    .default(['cribl_host'])
    .describe('Names or wildcards of the fields that are attached to events at send.'),
  onBackpressure: z
    .enum(['queue', 'block', 'drop'])
    .optional()
    .describe(
      'What happens to alarms that come while `delivery.mostWaiting` wait for it: queue and block keep them, as without this, drop skips them.',
    ),
  fallback: identifier
    .optional()
    .describe('Id of the target that gets the alarms that this one does not take, and their ends.'),
  pacing: rate.optional().describe('Send no faster than this: N/second, minute, hour or day.'),
} as const;

/** A rule between settings also holds when one of them is wrong, so that all errors show at once. */
export const ALWAYS = {
  when: ({ value }: { readonly value: unknown }): boolean => typeof value === 'object' && value !== null,
};
