import { connect as connectPlainly, isIP, type LookupFunction, type Socket } from 'node:net';
import { type ConnectionOptions, connect as connectEncrypted } from 'node:tls';
import type { Egress } from './http/egress.ts';
import { ForbiddenAddress, failureOf } from './http/failure.ts';
import {
  type AddressPolicy,
  createAddressGuard,
  guardedLookup,
  literalRefusal,
  type Resolve,
  resolveBySystem,
} from './http/guard.ts';
import { onAbort } from './on-abort.ts';

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

interface Options extends AddressPolicy {
  readonly resolve?: Resolve;
  /** Every connection goes through it. By default each goes directly. */
  readonly egress?: Egress | undefined;
}

/** Throws `invalid-request` for an item of `allowedAddresses` that is no address and no range. */
export function createDial(options: Options): Dial {
  const { resolve: lookUp = resolveBySystem, egress } = options;
  const guard = createAddressGuard(options);
  return async request => {
    const { host, port } = request;
    const refusal = literalRefusal(guard, host, port);
    if (refusal !== undefined) throw failureOf(new ForbiddenAddress(refusal), `${host}:${port}`);
    if (egress === undefined) return connected(request, guardedLookup(guard, lookUp, port));
    const through = await unlessAborted(egress.connect({ host, port, guard, resolve: lookUp }), request);
    return connected(request, undefined, through);
  };

  /** `through` is a connection to the receiver already. */
  function connected(
    { host, port, signal, tls }: DialRequest,
    lookup: LookupFunction | undefined,
    through?: Socket,
  ): Promise<Socket> {
    if (through !== undefined && tls === undefined) return Promise.resolve(through);
    return new Promise((resolve, reject) => {
      const origin = `${host}:${port}`;
      const servername = isIP(host) === 0 ? host : '';
      const to = { host, port, ...(lookup && { lookup }), ...(through && { socket: through }) };
      const socket = tls === undefined ? connectPlainly(to) : connectEncrypted({ ...tls, ...to, servername });
      const giveUp = (): void => void socket.destroy(abandoned());
      const fail = (error: Error): void => end(() => reject(failureOf(error, origin)));
      function end(then: () => void): void {
        signal.removeEventListener('abort', giveUp);
        socket.removeListener('error', fail);
        // Later errors are reported to the reader of the socket, and must not end the process before that.
        socket.on('error', ignore);
        then();
      }
      socket.on('error', fail);
      socket.once(tls === undefined ? 'connect' : 'secureConnect', () => end(() => resolve(socket)));
      if (signal.aborted) giveUp();
      else signal.addEventListener('abort', giveUp, { once: true });
    });
  }
}

const ignore = (): void => {};

const abandoned = (): Error => Object.assign(new Error('given up'), { code: 'UND_ERR_ABORTED' });

/** A connection that comes too late is closed. */
function unlessAborted(opening: Promise<Socket>, { host, port, signal }: DialRequest): Promise<Socket> {
  const origin = `${host}:${port}`;
  return new Promise((resolve, reject) => {
    let isOver = signal.aborted;
    if (isOver) reject(failureOf(abandoned(), origin));
    const leave = onAbort(signal, () => {
      isOver = true;
      reject(failureOf(abandoned(), origin));
    });
    opening.then(
      socket => {
        leave();
        socket.on('error', ignore);
        if (isOver) socket.destroy();
        else resolve(socket);
      },
      error => {
        leave();
        reject(failureOf(error, origin));
      },
    );
  });
}
