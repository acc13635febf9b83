import { timingSafeEqual } from 'node:crypto';
import type { Clock } from '../lib/clock.ts';
import type { Secret } from '../lib/secret.ts';
import type { CredentialSecretRow } from '../storage/credential-store.ts';
import type { Audit } from './audit.ts';
import { isLive } from './credential-secrets.ts';
import { isAllowedFrom } from './ip-allowlist.ts';
import type { IssuedSecrets } from './issued-secret.ts';
import type { LastUsed } from './last-used.ts';
import type { KnownCredential, TenantDirectory } from './tenant-directory.ts';
import type { TokenLimits } from './token-limits.ts';

/** What a program says of itself to the login service. */
export interface ClientRequest {
  readonly clientId: string;
  readonly clientSecret: Secret;
  readonly address: string;
  readonly requestId: string;
}

/** Programs that ask the login service for something. */
export interface Clients {
  /**
   * The credential whose secret was shown; undefined for one that is unknown, wrong, disabled, deleted or expired, or that
   * may not come from there: all cost the same work. Throws `rate-limited`, and `unavailable` while the store does not
   * answer.
   */
  authenticate(request: ClientRequest): Promise<KnownCredential | undefined>;
}

interface Dependencies {
  readonly directory: TenantDirectory;
  readonly secrets: IssuedSecrets;
  readonly limits: TokenLimits;
  readonly lastUsed: Pick<LastUsed, 'note'>;
  /** Of an organization, or of none that is known. */
  readonly auditOf: (organization: string | undefined) => Pick<Audit, 'refused'>;
  readonly clock: Pick<Clock, 'now'>;
}

const ACTION = 'tokens.issue';
/** As client ids are made; what is asked with anything else has the store asked for nobody. */
const CLIENT_ID = /^[0-9A-Za-z]{32}$/;

const NOBODYS: CredentialSecretRow = {
  id: '',
  client_id: '',
  hash: '_'.repeat(43),
  created_at: 0,
  not_after: null,
  last_used_at: null,
};

export function createClients(dependencies: Dependencies): Clients {
  const { directory, secrets, limits, lastUsed, auditOf, clock } = dependencies;

  function judge(
    known: KnownCredential | undefined,
    digest: string,
    address: string,
  ): { readonly secret: CredentialSecretRow } | { readonly refused: string } {
    const now = clock.now();
    // Whoever has no secret is compared with one that nobody has.
    const held = known === undefined || known.secrets.length === 0 ? [NOBODYS] : known.secrets;
    const [secret] = held.filter(({ hash }) => isSame(hash, digest));
    if (known === undefined) return { refused: 'unknown client' };
    const { row } = known;
    if (row.deleted_at !== null) return { refused: 'deleted' };
    if (secret === undefined) return { refused: 'wrong secret' };
    if (!isLive(secret, now)) return { refused: 'secret over' };
    if (row.enabled === 0) return { refused: 'disabled' };
    if ((row.expires_at ?? Infinity) <= now) return { refused: 'expired' };
    return isAllowedFrom(row.ip_allowlist, address) ? { secret } : { refused: 'address not allowed' };
  }

  return {
    async authenticate({ clientId: said, clientSecret, address, requestId }) {
      const clientId = CLIENT_ID.test(said) ? said : '';
      const attempt = await limits.reserve(address, clientId);
      let known: KnownCredential | undefined;
      let verdict: ReturnType<typeof judge>;
      try {
        const isRemembered = directory.isRemembered(clientId);
        known = await directory.credential(clientId);
        verdict = judge(known, secrets.digestOf(clientSecret.reveal()), address);
        // Of an unknown one the store was asked just now: a known one must not be refused faster.
        if ('refused' in verdict && isRemembered) await directory.readCredential(clientId);
      } catch (error) {
        attempt.abandoned();
        throw error;
      }
      if ('refused' in verdict) {
        await attempt.failed();
        auditOf(known?.row.organization).refused({
          actor: clientId,
          action: ACTION,
          reason: verdict.refused,
          address,
          requestId,
        });
        return undefined;
      }
      attempt.succeeded();
      lastUsed.note(verdict.secret.id);
      return known;
    },
  };
}

const isSame = (hash: string, digest: string): boolean =>
  hash.length === digest.length && timingSafeEqual(Buffer.from(hash), Buffer.from(digest));
