import { connect as connectPlainly, isIP, type Socket } from 'node:net';
import { type ConnectionOptions, connect as connectEncrypted } from 'node:tls';
import { ForbiddenAddress, failureOf } from './http/failure.ts';
import {
  type AddressPolicy,
  createAddressGuard,
  guardedLookup,
  literalRefusal,
  type Resolve,
  resolveBySystem,
} from './http/guard.ts';

interface DialRequest {
  /** A name or an address, without brackets. */
  readonly host: string;
  readonly port: number;
  /** Gives up while it connects; the socket is its caller's afterwards. */
  readonly signal: AbortSignal;
  /** TLS from the first byte, the certificate being checked against `host`. By default none. */
  readonly tls?: Pick<
    ConnectionOptions,
    'rejectUnauthorized' | 'minVersion' | 'maxVersion' | 'ca' | 'ciphers'
  >;
}

/**
 * A connection for what does not speak HTTP, to an address that was judged as those of HTTP are. Rejects with an
 * `HttpFailure` that names host and port.
 */
export type Dial = (request: DialRequest) => Promise<Socket>;

/** Throws `invalid-request` for an item of `allowedAddresses` that is no address and no range. */
export function createDial(policy: AddressPolicy & { readonly resolve?: Resolve }): Dial {
  const guard = createAddressGuard(policy);
  const lookup = guardedLookup(guard, policy.resolve ?? resolveBySystem);
  return ({ host, port, signal, tls }) =>
    new Promise((resolve, reject) => {
      const origin = `${host}:${port}`;
      const refusal = literalRefusal(guard, host);
      if (refusal !== undefined) return reject(failureOf(new ForbiddenAddress(refusal), origin));
      const socket =
        tls === undefined
          ? connectPlainly({ host, port, lookup })
          : connectEncrypted({ ...tls, host, port, lookup, servername: isIP(host) === 0 ? host : '' });
      const giveUp = (): void =>
        void socket.destroy(Object.assign(new Error('given up'), { code: 'UND_ERR_ABORTED' }));
      const fail = (error: Error): void => end(() => reject(failureOf(error, origin)));
      function end(then: () => void): void {
        signal.removeEventListener('abort', giveUp);
        socket.removeListener('error', fail);
        // Later errors are reported to the reader of the socket, and must not end the process before that.
        socket.on('error', () => {});
        then();
      }
      socket.on('error', fail);
      socket.once(tls === undefined ? 'connect' : 'secureConnect', () => end(() => resolve(socket)));
      if (signal.aborted) giveUp();
      else signal.addEventListener('abort', giveUp, { once: true });
    });
}
