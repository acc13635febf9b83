import { createCallLimits } from '../api/call-limits.ts';
import { createLoginServer } from '../api/login-service/server.ts';
import { createAccessTokens } from '../auth/access-tokens.ts';
import { createAudits } from '../auth/audits.ts';
import { createClientGrant } from '../auth/client-grant.ts';
import { createRevocation } from '../auth/client-revocation.ts';
import { createClients } from '../auth/clients.ts';
import { credentialSecrets } from '../auth/credential-secrets.ts';
import type { Identity } from '../auth/identity.ts';
import { createLastUsed } from '../auth/last-used.ts';
import { openPepper } from '../auth/pepper.ts';
import { createTenantDirectory } from '../auth/tenant-directory.ts';
import { createTenantIdentity } from '../auth/tenant-identity.ts';
import { createTokenLimits } from '../auth/token-limits.ts';
import { createWorkspaceAccess } from '../auth/workspace-access.ts';
import type { HostedSettings } from '../config/hosted-settings.ts';
import type { Settings } from '../config/settings.ts';
import type { Clock } from '../lib/clock.ts';
import type { MonotonicIds } from '../lib/ids.ts';
import type { KeyRing } from '../lib/keyring.ts';
import type { Logger } from '../lib/logger.ts';
import type { Storage } from '../storage/storage.ts';
import { hangUp, listen } from './listen.ts';
import { peopleOf } from './people.ts';
import { createTeardown } from './teardown.ts';
import type { Tls } from './tls.ts';

export interface LoginServiceOptions {
  readonly storage: Storage;
  readonly keyRing: KeyRing;
  readonly identity: Identity;
  /** `instance.externalUrl`. */
  readonly externalUrl: string | undefined;
  readonly tls: Pick<Tls, 'create'> | undefined;
  /** They count from the start on. */
  readonly hosted: HostedSettings;
  readonly api: () => Settings['api'];
  readonly host: string;
  /** 0 for any free one. */
  readonly port: number;
  readonly clock: Clock;
  readonly ids: MonotonicIds;
  readonly logger: Logger;
}

export interface LoginService {
  /** `http://host:port`, the real port. */
  readonly url: string;
  stop(): Promise<void>;
}

/** Issues tokens at an address of its own, in a process of its own or beside others on the same store. */
export async function startLoginService(options: LoginServiceOptions): Promise<LoginService> {
  const { storage, keyRing, identity, tls, hosted, api, host, port, clock, ids } = options;
  const { feed, keys } = identity;
  const logger = options.logger.child({ component: 'login' });
  const teardown = createTeardown(logger);
  try {
    const audits = createAudits({ storage, clock, ids, logger });
    teardown.add('audit', audits.stop);
    const secrets = credentialSecrets(await openPepper({ storage, keyRing }));
    const lastUsed = createLastUsed({
      clock,
      logger,
      write: uses => storage.transaction(tx => tx.noteUses(uses)),
    });
    teardown.add('last used', lastUsed.stop);
    const directory = createTenantDirectory(feed, storage);
    const tokens = createAccessTokens({
      keys: keys.tokenKeys,
      clock,
      ids,
      issuer: hosted.authUrl,
      audience: hosted.audience,
    });
    const limits = createTokenLimits({
      clock,
      size: () => hosted.tokenRateLimit,
      backOff: () => ({ after: api().loginBackOff.after, longestMs: api().loginBackOff.longest.ms }),
    });
    const clients = createClients({ directory, secrets, limits, lastUsed, auditOf: audits.of, clock });
    const granting = { clients, tokens, auditOf: audits.of };
    const access = createWorkspaceAccess({
      tenants: createTenantIdentity({ storage, feed, keys: keys.tokenKeys, clock, ids, settings: hosted }),
      sessions: identity.authenticate,
      directory,
    });
    const people = peopleOf({
      ...{ shared: options, identity, access, secrets, audits, hosted },
      externalUrl: options.externalUrl,
    });
    let isStopping = false;
    const startTime = clock.now();
    const server = await createLoginServer({
      grant: createClientGrant({ ...granting, directory, audience: hosted.audience }),
      revoke: createRevocation({ ...granting, storage, feed, clock }),
      people: {
        ...people,
        limits: createCallLimits({ clock, size: () => api().rateLimit }),
      },
      keys,
      issuer: hosted.authUrl,
      health: () => ({ status: isStopping ? 'shutting down' : 'healthy', startTime }),
      proxies: () => api().trustedProxies,
      headers: () => api().headers,
      createListener: tls?.create,
      clock,
      ids,
      logger,
    });
    teardown.add('login service', () => hangUp(server, clock));
    const url = await listen(server, { host, port, isEncrypted: tls !== undefined });
    return {
      url,
      stop() {
        isStopping = true;
        return teardown.run();
      },
    };
  } catch (error) {
    await teardown.run();
    throw error;
  }
}
