import { isIP, type Socket } from 'node:net';
import { type ConnectionOptions, connect as connectEncrypted } from 'node:tls';
import type { Clock } from './clock.ts';
import { openSocket } from './http/connect.ts';
import type { Egress } from './http/egress.ts';
import { failureOf } from './http/failure.ts';
import { type AddressPolicy, createAddressGuard, type Resolve, resolveBySystem } from './http/guard.ts';
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
    'rejectUnauthorized' | 'minVersion' | 'maxVersion' | 'ca' | 'cert' | 'key' | 'passphrase' | 'ciphers'
  >;
}

/**
 * A connection for what does not speak HTTP, to an address that was judged as those of HTTP are. Rejects with an
 * `HttpFailure` that names host and port.
 */
export type Dial = (request: DialRequest) => Promise<Socket>;

interface Options extends AddressPolicy {
  readonly resolve?: Resolve;
  /** Times the attempts; by default that of the system. */
  readonly clock?: Pick<Clock, 'after'>;
  /** Every connection goes through it. By default each goes directly. */
  readonly egress?: Egress | undefined;
}

/** Throws `invalid-request` for an item of `allowedAddresses` that is no address and no range. */
export function createDial(options: Options): Dial {
  const { resolve = resolveBySystem, egress, clock } = options;
  const guard = createAddressGuard(options);
  return async ({ host, port, signal, tls }) => {
    const to = { host, port, signal, guard, resolve, clock };
    try {
      const socket = await (egress === undefined ? openSocket(to) : egress.connect(to));
      // Later errors are reported to the reader of the socket, and must not end the process before that.
      socket.on('error', ignore);
      return tls === undefined ? socket : await encrypted(socket, { host, port, signal, tls });
    } catch (error) {
      throw failureOf(error, `${host}:${port}`);
    }
  };
}

function encrypted(socket: Socket, { host, port, signal, tls }: DialRequest): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const servername = isIP(host) === 0 ? host : '';
    const secured = connectEncrypted({ ...tls, socket, host, port, servername });
    const giveUp = (): void => void secured.destroy(abandoned());
    const leave = onAbort(signal, giveUp);
    secured.once('error', error => {
      leave();
      socket.destroy();
      reject(error);
    });
    secured.on('error', ignore);
    secured.once('secureConnect', () => {
      leave();
      resolve(secured);
    });
    if (signal.aborted) giveUp();
  });
}

const ignore = (): void => {};

const abandoned = (): Error => Object.assign(new Error('given up'), { code: 'UND_ERR_ABORTED' });
