import * as z from 'zod';
import type { SecretMetadata } from '../../config/secrets/store.ts';
import { getSecret, listSecrets, putSecret, removeSecret } from '../../resources/secrets.ts';
import { isoTime, item, list } from '../envelope.ts';
import type { Shape } from '../operation.ts';
import { type Route, route } from '../route.ts';

const secret = z.object({
  id: z.string().describe('The name again, as Cribl-compatible clients look for it.'),
  name: z.string(),
  createdAt: z.iso.datetime(),
  updatedAt: z.iso.datetime(),
  updatedBy: z.string(),
});
/** Metadata of a stored secret, never its value. */
const secretShape: Shape = { name: 'Secret', schema: secret };

export const wireSecret = (facts: SecretMetadata): z.output<typeof secret> => ({
  id: facts.name,
  name: facts.name,
  createdAt: isoTime(facts.createdAt),
  updatedAt: isoTime(facts.updatedAt),
  updatedBy: facts.updatedBy,
});

const secretRoute = { path: '/system/secrets/:name', answer: item(secretShape, wireSecret) };
const example = { params: { name: 'ops_hook' } };

export const secretRoutes: readonly Route[] = [
  route({
    ...secretRoute,
    id: 'secrets.put',
    grouped: 'alike',
    method: 'PUT',
    summary: 'Store a secret of 1 byte to 64 KB, in place of the one of that name',
    description: 'The configuration refers to it as `${secret:name}`.',
    verb: putSecret,
    takes: { shape: { name: 'SecretValue' } },
    errors: ['conflict', 'unprocessable'],
    example: { ...example, body: { value: 'kept encrypted, never answered' } },
  }),
  route({
    id: 'secrets.list',
    grouped: 'alike',
    method: 'GET',
    path: '/system/secrets',
    summary: 'List the names and times of the stored secrets, never values',
    verb: listSecrets,
    answer: list(secretShape, wireSecret),
  }),
  route({
    ...secretRoute,
    id: 'secrets.get',
    grouped: 'alike',
    method: 'GET',
    summary: 'Get the times of a stored secret',
    verb: getSecret,
    example,
  }),
  route({
    ...secretRoute,
    id: 'secrets.remove',
    grouped: 'alike',
    method: 'DELETE',
    summary: 'Remove a stored secret that the configuration does not refer to',
    verb: removeSecret,
    errors: ['conflict'],
    example,
  }),
];
