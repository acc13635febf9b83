import { isIP, type Socket } from 'node:net';
import { ForbiddenAddress, failureOf, HttpFailure } from './failure.ts';
import { type AddressGuard, guardedLookup, literalRefusal, type Resolve } from './guard.ts';
import type { ForwardProxy } from './proxy.ts';
import { createProxyAgent, openTunnel } from './tunnel.ts';

/** Connects through a proxy that learns addresses and no names. */
export interface Egress {
  /**
   * Looks the host up by `resolve`, judges every address of it, and has the proxy connect to one of them. Rejects with
   * `ForbiddenAddress`, the error of the look-up, or a `HttpFailure` that does not name the proxy.
   */
  connect(to: {
    readonly host: string;
    readonly port: number;
    readonly guard: AddressGuard;
    readonly resolve: Resolve;
  }): Promise<Socket>;
  close(): Promise<void>;
}

/** Addresses of one host that are tried in turn. */
const MOST_TRIED = 4;

export function createEgress(proxy: ForwardProxy, resolveProxy: Resolve): Egress {
  const agent = createProxyAgent(resolveProxy);
  return {
    async connect({ host, port, guard, resolve }) {
      const named = `${host.includes(':') ? `[${host}]` : host}:${port} through the proxy of this service`;
      const refused = (status: number): HttpFailure =>
        new HttpFailure('other', `${named}: the proxy answered ${status}`);
      let failure: unknown;
      for (const address of (await allowedAddresses({ host, port, guard, resolve })).slice(0, MOST_TRIED))
        try {
          return await openTunnel(agent, proxy, { host: address, port, refused });
        } catch (error) {
          failure = failureOf(error, named);
        }
      throw failure;
    },
    close: () => agent.destroy(),
  };
}

/** All of them, as the name is refused when one of them is. */
function allowedAddresses({
  host,
  port,
  guard,
  resolve,
}: Parameters<Egress['connect']>[0]): Promise<readonly string[]> {
  const refusal = literalRefusal(guard, host, port);
  if (refusal !== undefined) return Promise.reject(new ForbiddenAddress(refusal));
  if (isIP(host) !== 0) return Promise.resolve([host]);
  return new Promise((done, reject) =>
    guardedLookup(guard, resolve, port)(host, { all: true }, (error, found) => {
      if (error) reject(error);
      else done(typeof found === 'string' ? [found] : found.map(({ address }) => address));
    }),
  );
}
