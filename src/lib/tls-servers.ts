import type { Server as HttpServer, RequestListener } from 'node:http';
import { createServer, type Server } from 'node:https';
import type { SecureContextOptions } from 'node:tls';

/** Times in ms. */
interface ServerLimits {
  readonly requestTimeout?: number | undefined;
  readonly keepAliveTimeout?: number | undefined;
}

/** Servers of https whose certificate can be replaced. */
export interface TlsServers {
  readonly create: (listener: RequestListener, limits: ServerLimits) => HttpServer;
  /** New connections are made with it; those that are open stay as they are. Throws when it cannot be used. */
  setContext(context: SecureContextOptions): void;
}

/** `requestCert`: whether clients must show a certificate that the context's `ca` has signed. */
export function createTlsServers(first: SecureContextOptions, requestCert: boolean): TlsServers {
  const servers = new Set<Server>();
  let context = first;
  return {
    create(listener, { requestTimeout, keepAliveTimeout }) {
      const server = createServer({ ...context, requestCert, rejectUnauthorized: requestCert }, listener);
      if (requestTimeout !== undefined) server.requestTimeout = requestTimeout;
      if (keepAliveTimeout !== undefined) server.keepAliveTimeout = keepAliveTimeout;
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
