import type { Socket } from 'node:net';
import { hostname } from 'node:os';
import type { FastifyInstance } from 'fastify';
import type { GrantToken, RevokeToken } from '../../auth/organizations/oauth-clients.ts';
import type { KeyRotation } from '../../auth/tokens/key-rotation.ts';
import type { Clock } from '../../lib/clock.ts';
import type { Ids } from '../../lib/ids.ts';
import type { Logger } from '../../lib/logger.ts';
import type { TlsServers } from '../../lib/tls-servers.ts';
import { createTrustedProxies } from '../../lib/trusted-proxies.ts';
import { createBaseServer, refuseUnreadable } from '../base-server.ts';
import { addNotFound } from '../hooks.ts';
import { createHostRule, type HostSettings } from '../hosts.ts';
import { addJwks, JWKS_ROUTE } from '../jwks.ts';
import { addHealth, healthOperation, type ServerHealth } from '../v1/health.ts';
import { addMetadata, addRevoke, addToken, METADATA_ROUTE, REVOKE_ROUTE, TOKEN_ROUTE } from './oauth.ts';
import { createOAuthErrorWriter } from './oauth-errors.ts';
import { readParameters } from './parameters.ts';
import { addUserRoutes, USER_ROUTES, type UserRoutesOptions } from './user-routes.ts';

export interface LoginServerOptions {
  readonly grant: GrantToken;
  readonly revoke: RevokeToken;
  readonly keys: Pick<KeyRotation, 'published'>;
  /** `hosted.authUrl`. */
  readonly issuer: string;
  readonly userRoutes: UserRoutesOptions;
  readonly health: () => ServerHealth;
  /** Which settings of the installation name hosts. */
  readonly hostSettings: () => HostSettings;
  /** `api.requestTimeout` in ms. */
  readonly requestTimeoutMs: number;
  /** `api.trustedProxies`. */
  readonly proxies: () => readonly string[];
  /** `api.headers`. */
  readonly headers: () => Readonly<Record<string, string>>;
  readonly createListener?: TlsServers['create'] | undefined;
  readonly clock: Pick<Clock, 'monotonic'>;
  readonly ids: Ids;
  readonly logger: Logger;
}

const MOST_BODY_BYTES = 8 * 1024;
/** All but those below `/session` and of the management plane. */
export const LOGIN_SERVICE_ROUTES = [
  TOKEN_ROUTE,
  REVOKE_ROUTE,
  METADATA_ROUTE,
  JWKS_ROUTE,
  healthOperation,
  ...USER_ROUTES,
];

/** The login service of the hosted deployment, not yet listening. */
export async function createLoginServer(options: LoginServerOptions): Promise<FastifyInstance> {
  const { grant, revoke, keys, issuer, health, headers, createListener, clock, ids, logger } = options;
  const server = createBaseServer({
    hosts: createHostRule({ settings: options.hostSettings, hostname: hostname(), clock, logger }),
    requestTimeoutMs: options.requestTimeoutMs,
    proxies: createTrustedProxies(options.proxies),
    createListener,
    bodyLimit: MOST_BODY_BYTES,
    refuseUnreadable: (error: Error, socket: Socket) => refuseUnreadable(error, socket, ids),
    headers,
    ids,
    logger,
  });
  server.setErrorHandler(createOAuthErrorWriter(logger, clock));
  readParameters(server);
  addHealth(server, health);
  addJwks(server, keys);
  addMetadata(server, issuer);
  addToken(server, grant);
  addRevoke(server, revoke);
  addNotFound(server, '', LOGIN_SERVICE_ROUTES);
  await addUserRoutes(server, options.userRoutes, { logger, clock });
  await server.ready();
  return server;
}
