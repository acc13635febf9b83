import type { FastifyInstance } from 'fastify';
import * as z from 'zod';
import type { Identity } from '../auth/identity.ts';
import { AppError } from '../lib/errors.ts';

const credentials = z.object({ username: z.string(), password: z.string() });

/** Whoever it is, nobody has shown a token yet: a body of megabytes would cost a second of everybody's time. */
const MOST_BYTES = 16 * 1024;

/** `POST /auth/login`: a bare `{token, forcePasswordChange}`, the token with its word Bearer in front. */
export function addLogin(scope: FastifyInstance, identity: Identity): void {
  scope.post('/auth/login', { bodyLimit: MOST_BYTES }, async request => {
    const parsed = credentials.safeParse(request.body);
    if (!parsed.success)
      throw new AppError(
        'invalid-request',
        'The body must be a JSON object with the texts username and password',
      );
    return identity.login({ ...parsed.data, address: request.ip });
  });
}
