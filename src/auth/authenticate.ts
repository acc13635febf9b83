import { AppError } from '../lib/errors.ts';
import { bearerToken } from './bearer.ts';
import type { Actor } from './permissions.ts';
import type { Tokens } from './tokens.ts';
import type { UserDirectory } from './user-directory.ts';
import { roleOf } from './users.ts';

/**
 * Who calls, by the value of the Authorization header. The user is looked at for each call, so a change of role or a
 * removed user counts at once. Throws `unauthenticated`, and `unavailable` while the store does not answer.
 */
export type Authenticate = (
  authorization: string | undefined,
  /** Where the call comes from; some may call from certain places only. */
  address?: string,
) => Promise<Actor>;

export function createAuthenticate(options: {
  tokens: Tokens;
  directory: Pick<UserDirectory, 'find' | 'isRevoked' | 'hasSession'>;
}): Authenticate {
  const { tokens, directory } = options;
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
    const { sub, ver, jti, exp, sid } = verified.claims;
    const user = await directory.find(sub);
    if (user === undefined || user.disabled === 1 || user.version !== ver)
      throw refusal('The token is not valid here; log in again');
    if (await directory.isRevoked(jti)) throw refusal('The token was given back; log in again');
    if (sid !== undefined && !(await directory.hasSession(sid)))
      throw refusal('The session of the token is over; sign in again');
    return {
      kind: 'user',
      id: user.id,
      name: user.username,
      role: roleOf(user),
      token: { id: jti, expiresAt: exp * 1000, ...(sid !== undefined && { session: sid }) },
      ...(user.force_password_change === 1 && { mustChangePassword: true }),
    };
  };
}

const refusal = (message: string): AppError => new AppError('unauthenticated', message);
