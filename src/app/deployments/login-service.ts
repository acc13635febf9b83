import { resolve } from 'node:path';
import { createCallLimits } from '../../api/call-limits.ts';
import { createLoginServer } from '../../api/login-service/server.ts';
import { createOrganizationAudits } from '../../auth/audit.ts';
import type { Identity } from '../../auth/identity.ts';
import { createTokenLimits } from '../../auth/limits/token-limits.ts';
import { createCredentialSecrets } from '../../auth/organizations/credential.ts';
import { createTenantDirectory } from '../../auth/organizations/directory.ts';
import {
  createClientAuthentication,
  createClientGrant,
  createTokenRevocation,
} from '../../auth/organizations/oauth-clients.ts';
import { createTenantIdentity, createWorkspaceAccess } from '../../auth/organizations/workspace-access.ts';
import { organizationKey } from '../../auth/tenant-name.ts';
import { createAccessTokens } from '../../auth/tokens/access-tokens.ts';
import { openPepper } from '../../auth/tokens/issued-secrets.ts';
import { createLastUsed } from '../../auth/tokens/last-used.ts';
import { SETTINGS_FILE } from '../../config/configuration.ts';
import { openSecretStore } from '../../config/secrets/store.ts';
import type { HostedSettings, Settings } from '../../config/settings.ts';
import type { Clock } from '../../lib/clock.ts';
import { AppError } from '../../lib/errors.ts';
import { createHttpClient } from '../../lib/http/client.ts';
import { proxiesFrom } from '../../lib/http/proxy.ts';
import type { MonotonicIds } from '../../lib/ids.ts';
import { type KeyRing, openKeyRing } from '../../lib/keyring.ts';
import type { Logger } from '../../lib/logger.ts';
import { createMetrics } from '../../lib/metrics.ts';
import { openStorage } from '../../storage/open.ts';
import type { Storage } from '../../storage/storage.ts';
import { closeServer, listen } from '../listen.ts';
import { settingsIn } from '../settings-in.ts';
import { sweepSessions } from '../sweeps.ts';
import { createTeardown } from '../teardown.ts';
import { startTls, type Tls } from '../tls.ts';
import { createHostedIdentity } from './identity.ts';
import { userRoutesOf } from './user-routes.ts';

export interface LoginServiceOptions {
  readonly storage: Storage;
  readonly keyRing: KeyRing;
  readonly identity: Identity;
  /** `instance.externalUrl`. */
  readonly externalUrl: string | undefined;
  readonly tls: Pick<Tls, 'create'> | undefined;
  /** Changes count after a restart. */
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
  readonly stop: () => Promise<void>;
}

