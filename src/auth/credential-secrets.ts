import type { Ids } from '../lib/ids.ts';
import type { Secret } from '../lib/secret.ts';
import type { CredentialSecretRow } from '../storage/credential-store.ts';
import { type IssuedSecrets, issuedSecrets } from './issued-secret.ts';

/** How the secrets of credentials begin. */
const PREFIX = 'hgs';
/** The one that is new, and the one it replaces. */
const MOST_SECRETS = 2;

export const credentialSecrets = (pepper: Secret): IssuedSecrets => issuedSecrets(PREFIX, pepper);

export interface Issued {
  readonly secret: Secret;
  readonly row: CredentialSecretRow;
}

export function newSecret(made: {
  readonly secrets: IssuedSecrets;
  readonly ids: Ids;
  readonly clientId: string;
  readonly now: number;
}): Issued {
  const secret = made.secrets.make();
  return {
    secret,
    row: {
      id: made.ids.next(),
      client_id: made.clientId,
      hash: made.secrets.digestOf(secret.reveal()),
      created_at: made.now,
      not_after: null,
      last_used_at: null,
    },
  };
}

/** What becomes of the secrets of a credential, oldest first, that gets another one. */
export function rotated(
  present: readonly CredentialSecretRow[],
  { now, graceMs }: { readonly now: number; readonly graceMs: number },
): {
  readonly removed: readonly CredentialSecretRow[];
  readonly ended: readonly { readonly id: string; readonly notAfter: number }[];
} {
  const live = graceMs === 0 ? [] : present.filter(secret => isLive(secret, now)).slice(1 - MOST_SECRETS);
  return {
    removed: present.filter(secret => !live.includes(secret)),
    ended: live.map(({ id, not_after }) => ({
      id,
      notAfter: Math.min(not_after ?? Infinity, now + graceMs),
    })),
  };
}

export const isLive = ({ not_after }: Pick<CredentialSecretRow, 'not_after'>, now: number): boolean =>
  not_after === null || not_after > now;
