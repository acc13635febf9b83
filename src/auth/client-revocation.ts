import type { Clock } from '../lib/clock.ts';
import type { Storage } from '../storage/storage.ts';
import type { AccessTokens } from './access-tokens.ts';
import type { Audit } from './audit.ts';
import type { ChangeFeed } from './change-feed.ts';
import type { ClientRequest, Clients } from './clients.ts';

/**
 * Ends one access token of the client that asks, in all processes before it resolves; what is no token of ours has ended
 * already. Throws as `Clients.authenticate` does.
 */
export type RevokeToken = (
  request: ClientRequest & { readonly token: string },
) => Promise<'ended' | 'unknown-client' | 'of-another'>;

interface Dependencies {
  readonly clients: Clients;
  readonly tokens: Pick<AccessTokens, 'verify'>;
  readonly storage: Pick<Storage, 'transaction'>;
  readonly feed: Pick<ChangeFeed, 'takenOver'>;
  readonly clock: Pick<Clock, 'now'>;
  /** Of an organization. */
  readonly auditOf: (organization: string) => Pick<Audit, 'record'>;
}

export function createRevocation(dependencies: Dependencies): RevokeToken {
  const { clients, tokens, storage, feed, clock, auditOf } = dependencies;
  return async request => {
    const client = await clients.authenticate(request);
    if (client === undefined) return 'unknown-client';
    const verified = await tokens.verify(request.token);
    if (verified.kind === 'refused') return 'ended';
    const { jti, exp, client_id: owner } = verified.claims;
    if (owner !== client.row.client_id) return 'of-another';
    await storage.transaction(async tx => {
      await tx.numberUserChange();
      await tx.revokeToken({ id: jti, expires_at: exp * 1000 }, clock.now());
    });
    await feed.takenOver();
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