/** Issues tokens at an address of its own, in a process of its own or beside others on the same store. */
export async function startLoginService(options: LoginServiceOptions): Promise<LoginService> {
  const { storage, keyRing, identity, tls, hosted, api, host, port, clock, ids } = options;
  const { feed, keys } = identity;
  const logger = options.logger.child({ component: 'login' });
  const teardown = createTeardown(logger);
  try {
    const audits = createOrganizationAudits({ storage, clock, ids, logger });
    teardown.add('audit', audits.stop);
    const secrets = createCredentialSecrets(await openPepper({ storage, keyRing }));
    const lastUsed = createLastUsed({
      clock,
      logger,
      write: uses => storage.transaction(tx => tx.recordSecretUses(uses)),
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
    const clients = createClientAuthentication({
      ...{ directory, secrets, limits, lastUsed, clock },
      auditOf: audits.forOrganization,
    });
    const granting = { clients, tokens, auditOf: audits.forOrganization };
    const access = createWorkspaceAccess({
      tenants: createTenantIdentity({ storage, feed, keys: keys.tokenKeys, clock, ids, settings: hosted }),
      sessions: identity.authenticate,
      directory,
      authUrl: hosted.authUrl,
    });
    const userRoutes = userRoutesOf({
      ...{ shared: options, identity, access, secrets, audits, hosted },
      externalUrl: options.externalUrl,
    });
    let isStopping = false;
    const startTime = clock.now();
    const server = await createLoginServer({
      grant: createClientGrant({ ...granting, directory, audience: hosted.audience }),
      revoke: createTokenRevocation({ ...granting, storage, feed, clock }),
      userRoutes: {
        ...userRoutes,
        limits: createCallLimits({ clock, size: () => api().rateLimit }),
      },
      keys,
      issuer: hosted.authUrl,
      health: () => ({ status: isStopping ? 'shutting down' : 'healthy', startTime }),
      hostSettings: () => ({ api: api(), instance: { externalUrl: options.externalUrl }, hosted }),
      requestTimeoutMs: api().requestTimeout.ms,
      proxies: () => api().trustedProxies,
      headers: () => api().headers,
      createListener: tls?.create,
      ...{ clock, ids, logger },
    });
    teardown.add('login service', () => closeServer(server, clock));
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

export interface LoginAppOptions {
  readonly configFolder: string;
  readonly dataFolder: string;
  /** In place of `api.host`. */
  readonly host: string | undefined;
  /** 0 for any free one. */
  readonly port: number;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly clock: Clock;
  readonly ids: MonotonicIds;
  readonly logger: Logger;
}

/**
 * Starts the login service in a process of its own. It reads headgate.yml only, at the start. Throws
 * `ConfigurationInvalid`, or an `AppError` that names the obstacle.
 */
export async function startLoginApp(options: LoginAppOptions): Promise<LoginService> {
  const { clock, ids, logger, port } = options;
  const folder = resolve(options.configFolder);
  const dataFolder = resolve(options.dataFolder);
  const { environment } = options;
  // Stored secrets are known once the store is open, whose address is among these settings.
  const atStart = settingsIn(folder, { environment });
  assertHosted(atStart.hosted);
  const teardown = createTeardown(logger);
  try {
    const { url } = atStart.storage;
    const isShared = typeof url !== 'string';
    const storage = await openStorage({ url, dataFolder, logger, clock });
    teardown.add('storage', () => storage.close());
    const keyRing = await openKeyRing({
      path: resolve(dataFolder, atStart.storage.keyRing),
      mayCreate: !(await storage.hasSealedValues()),
    });
    const audits = createOrganizationAudits({ storage, clock, ids, logger });
    teardown.add('audit', audits.stop);
    const workspace = organizationKey(undefined);
    const secrets = await openSecretStore({ storage, workspace, keyRing, clock, logger });
    const settings = settingsIn(folder, { environment, secretOf: secrets.get });
    const { api, hosted } = settings;
    assertHosted(hosted);
    const http = createHttpClient({ ...settings.delivery, clock, proxies: proxiesFrom(environment) });
    teardown.add('http', () => http.close());
    const identity = await createHostedIdentity({
      ...{ storage, keyRing, http, clock, ids, logger, isShared, audits, hosted },
      settings: () => settings,
    });
    teardown.add('identity', identity.stop);
    identity.keys.start();
    teardown.add('sessions', sweepSessions(identity.sessions, { clock, logger }));
    const tls = startTls({ folder, settings: () => api.tls, clock, logger, metrics: createMetrics() });
    if (tls !== undefined) teardown.add('certificate', tls.stop);
    const service = await startLoginService({
      storage,
      keyRing,
      identity,
      externalUrl: settings.instance.externalUrl,
      tls,
      hosted,
      api: () => api,
      host: options.host ?? api.host,
      port,
      clock,
      ids,
      logger,
    });
    teardown.add('login service', service.stop);
    void identity.checkSettings();
    return { url: service.url, stop: teardown.run };
  } catch (error) {
    await teardown.run();
    throw error;
  }
}

function assertHosted(hosted: HostedSettings | undefined): asserts hosted is HostedSettings {
  if (hosted === undefined)
    throw new AppError(
      'invalid-request',
      `the login service is of hosted installations only: set hosted.cloudDomain, authUrl and audience in ${SETTINGS_FILE}`,
    );
}
