import { createIngestToken } from '../../resources/ingest-tokens/create.ts';
import { getIngestToken } from '../../resources/ingest-tokens/get.ts';
import { listIngestTokens } from '../../resources/ingest-tokens/list.ts';
import { removeIngestToken } from '../../resources/ingest-tokens/remove.ts';
import { rotateIngestToken } from '../../resources/ingest-tokens/rotate.ts';
import { updateIngestToken } from '../../resources/ingest-tokens/update.ts';
import { item, list } from '../envelope.ts';
import { type Route, route } from '../route.ts';
import {
  ingestTokenShape,
  issuedIngestTokenShape,
  wireIngestToken,
  wireIssuedIngestToken,
} from '../wire/ingest-token.ts';

const path = '/system/ingest-tokens';
const one = { path: `${path}/:id`, answer: item(ingestTokenShape, wireIngestToken) };
const issues = { answer: item(issuedIngestTokenShape, wireIssuedIngestToken) };
const example = { params: { id: 'collectors_eu' } };

/** The leading process answers: it is the one that lets senders in, and knows when they last came. */
export const ingestTokenRoutes: readonly Route[] = [
  route({
    ...issues,
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
    ...one,
    id: 'ingestTokens.get',
    method: 'GET',
    summary: 'Get what is known of an ingest token',
    verb: getIngestToken,
    example,
  }),
  route({
    ...one,
    id: 'ingestTokens.update',
    method: 'PATCH',
    summary: 'Change an ingest token: what is left out stays',
    description: 'Senders that show one that is disabled or over are refused from the answer on.',
    verb: updateIngestToken,
    takes: { shape: { name: 'IngestToken' }, kind: 'part' },
    example: { ...example, body: { description: 'Collectors in Europe and Asia' } },
  }),
  route({
    ...issues,
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
    ...one,
    id: 'ingestTokens.remove',
    method: 'DELETE',
    summary: 'Remove an ingest token, with which nobody gets in any more',
    verb: removeIngestToken,
    example,
  }),
];
