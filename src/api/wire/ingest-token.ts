import * as z from 'zod';
import type { IngestTokenFacts, IssuedIngestToken } from '../../auth/ingest-tokens.ts';
import { isoTime, isoTimeOrNull } from '../envelope.ts';
import type { Shape } from '../shape.ts';

const ingestToken = z.object({
  id: z.string(),
  pipeline: z.string().describe('The pipeline whose metrics its sender may push.'),
  description: z.string(),
  enabled: z.boolean(),
  createdAt: z.iso.datetime(),
  expiresAt: z.iso.datetime().nullable().describe('Null for never.'),
  lastUsedAt: z.iso.datetime().nullable().describe('When a sender last showed it; null when none did.'),
  rotatedAt: z.iso.datetime().describe('When its secret was made.'),
  formerEndsAt: z.iso
    .datetime()
    .optional()
    .describe('Until when the secret before counts as well; only while it does.'),
});
/** What is known of an ingest token; never its secret. */
export const ingestTokenShape: Shape = { name: 'IngestToken', schema: ingestToken };

const issued = ingestToken.extend({
  secret: z.string().describe('What the sender shows as Authorization: Bearer. It is shown this once.'),
});
export const issuedIngestTokenShape: Shape = { name: 'IssuedIngestToken', schema: issued };

export const wireIngestToken = (facts: IngestTokenFacts): z.output<typeof ingestToken> => ({
  id: facts.id,
  pipeline: facts.pipeline,
  description: facts.description,
  enabled: facts.isEnabled,
  createdAt: isoTime(facts.createdAt),
  expiresAt: isoTimeOrNull(facts.expiresAt),
  lastUsedAt: isoTimeOrNull(facts.lastUsedAt),
  rotatedAt: isoTime(facts.issuedAt),
  ...(facts.formerEndsAt !== null && { formerEndsAt: isoTime(facts.formerEndsAt) }),
});

export const wireIssuedIngestToken = (facts: IssuedIngestToken): z.output<typeof issued> => ({
  ...wireIngestToken(facts),
  secret: facts.secret.reveal(),
});
