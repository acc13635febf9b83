import type { Socket } from 'node:net';
import { type ConnectRequest, raceAddresses } from './connect.ts';
import { failureOf, HttpFailure } from './failure.ts';
import type { Resolve } from './guard.ts';
import type { ForwardProxy } from './proxy.ts';
import { createProxyAgent, openTunnel, operatorsProxyConnector } from './tunnel.ts';

/** Connects through a proxy that learns addresses and no names. */
export interface Egress {
  /**
   * Looks the host up by `resolve`, judges every address of it, and has the proxy connect to one of them. Rejects with
   * `ForbiddenAddress`, the error of the look-up, or a `HttpFailure` that does not name the proxy.
   */
  connect(to: ConnectRequest): Promise<Socket>;
  close(): Promise<void>;
}

export function createEgress(proxy: ForwardProxy, resolveProxy: Resolve): Egress {
  const agent = createProxyAgent(operatorsProxyConnector({ resolve: resolveProxy }));
  return {
    connect(to) {
      const { host, port } = to;
      const named = `${host.includes(':') ? `[${host}]` : host}:${port} through the proxy of this service`;
      const refused = (status: number): HttpFailure =>
        new HttpFailure('other', `${named}: the proxy answered ${status}`);
      return raceAddresses(to, ({ address }, signal) =>
        openTunnel(agent, proxy, { host: address, port, refused, signal }).catch(error => {
          throw failureOf(error, named);
        }),
      );
    },
    close: () => agent.destroy(),
  };
}
