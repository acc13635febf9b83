import type { FastifyInstance } from 'fastify';
import * as z from 'zod';
import type { Identity } from '../auth/identity.ts';
import { AppError } from '../lib/errors.ts';

const credentials = z.object({ username: z.string(), password: z.string() });

/** `POST /auth/login`: a bare `{token, forcePasswordChange}`, the token with its word Bearer in front. */
export function addLogin(scope: FastifyInstance, identity: Identity): void {
  scope.post('/auth/login', async request => {
    const parsed = credentials.safeParse(request.body);
    if (!parsed.success)
      throw new AppError(
        'invalid-request',
        'The body must be a JSON object with the texts username and password',
      );
    return identity.login({ ...parsed.data, address: request.ip });
  });
}
