import type { FastifyInstance } from 'fastify';
import * as z from 'zod';
import type { Identity } from '../auth/identity.ts';
import { invalidInput } from '../resources/verb.ts';
import type { Operation } from './operation.ts';

export const credentials = z.object({
  username: z.string(),
  // Halves of characters all become the same replacement where a password is hashed.
  password: z.string().refine(text => !/\p{Surrogate}/u.test(text), 'must be well-formed Unicode text'),
});
const answer = z.object({
  token: z.string().describe('The whole value of the header Authorization: it begins with the word Bearer.'),
  forcePasswordChange: z.boolean().describe('Whether the password must be changed before anything else.'),
});

export const loginOperation: Operation = {
  id: 'auth.login',
  method: 'POST',
  path: '/auth/login',
  summary: 'Get a token for a user name and a password',
  access: 'public',
  params: {},
  query: {},
  body: { kind: 'whole', shape: { name: 'Credentials', schema: credentials }, isRequired: true },
  takesIfMatch: false,
  answer: { kind: 'object', shape: { name: 'Login', schema: answer } },
  hasEtag: false,
  errors: ['unauthenticated', 'rate-limited'],
  example: { body: { username: 'admin', password: 'correct horse battery staple' } },
};

/** Whoever it is, nobody has shown a token yet: a body of megabytes would cost a second of everybody's time. */
export const MOST_BYTES = 16 * 1024;

/** `POST /auth/login`: a bare `{token, forcePasswordChange}`, the token with its word Bearer in front. */
export function addLogin(scope: FastifyInstance, identity: Pick<Identity, 'login'>): void {
  scope.post(loginOperation.path, { bodyLimit: MOST_BYTES }, async request => {
    const parsed = credentials.safeParse(request.body);
    if (!parsed.success) throw invalidInput(parsed.error);
    return identity.login({ ...parsed.data, address: request.ip, requestId: request.id });
  });
}
