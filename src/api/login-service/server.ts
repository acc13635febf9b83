import type { Socket } from 'node:net';
import type { FastifyInstance } from 'fastify';
import type { GrantToken } from '../../auth/client-grant.ts';
import type { RevokeToken } from '../../auth/client-revocation.ts';
import type { KeyLife } from '../../auth/key-life.ts';
import type { Clock } from '../../lib/clock.ts';
import type { Ids } from '../../lib/ids.ts';
import type { Logger } from '../../lib/logger.ts';
import type { TlsServers } from '../../lib/tls-servers.ts';
import { trustedProxies } from '../../lib/trusted-proxies.ts';
import { createBaseServer } from '../base-server.ts';
import { addHealth, type Health, healthOperation } from '../health.ts';
import { addJwks, JWKS_ROUTE } from '../jwks.ts';
import { addNotFound } from '../not-found.ts';
import { refuseUnreadable } from '../unreadable.ts';
import { addMetadata, METADATA_ROUTE } from './metadata.ts';
import { createOAuthErrorWriter } from './oauth-errors.ts';
import { readParameters } from './parameters.ts';
import { addPeople, PEOPLE_ROUTES, type PeopleOptions } from './people.ts';
import { addRevoke, REVOKE_ROUTE } from './revoke.ts';
import { addToken, TOKEN_ROUTE } from './token.ts';

export interface LoginServerOptions {
  readonly grant: GrantToken;
  readonly revoke: RevokeToken;
  readonly keys: Pick<KeyLife, 'published'>;
  /** `hosted.authUrl`. */
  readonly issuer: string;
  readonly people: PeopleOptions;
  readonly health: () => Health;
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
const ROUTES = [TOKEN_ROUTE, REVOKE_ROUTE, METADATA_ROUTE, JWKS_ROUTE, healthOperation, ...PEOPLE_ROUTES];

/** The login service of the hosted deployment, not yet listening. */
export async function createLoginServer(options: LoginServerOptions): Promise<FastifyInstance> {
  const { grant, revoke, keys, issuer, health, headers, createListener, clock, ids, logger } = options;
  const server = createBaseServer({
    proxies: trustedProxies(options.proxies),
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
  addNotFound(server, '', ROUTES);
  await addPeople(server, options.people, { logger, clock });
  await server.ready();
  return server;
}
