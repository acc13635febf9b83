import { Socket } from 'node:net';
import { Agent, buildConnector } from 'undici';
import { codeOf } from '../errors.ts';
import { ForbiddenAddress, HttpFailure } from './failure.ts';
import {
  type AddressGuard,
  createAddressGuard,
  guardedLookup,
  literalRefusal,
  type Resolve,
} from './guard.ts';
import type { ForwardProxy } from './proxy.ts';

const CONNECT_TIMEOUT_MS = 10_000;
const ignore = (): void => {};

/** Certificates for https receivers, in PEM form. Where `fingerprint` is the same, all of it is. */
export interface ClientTls {
  readonly cert?: string;
  readonly key?: string;
  readonly passphrase?: string;
  /** The certificates that are trusted, in place of those of the system. */
  readonly ca?: string;
  readonly fingerprint: string;
}

/** How a certificate is judged, and the one that is shown. */
export interface TunnelTls extends Partial<ClientTls> {
  readonly rejectUnauthorized: boolean;
}

/** Connects to addresses that the guard lets through. */
export function guardedConnector(
  guard: AddressGuard,
  resolve: Resolve,
  tls: TunnelTls,
): buildConnector.connector {
  const connectorAt = (port: number): buildConnector.connector =>
    buildConnector({ ...connectOptions(tls), lookup: guardedLookup(guard, resolve, port) });
  const toAnyPort = connectorAt(0);
  return (target, done) => {
    const port = targetPort(target);
    const refusal = literalRefusal(guard, target.hostname, port);
    if (refusal !== undefined) return done(new ForbiddenAddress(refusal), null);
    (guard.isOwnPort(port) ? connectorAt(port) : toAnyPort)(target, done);
  };
}

const connectOptions = ({ rejectUnauthorized, cert, key, passphrase, ca }: TunnelTls) => ({
  timeout: CONNECT_TIMEOUT_MS,
  rejectUnauthorized,
  cert,
  key,
  passphrase,
  ca,
});

const targetPort = ({ protocol, port }: buildConnector.Options): number =>
  Number(port || (protocol === 'https:' ? 443 : 80));

/** Opens the connection that the one to a receiver goes through. */
type OpenTunnel = (to: { readonly host: string; readonly port: number }) => Promise<Socket>;

/** The certificate is that of the receiver, inside the tunnel. */
export function tunnelConnector(open: OpenTunnel, tls: TunnelTls): buildConnector.connector {
  const encrypt = buildConnector(connectOptions(tls));
  return (target, done) => {
    open({ host: target.hostname, port: targetPort(target) }).then(
      socket => {
        if (target.protocol === 'https:') encrypt({ ...target, httpSocket: socket }, done);
        else done(null, socket);
      },
      error => done(error, null),
    );
  };
}

/**
 * Connections to proxies. A proxy may have any address but those of metadata, whatever receivers may have. A tunnel
 * outlives the exchange it was opened for, so that opening it has a time limit of its own.
 */
export function createProxyAgent(resolve: Resolve): Agent {
  return new Agent({
    pipelining: 1,
    connect: proxyConnector(resolve),
    headersTimeout: CONNECT_TIMEOUT_MS,
    bodyTimeout: 0,
  });
}

export const proxyConnector = (resolve: Resolve): buildConnector.connector =>
  guardedConnector(createAddressGuard({ privateAddresses: 'allow', allowedAddresses: [] }), resolve, {
    rejectUnauthorized: true,
  });

/** RFC 9110 section 9.3.6. Rejects with what `refused` makes of an answer that is not 2xx. */
export async function openTunnel(
  agent: Agent,
  { origin, authorization }: ForwardProxy,
  to: {
    readonly host: string;
    readonly port: number;
    readonly refused: (status: number) => HttpFailure;
  },
): Promise<Socket> {
  const path = `${to.host.includes(':') ? `[${to.host}]` : to.host}:${to.port}`;
  const headers = {
    host: path,
    ...(authorization !== undefined && { 'proxy-authorization': authorization }),
  };
  const opened = agent.connect({ origin, path, headers });
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

/** The failure of a request that a proxy refused. `proxy` is its origin: a name and a password are secret. */
export function proxyRefusal(proxy: string, status: number, origin: string): HttpFailure {
  const remedy = status === 407 ? '; give its name and password in HTTP_PROXY or HTTPS_PROXY' : '';
  return new HttpFailure('other', `${origin}: the proxy ${proxy} answered ${status}${remedy}`);
}
