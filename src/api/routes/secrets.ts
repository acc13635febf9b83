import { getSecret } from '../../resources/secrets/get.ts';
import { listSecrets } from '../../resources/secrets/list.ts';
import { putSecret } from '../../resources/secrets/put.ts';
import { removeSecret } from '../../resources/secrets/remove.ts';
import { envelope, single } from '../envelope.ts';
import { get, type Route, route } from '../route.ts';
import { wireSecret } from '../wire/secret.ts';

const PATH = '/system/secrets/:name';

export const secretRoutes: readonly Route[] = [
  get('/system/secrets', 'List the names and times of the stored secrets', listSecrets, page =>
    envelope(page, wireSecret),
  ),
  get(PATH, 'Get the times of a stored secret', getSecret, facts => single(wireSecret(facts))),
  route({
    method: 'PUT',
    path: PATH,
    summary: 'Store a secret, in place of the one of that name',
    verb: putSecret,
    shape: facts => single(wireSecret(facts)),
  }),
  route({
    method: 'DELETE',
    path: PATH,
    summary: 'Remove a stored secret that nothing refers to',
    verb: removeSecret,
    shape: facts => single(wireSecret(facts)),
  }),
];
