import { listKeys } from '../../resources/keys/list.ts';
import { rotateKeys } from '../../resources/keys/rotate.ts';
import { item, list } from '../envelope.ts';
import { type Route, route } from '../route.ts';
import { keyShape, wireKey } from '../wire/key.ts';

const ours = { isLive: false, isOfInstallation: true } as const;

export const keyRoutes: readonly Route[] = [
  route({
    ...ours,
    id: 'keys.list',
    method: 'GET',
    path: '/system/keys',
    summary: 'List the keys that tokens are signed with, oldest first; never what is private of them',
    verb: listKeys,
    answer: list(keyShape, wireKey),
    example: { query: { limit: '1' } },
  }),
  route({
    ...ours,
    id: 'keys.rotate',
    method: 'POST',
    path: '/system/keys/rotate',
    summary: 'Let the next key sign from now on, and answer it',
    description:
      'Tokens of the key before stay good until they are over. With `compromised` all keys are replaced and every token ends at once, in all processes, the one of the caller too.',
    verb: rotateKeys,
    takes: { shape: { name: 'KeyRotation' } },
    errors: ['conflict'],
    answer: item(keyShape, wireKey),
    example: { body: {} },
  }),
];
