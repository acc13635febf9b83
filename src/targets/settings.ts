import * as z from 'zod';
import { systemFieldPatterns } from '../events/system-fields.ts';
import { identifier } from '../lib/schemas.ts';

/** Settings of every type, to be spread into its schema. */
export const commonSettings = {
  id: identifier.describe('Unique identifier of the target.'),
  description: z.string().max(4096).optional().describe('What the target is for.'),
  systemFields: systemFieldPatterns
    .default(['cribl_host'])
    .describe('Names or wildcards of the fields that are attached to events at send.'),
} as const;
