import { timingSafeEqual } from 'node:crypto';
import type { Clock } from '../../lib/clock.ts';
import type { Secret } from '../../lib/secret.ts';
import type { Storage } from '../../storage/storage.ts';
import type { CredentialSecretRow } from '../../storage/stores/credentials.ts';
import type { Audit } from '../audit.ts';
import type { ChangeFeed } from '../change-feed.ts';
import type { TokenLimits } from '../limits/token-limits.ts';
import type { Permission } from '../permissions.ts';
import { ACCESS_TOKEN_SECONDS, type AccessTokens } from '../tokens/access-tokens.ts';
import type { IssuedSecrets } from '../tokens/issued-secrets.ts';
import type { LastUsed } from '../tokens/last-used.ts';
import { assignmentsOf, isAllowedFrom, isSecretLive } from './credential.ts';
import type { CredentialRecord, TenantDirectory } from './directory.ts';
import { effectiveAssignments, formatScope, parseScope, permissionsGrantedBy } from './roles.ts';

/** The credentials of a client, as it presents them. */
interface ClientRequest {
  readonly clientId: string;
  readonly clientSecret: Secret;
  readonly address: string;
  readonly requestId: string;
}

/** Authenticates clients of the login service. */
export interface ClientAuthentication {
  /**
   * Returns the credential of the presented secret; undefined for one that is unknown, wrong, disabled, deleted or
   * expired, or not allowed from that address: all cost the same work. Throws `rate-limited`, and `unavailable` while the store does not
   * answer.
   */
  authenticate(request: ClientRequest): Promise<CredentialRecord | undefined>;
}

interface ClientDependencies {
  readonly directory: TenantDirectory;
  readonly secrets: IssuedSecrets;
  readonly limits: TokenLimits;
  readonly lastUsed: Pick<LastUsed, 'record'>;
  /** Undefined stands for no known organization. */
  readonly auditOf: (organization: string | undefined) => Pick<Audit, 'refused'>;
  readonly clock: Pick<Clock, 'now'>;
}

const ACTION = 'tokens.issue';
/** The form of client ids; anything else is looked up as an unknown one. */
const CLIENT_ID = /^[0-9A-Za-z]{32}$/;

const DUMMY_SECRET: CredentialSecretRow = {
  id: '',
  client_id: '',
  hash: '_'.repeat(43),
  created_at: 0,
  not_after: null,
  last_used_at: null,
};

export function createClientAuthentication(dependencies: ClientDependencies): ClientAuthentication {
  const { directory, secrets, limits, lastUsed, auditOf, clock } = dependencies;

  function checkSecret(
    known: CredentialRecord | undefined,
    digest: string,
    address: string,
  ): { readonly secret: CredentialSecretRow } | { readonly refused: string } {
    const now = clock.now();
    // A client without secrets is compared with a dummy one.
    const candidates = known === undefined || known.secrets.length === 0 ? [DUMMY_SECRET] : known.secrets;
    const [secret] = candidates.filter(({ hash }) => isSameHash(hash, digest));
    if (known === undefined) return { refused: 'unknown client' };
    const { row } = known;
    if (row.deleted_at !== null) return { refused: 'deleted' };
    if (secret === undefined) return { refused: 'wrong secret' };
    if (!isSecretLive(secret, now)) return { refused: 'secret over' };
    if (row.enabled === 0) return { refused: 'disabled' };
    if ((row.expires_at ?? Infinity) <= now) return { refused: 'expired' };
    return isAllowedFrom(row.ip_allowlist, address) ? { secret } : { refused: 'address not allowed' };
  }

  return {
    async authenticate({ clientId: said, clientSecret, address, requestId }) {
      const clientId = CLIENT_ID.test(said) ? said : '';
      const isRemembered = directory.isCached(clientId);
      const read = () => directory.credential(clientId);
      const known = await (isRemembered ? read() : limits.lookUp(address, read));
      const verdict = checkSecret(known, secrets.digestOf(clientSecret.reveal()), address);
      if ('refused' in verdict) {
        // An unknown one was just read from the store: a known one must not be refused faster.
        if (isRemembered) await limits.lookUp(address, () => directory.readCredential(clientId));
        await limits.failed(address, clientId);
        auditOf(known?.row.organization).refused({
          actor: clientId,
          action: ACTION,
          reason: verdict.refused,
          address,
          requestId,
        });
        return undefined;
      }
      limits.succeeded(address, clientId);
      lastUsed.record(verdict.secret.id);
      return known;
    },
  };
}

const isSameHash = (hash: string, digest: string): boolean =>
  hash.length === digest.length && timingSafeEqual(Buffer.from(hash), Buffer.from(digest));

interface GrantRequest extends ClientRequest {
  /** Undefined when it was not named. */
  /** Left out where the service has one only. */
  readonly audience: string | undefined;
  /** The same by RFC 8707; one that is named too must be of this service as well. */
  readonly resource: string | undefined;
  /** The requested permissions, as `user:<action>:<resource>`; all of the client's when left out. */
  readonly scope: string | undefined;
}

