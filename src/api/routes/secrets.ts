import { getSecret } from '../../resources/secrets/get.ts';
import { listSecrets } from '../../resources/secrets/list.ts';
import { putSecret } from '../../resources/secrets/put.ts';
import { removeSecret } from '../../resources/secrets/remove.ts';
import { item, list } from '../envelope.ts';
import { type Route, route } from '../route.ts';
import { secretShape, wireSecret } from '../wire/secret.ts';

const one = { path: '/system/secrets/:name', answer: item(secretShape, wireSecret) };
const example = { params: { name: 'ops_hook' } };

export const secretRoutes: readonly Route[] = [
  route({
    ...one,
    id: 'secrets.put',
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
    method: 'GET',
    path: '/system/secrets',
    summary: 'List the names and times of the stored secrets, never values',
    verb: listSecrets,
    answer: list(secretShape, wireSecret),
  }),
  route({
    ...one,
    id: 'secrets.get',
    method: 'GET',
    summary: 'Get the times of a stored secret',
    verb: getSecret,
    example,
  }),
  route({
    ...one,
    id: 'secrets.remove',
    method: 'DELETE',
    summary: 'Remove a stored secret that the configuration does not refer to',
    verb: removeSecret,
    errors: ['conflict'],
    example,
  }),
];
