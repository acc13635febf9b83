import { Socket } from 'node:net';
import type { SecureContextOptions } from 'node:tls';
import { Agent, buildConnector } from 'undici';
import { type Clock, systemClock } from '../clock.ts';
import { codeOf } from '../errors.ts';
import { openSocket } from './connect.ts';
import { HttpFailure } from './failure.ts';
import { type AddressGuard, createAddressGuard, type Resolve } from './guard.ts';
import type { ForwardProxy } from './proxy.ts';

const CONNECT_TIMEOUT_MS = 10_000;
const ignore = (): void => {};

/** Certificates for https receivers, in PEM form. Where `fingerprint` is the same, all of it is. */
export interface ClientTls extends TlsOptions {
  readonly fingerprint: string;
}

/** `ca` is trusted in place of the authorities of the system. */
type TlsOptions = Pick<
  SecureContextOptions,
  'cert' | 'key' | 'passphrase' | 'ca' | 'minVersion' | 'maxVersion' | 'ciphers'
>;

/** How a certificate is judged, and the one that is shown. */
interface TunnelTls extends TlsOptions {
  readonly rejectUnauthorized: boolean;
}

/** How a connection to a receiver is opened, and how long that may take, TLS included, in ms. */
export interface ConnectorOptions {
  /** Opens the TCP connection that the one to a receiver is, or goes through. */
  readonly open: (to: {
    readonly host: string;
    readonly port: number;
    readonly signal: AbortSignal;
  }) => Promise<Socket>;
  readonly tls: TunnelTls;
  readonly clock?: Pick<Clock, 'after'> | undefined;
  readonly connectMs?: number | undefined;
}

/** The certificate is that of the receiver, also inside a tunnel. */
export function connectorOver({
  open,
  tls,
  clock = systemClock,
  connectMs = CONNECT_TIMEOUT_MS,
}: ConnectorOptions): buildConnector.connector {
  const encrypt = buildConnector(connectOptions(tls, connectMs));
  return (target, done) => {
    const ending = new AbortController();
    let opened: Socket | undefined;
    let isOver = false;
    const end = (error: Error | null, socket: Socket | null): void => {
      cancel();
      if (isOver) return void socket?.on('error', ignore).destroy();
      isOver = true;
      if (error === null && socket !== null) done(null, socket);
      else done(error ?? connectionTimedOut(), null);
    };
    const cancel = clock.after(connectMs, () => {
      end(connectionTimedOut(), null);
      ending.abort();
      opened?.destroy();
    });
    open({ host: target.hostname, port: targetPort(target), signal: ending.signal }).then(
      socket => {
        opened = socket;
        if (isOver || target.protocol !== 'https:') end(null, socket);
        else encrypt({ ...target, httpSocket: socket }, (error, secured) => end(error, secured));
      },
      error => end(error, null),
    );
  };
}

const connectionTimedOut = (): Error =>
  Object.assign(new Error('the connection timed out'), { code: 'UND_ERR_CONNECT_TIMEOUT' });

/** Connects to addresses that the guard lets through. */
export const guardedConnector = ({
  guard,
  resolve,
  ...options
}: Omit<ConnectorOptions, 'open'> & {
  readonly guard: AddressGuard;
  readonly resolve: Resolve;
}): buildConnector.connector =>
  connectorOver({
    ...options,
    open: to => openSocket({ ...to, guard, resolve, clock: options.clock }),
  });

const connectOptions = (
  { rejectUnauthorized, cert, key, passphrase, ca, minVersion, maxVersion, ciphers }: TunnelTls,
  connectMs: number,
) => ({
  // Its own clock; ours ends it before.
  timeout: connectMs + 1000,
  rejectUnauthorized,
  cert,
  key,
  passphrase,
  ca,
  ...(minVersion !== undefined && { minVersion }),
  ...(maxVersion !== undefined && { maxVersion }),
  ...(ciphers !== undefined && { ciphers }),
});

const targetPort = ({ protocol, port }: buildConnector.Options): number =>
  Number(port || (protocol === 'https:' ? 443 : 80));

/**
 * Connections to proxies. A tunnel outlives the exchange it was opened for, so that opening it has a time limit of its
 * own.
 */
export const createProxyAgent = (connect: buildConnector.connector): Agent =>
  new Agent({ pipelining: 1, connect, headersTimeout: CONNECT_TIMEOUT_MS, bodyTimeout: 0 });

/** A proxy of the operator's may have any address but those of metadata, whatever receivers may have. */
export const operatorsProxyConnector = (
  options: Pick<ConnectorOptions, 'clock'> & { readonly resolve: Resolve },
): buildConnector.connector =>
  guardedConnector({
    ...options,
    guard: createAddressGuard({ privateAddresses: 'allow', allowedAddresses: [] }),
    tls: { rejectUnauthorized: true },
  });

/** RFC 9110 section 9.3.6. Rejects with what `refused` makes of an answer that is not 2xx. */
export async function openTunnel(
  agent: Agent,
  { origin, authorization }: ForwardProxy,
  to: {
    readonly host: string;
    readonly port: number;
    readonly refused: (status: number) => HttpFailure;
    readonly signal: AbortSignal;
  },
): Promise<Socket> {
  const path = `${to.host.includes(':') ? `[${to.host}]` : to.host}:${to.port}`;
  const headers = {
    host: path,
    ...(authorization !== undefined && { 'proxy-authorization': authorization }),
  };
  const opened = agent.connect({ origin, path, headers, signal: to.signal });
  const { statusCode, socket } = await opened.catch(error => {
    throw codeOf(error) === 'UND_ERR_SOCKET' ? connectionClosed(error) : error;
  });
  if (statusCode >= 200 && statusCode <= 299 && socket instanceof Socket) return socket;
  socket.on('error', ignore).destroy();
  throw to.refused(statusCode);
}

/** The library takes its own word for a closed connection to mean that another one may do, and tries without an end. */
const connectionClosed = (cause: unknown): Error =>
  Object.assign(new Error('the proxy closed the connection', { cause }), { code: 'ECONNRESET' });

/** The failure of a request that a proxy refused. It is named by its origin: a name and a password are secret. */
export function proxyRefusal(
  { origin: proxy, isOfTarget }: Pick<ForwardProxy, 'origin' | 'isOfTarget'>,
  status: number,
  origin: string,
): HttpFailure {
  const where = isOfTarget ? 'proxyUsername and proxyPassword' : 'HTTP_PROXY or HTTPS_PROXY';
  const remedy = status === 407 ? `; give its name and password in ${where}` : '';
  return new HttpFailure('other', `${origin}: the proxy ${proxy} answered ${status}${remedy}`);
}
