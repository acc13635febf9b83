import { createHash } from 'node:crypto';
import type { Clock } from '../../lib/clock.ts';
import { digestOf, isSameDigest } from '../../lib/digest.ts';
import type { KeyRing } from '../../lib/keyring.ts';
import type { Storage } from '../../storage/storage.ts';
import { type Attempt, openAttempt } from './attempt.ts';
import { SignInRefused } from './refusal.ts';

/**
 * The sign-in that comes back in the browser that has begun it with the issuer: each counts once, in whichever process
 * it comes back. Throws `SignInRefused`.
 */
export async function spendAttempt(
  given: { readonly search: string; readonly cookie: string | undefined; readonly issuer: string },
  {
    storage,
    keyRing,
    clock,
  }: {
    readonly storage: Pick<Storage, 'transaction'>;
    readonly keyRing: Pick<KeyRing, 'decrypt'>;
    readonly clock: Pick<Clock, 'now'>;
  },
): Promise<Attempt> {
  const { search, cookie, issuer } = given;
  const attempt = cookie === undefined ? undefined : openAttempt(cookie, keyRing);
  const state = new URLSearchParams(search).get('state') ?? '';
  const isMine =
    attempt !== undefined &&
    attempt.issuer === issuer &&
    attempt.endsAt > clock.now() &&
    isSameDigest(digestOf(attempt.state), digestOf(state));
  if (!isMine) throw new SignInRefused('expired');
  const id = createHash('sha256').update(attempt.state).digest('base64url');
  const isFirst = await storage.transaction(tx => tx.useState(id, attempt.endsAt));
  if (!isFirst) throw new SignInRefused('expired');
  return attempt;
}
