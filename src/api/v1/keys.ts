import * as z from 'zod';
import type { KeyDetails } from '../../auth/tokens/key-rotation.ts';
import { listKeys, rotateKeys } from '../../resources/keys.ts';
import { isoTime, item, list } from '../envelope.ts';
import type { Shape } from '../operation.ts';
import { type Route, route } from '../route.ts';

const key = z.object({
  id: z.string().describe('Its kid, which the header of each token that it signed names.'),
  algorithm: z.string(),
  state: z
    .enum(['next', 'active', 'retiring'])
    .describe(
      '`next` is published and does not sign yet, `active` signs, `retiring` verifies until its last token is over.',
    ),
  createdAt: z.iso.datetime(),
  since: z.iso.datetime().describe('Since when it is in that state.'),
  endsAt: z.iso.datetime().optional().describe('When it is gone; only of a retiring one.'),
});
const keyShape: Shape = { name: 'Key', schema: key };

const wireKey = (facts: KeyDetails): z.output<typeof key> => ({
  id: facts.kid,
  algorithm: facts.algorithm,
  state: facts.state,
  createdAt: isoTime(facts.created_at),
  since: isoTime(facts.since),
  ...(facts.ends_at !== null && { endsAt: isoTime(facts.ends_at) }),
});

const installationRoute = { isLive: false, isOfInstallation: true } as const;

export const keyRoutes: readonly Route[] = [
  route({
    ...installationRoute,
    id: 'keys.list',
    method: 'GET',
    path: '/system/signing-keys',
    summary: 'List the keys that tokens are signed with, oldest first; never what is private of them',
    verb: listKeys,
    answer: list(keyShape, wireKey),
    example: { query: { limit: '1' } },
  }),
  route({
    ...installationRoute,
    id: 'keys.rotate',
    method: 'POST',
    path: '/system/signing-keys/rotate',
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
