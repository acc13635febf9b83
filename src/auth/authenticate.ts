import { AppError } from '../lib/errors.ts';
import type { UserStore } from '../storage/storage.ts';
import { bearerToken } from './bearer.ts';
import { type Actor, isRole } from './permissions.ts';
import type { Tokens } from './tokens.ts';

/**
 * Who calls, by the value of the Authorization header. The user is read at each call, so a change of role or a
 * removed user counts at once. Throws `unauthenticated`.
 */
export type Authenticate = (authorization: string | undefined) => Promise<Actor>;

export function createAuthenticate(options: {
  tokens: Tokens;
  users: Pick<UserStore, 'byId'>;
}): Authenticate {
  const { tokens, users } = options;
  return async authorization => {
    if (authorization === undefined)
      throw refusal('No token was sent; log in and send "Authorization: Bearer <token>"');
    const token = bearerToken(authorization);
    if (token === undefined) throw refusal('The Authorization header is not of the form "Bearer <token>"');
    const verified = await tokens.verify(token);
    if (verified.kind === 'refused')
      throw refusal(
        verified.reason === 'expired'
          ? 'The token has expired; log in again'
          : 'The token is not valid here; log in again',
      );
    const user = await users.byId(verified.claims.sub);
    if (user === undefined) throw refusal('The token is not valid here; log in again');
    if (!isRole(user.role))
      throw new AppError(
        'internal',
        `User '${user.username}' has the unknown role '${user.role}' in the store`,
      );
    return { kind: 'user', id: user.id, name: user.username, role: user.role };
  };
}

const refusal = (message: string): AppError => new AppError('unauthenticated', message);
