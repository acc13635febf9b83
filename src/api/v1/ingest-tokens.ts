import * as z from 'zod';
import type { IngestTokenDetails, IssuedIngestToken } from '../../auth/tokens/ingest-tokens.ts';
import {
  createIngestToken,
  getIngestToken,
  listIngestTokens,
  removeIngestToken,
  rotateIngestToken,
  updateIngestToken,
} from '../../resources/ingest-tokens.ts';
import { isoTime, isoTimeOrNull, item, list } from '../envelope.ts';
import type { Shape } from '../operation.ts';
import { type Route, readBack, route } from '../route.ts';

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
/** Details of an ingest token, never its secret. */
const ingestTokenShape: Shape = { name: 'IngestToken', schema: ingestToken };

const issued = ingestToken.extend({
  secret: z.string().describe('What the sender shows as Authorization: Bearer. It is shown this once.'),
});
const issuedIngestTokenShape: Shape = { name: 'IssuedIngestToken', schema: issued };

const wireIngestToken = (facts: IngestTokenDetails): z.output<typeof ingestToken> => ({
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

const wireIssuedIngestToken = (facts: IssuedIngestToken): z.output<typeof issued> => ({
  ...wireIngestToken(facts),
  secret: facts.secret.reveal(),
});

/** What changes by itself. */
const PASSING = ['lastUsedAt', 'rotatedAt', 'formerEndsAt'];

const path = '/system/ingest-tokens';
const tokenRoute = { path: `${path}/:id`, answer: item(ingestTokenShape, wireIngestToken) };
const issuingRoute = { answer: item(issuedIngestTokenShape, wireIssuedIngestToken) };
const example = { params: { id: 'collectors_eu' } };

/** The leading process answers, as it authenticates senders and knows when each token was last used. */
export const ingestTokenRoutes: readonly Route[] = [
  route({
    ...issuingRoute,
    id: 'ingestTokens.create',
    method: 'POST',
    path,
    summary:
      'Make a token with which a sender may push the metrics of a pipeline; its secret is shown this once',
    verb: createIngestToken,
    takes: { shape: { name: 'NewIngestToken' } },
    errors: ['conflict'],
    example: { body: { id: 'collectors_eu', pipeline: 'collector', description: 'Collectors in Europe' } },
  }),
  route({
    id: 'ingestTokens.list',
    method: 'GET',
    path,
    summary: 'List the ingest tokens by id, never their secrets',
    verb: listIngestTokens,
    answer: list(ingestTokenShape, wireIngestToken),
    example: { query: { pipeline: 'collector' } },
  }),
  route({
    ...tokenRoute,
    id: 'ingestTokens.get',
    method: 'GET',
    summary: 'Get what is known of an ingest token',
    verb: getIngestToken,
    example,
  }),
  route({
    ...tokenRoute,
    id: 'ingestTokens.update',
    method: 'PATCH',
    summary: 'Change an ingest token: what is left out stays',
    description: 'Senders that show one that is disabled or over are refused from the answer on.',
    verb: updateIngestToken,
    takes: { shape: { name: 'IngestToken' }, kind: 'part' },
    takesBack: readBack(getIngestToken, ingestTokenShape, wireIngestToken, PASSING),
    example: { ...example, body: { description: 'Collectors in Europe and Asia' } },
  }),
  route({
    ...issuingRoute,
    id: 'ingestTokens.rotate',
    method: 'POST',
    path: `${path}/:id/rotate`,
    summary: 'Give an ingest token another secret, which is shown this once',
    description:
      'The secret before counts for `grace` more, a day unless said otherwise; the one before that no more.',
    verb: rotateIngestToken,
    takes: { shape: { name: 'IngestTokenRotation' } },
    example: { ...example, body: { grace: '1h' } },
  }),
  route({
    ...tokenRoute,
    id: 'ingestTokens.remove',
    method: 'DELETE',
    summary: 'Remove an ingest token, with which nobody gets in any more',
    verb: removeIngestToken,
    example,
  }),
];
