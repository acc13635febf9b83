import type { Server as HttpServer, RequestListener, ServerOptions } from 'node:http';
import { createServer, type Server } from 'node:https';
import type { SecureContextOptions } from 'node:tls';

/** Times in ms. */
export interface ListenerLimits
  extends Pick<
    ServerOptions,
    | 'requestTimeout'
    | 'headersTimeout'
    | 'connectionsCheckingInterval'
    | 'requireHostHeader'
    | 'keepAliveTimeout'
  > {
  readonly headersTimeout: number;
}

/** Servers of https whose certificate can be replaced. */
export interface TlsServers {
  readonly create: (listener: RequestListener, limits: ListenerLimits) => HttpServer;
  /** New connections are made with it; those that are open stay as they are. Throws when it cannot be used. */
  setContext(context: SecureContextOptions): void;
}

/** `requestCert`: whether clients must show a certificate that the context's `ca` has signed. */
export function createTlsServers(first: SecureContextOptions, requestCert: boolean): TlsServers {
  const servers = new Set<Server>();
  let context = first;
  return {
    create(listener, limits) {
      const { headersTimeout: handshakeTimeout } = limits;
      const certificates = { ...context, requestCert, rejectUnauthorized: requestCert };
      const server = createServer({ ...certificates, ...limits, handshakeTimeout }, listener);
      servers.add(server);
      server.once('close', () => servers.delete(server));
      return server;
    },
    setContext(next) {
      for (const server of servers) server.setSecureContext(next);
      context = next;
    },
  };
}