/** The result of the client credentials grant (RFC 6749, section 4.4). */
type Grant =
  | {
      readonly kind: 'granted';
      readonly accessToken: string;
      readonly scope: string;
      readonly expiresIn: number;
    }
  | {
      readonly kind: 'refused';
      readonly reason: 'client' | 'audience-missing' | 'audience-unknown' | 'scope';
    };

/** Throws as `ClientAuthentication.authenticate` does. */
export type GrantToken = (request: GrantRequest) => Promise<Grant>;

interface GrantDependencies {
  readonly clients: ClientAuthentication;
  readonly directory: Pick<TenantDirectory, 'organization'>;
  readonly tokens: Pick<AccessTokens, 'issue'>;
  readonly audience: readonly string[];
  readonly auditOf: (organization: string) => Pick<Audit, 'record' | 'refused'>;
}

export function createClientGrant(dependencies: GrantDependencies): GrantToken {
  const { clients, directory, tokens, audience: audiences, auditOf } = dependencies;

  return async request => {
    const client = await clients.authenticate(request);
    const organization = client && (await directory.organization(client.row.organization));
    if (client === undefined || organization === undefined) return refused('client');
    const { row, roles } = client;
    const { resource, address, requestId } = request;
    const sole = audiences.length === 1 ? audiences[0] : undefined;
    const audience = request.audience ?? resource ?? sole;
    const audit = auditOf(organization.id);
    const entry = { actor: row.name, action: 'tokens.issue', target: row.client_id, address, requestId };
    if (audience === undefined) return refused('audience-missing');
    if (![audience, resource ?? audience].every(one => audiences.includes(one))) {
      audit.refused({ ...entry, reason: 'audience' });
      return refused('audience-unknown');
    }
    const assignments = effectiveAssignments(organization, assignmentsOf(row.organization_role, roles));
    const permitted = permissionsGrantedBy(assignments);
    const granted = narrowScope(permitted, request.scope);
    if (granted === undefined) {
      audit.refused({ ...entry, reason: 'scope' });
      return refused('scope');
    }
    const scope = formatScope(granted);
    const accessToken = await tokens.issue({
      kind: 'credential',
      subject: row.client_id,
      version: row.version,
      audience,
      organization: organization.id,
      role: assignments.role,
      scope,
      isNarrow: granted.size < permitted.size,
      ttlSeconds: ACCESS_TOKEN_SECONDS,
    });
    await audit.record(entry);
    return { kind: 'granted', accessToken, scope, expiresIn: ACCESS_TOKEN_SECONDS };
  };
}

/** Narrows the permitted permissions to the requested ones; undefined when more is requested. */
function narrowScope(
  permitted: ReadonlySet<Permission>,
  scope: string | undefined,
): ReadonlySet<Permission> | undefined {
  const requested = scope === undefined || scope.trim() === '' ? permitted : parseScope(scope);
  return requested !== undefined && [...requested].every(permission => permitted.has(permission))
    ? requested
    : undefined;
}

const refused = (reason: Extract<Grant, { kind: 'refused' }>['reason']): Grant => ({
  kind: 'refused',
  reason,
});

/**
 * Revokes an access token of the client, in all processes before it resolves; a text that is no token counts as ended.
 * Throws as `ClientAuthentication.authenticate` does.
 */
export type RevokeToken = (
  request: ClientRequest & { readonly token: string },
) => Promise<'ended' | 'unknown-client' | 'of-another'>;

interface RevocationDependencies {
  readonly clients: ClientAuthentication;
  readonly tokens: Pick<AccessTokens, 'verify'>;
  readonly storage: Pick<Storage, 'transaction'>;
  readonly feed: Pick<ChangeFeed, 'waitForPropagation'>;
  readonly clock: Pick<Clock, 'now'>;
  readonly auditOf: (organization: string) => Pick<Audit, 'record'>;
}

export function createTokenRevocation(dependencies: RevocationDependencies): RevokeToken {
  const { clients, tokens, storage, feed, clock, auditOf } = dependencies;
  return async request => {
    const client = await clients.authenticate(request);
    if (client === undefined) return 'unknown-client';
    const verified = await tokens.verify(request.token);
    if (verified.kind === 'refused') return 'ended';
    const { jti, exp, client_id: owner } = verified.claims;
    if (owner !== client.row.client_id) return 'of-another';
    await storage.transaction(async tx => {
      await tx.incrementUserChanges();
      await tx.revokeToken({ id: jti, expires_at: exp * 1000 }, clock.now());
    });
    await feed.waitForPropagation();
    const { address, requestId } = request;
    await auditOf(client.row.organization).record({
      actor: client.row.name,
      action: 'tokens.revoke',
      target: client.row.client_id,
      address,
      requestId,
    });
    return 'ended';
  };
}
