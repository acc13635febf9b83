import { Socket } from 'node:net';
import { TLSSocket } from 'node:tls';
import { Agent, buildConnector } from 'undici';
import { codeOf } from '../errors.ts';
import { createLru } from '../lru.ts';
import { ForbiddenAddress, HttpFailure } from './failure.ts';
import {
  type AddressGuard,
  type AddressPolicy,
  createAddressGuard,
  guardedLookup,
  literalRefusal,
  type Resolve,
  roundRobin,
} from './guard.ts';
import type { ForwardProxy } from './proxy.ts';

const CONNECT_TIMEOUT_MS = 10_000;
/** Connections that show a certificate of their own are closed when so many others were used since. */
const MAX_IDENTITIES = 1000;
const ignore = (): void => {};

export interface AgentOptions extends AddressPolicy {
  /** Connections to one origin; null for as many as there are requests. */
  readonly connections: number | null;
  readonly resolve: Resolve;
  /** Called with the end of a receiver's certificate, in epoch ms; never with that of a proxy's. */
  readonly onCertificate?: (origin: string, notAfter: number) => void;
}

/** How a connection is made. Each profile has connections of its own, so that a strict request never gets a lax one. */
interface ConnectionProfile {
  /** True accepts a certificate that no trusted authority has signed. */
  readonly skipsVerification: boolean;
  /** True connects to the addresses of the host in turn. */
  readonly isRoundRobin?: boolean;
  /** Certificates that are shown and trusted. */
  readonly tls?: ClientTls | undefined;
  /** The proxy that opens a tunnel to the receiver. */
  readonly tunnel?: ForwardProxy;
  /** True when the connection ends at a proxy, which gets whole addresses. */
  readonly isToProxy?: true;
}

export interface Agents {
  of(way: ConnectionProfile): Agent;
  /** Why a host that is an address itself may not be connected to, directly or by a proxy. */
  refusal(host: string): string | undefined;
  close(): Promise<void>;
}

/**
 * A proxy may have any address but those of metadata, whatever receivers may have. A name that is requested through it is looked up there, and judged there if anywhere.
 */
export function createAgents(options: AgentOptions): Agents {
  const guard = createAddressGuard(options);
  const proxyGuard = createAddressGuard({ privateAddresses: 'allow', allowedAddresses: [] });
  const roundRobinResolve = roundRobin(options.resolve);
  const agents = new Map<string, Agent>();

  const agentWith = (connect: buildConnector.connector, headersTimeout = 0): Agent =>
    new Agent({
      connections: options.connections,
      pipelining: 1,
      connect,
      // The deadline of the whole exchange covers both, but where there is none.
      headersTimeout,
      bodyTimeout: 0,
    });
  const cachedAgent = (key: string, make: () => Agent): Agent => {
    const agent = agents.get(key) ?? make();
    agents.set(key, agent);
    return agent;
  };
  const identities = createLru<string, true>(MAX_IDENTITIES);
  function evictOldestIdentity(key: string): void {
    const unused = identities.set(key, true);
    if (unused === undefined) return;
    agents.get(unused)?.close().catch(ignore);
    agents.delete(unused);
  }
  const toProxy = (): buildConnector.connector => guardedConnector(proxyGuard, options.resolve, true);
  const observing = (connect: buildConnector.connector): buildConnector.connector =>
    options.onCertificate === undefined ? connect : observeCertificates(connect, options.onCertificate);
  /** A tunnel outlives the exchange it was opened for, so that opening it has a time limit of its own. */
  const tunnelAgent = (): Agent => cachedAgent('entrance', () => agentWith(toProxy(), CONNECT_TIMEOUT_MS));

  return {
    of({ skipsVerification, isRoundRobin, tls, tunnel, isToProxy }) {
      const key = `${skipsVerification} ${isRoundRobin} ${tunnel?.origin} ${isToProxy} ${tls?.fingerprint}`;
      if (tls !== undefined) evictOldestIdentity(key);
      return cachedAgent(key, () => {
        if (isToProxy) return agentWith(toProxy());
        if (tunnel) return agentWith(observing(tunnelConnector(tunnelAgent(), tunnel, !skipsVerification)));
        const resolve = isRoundRobin ? roundRobinResolve : options.resolve;
        return agentWith(observing(guardedConnector(guard, resolve, !skipsVerification, tls)));
      });
    },
    refusal: host => literalRefusal(guard, host),
    async close() {
      await Promise.all([...agents.values()].map(agent => agent.destroy()));
    },
  };
}

function guardedConnector(
  guard: AddressGuard,
  resolve: Resolve,
  rejectUnauthorized: boolean,
  { cert, key, passphrase, ca }: Partial<ClientTls> = {},
): buildConnector.connector {
  const connect = buildConnector({
    timeout: CONNECT_TIMEOUT_MS,
    lookup: guardedLookup(guard, resolve),
    rejectUnauthorized,
    cert,
    key,
    passphrase,
    ca,
  });
  return (target, done) => {
    const refusal = literalRefusal(guard, target.hostname);
    if (refusal === undefined) connect(target, done);
    else done(new ForbiddenAddress(refusal), null);
  };
}

function observeCertificates(
  connect: buildConnector.connector,
  onCertificate: (origin: string, notAfter: number) => void,
): buildConnector.connector {
  return (target, done) =>
    connect(target, (...opened) => {
      const [, socket] = opened;
      const notAfter =
        socket instanceof TLSSocket ? Date.parse(socket.getPeerX509Certificate()?.validTo ?? '') : Number.NaN;
      if (!Number.isNaN(notAfter)) onCertificate(originOf(target), notAfter);
      done(...opened);
    });
}

const originOf = ({ protocol, hostname, port }: buildConnector.Options): string =>
  new URL(
    `${protocol}//${hostname.includes(':') ? `[${hostname}]` : hostname}${port === '' ? '' : `:${port}`}`,
  ).origin;

/** RFC 9110 section 9.3.6. The certificate is that of the receiver, inside the tunnel. */
function tunnelConnector(
  tunnelAgent: Agent,
  { origin, authorization }: ForwardProxy,
  rejectUnauthorized: boolean,
): buildConnector.connector {
  const encrypt = buildConnector({ timeout: CONNECT_TIMEOUT_MS, rejectUnauthorized });
  return (target, done) => {
    const host = target.hostname.includes(':') ? `[${target.hostname}]` : target.hostname;
    const path = `${host}:${target.port || 443}`;
    const headers = {
      host: path,
      ...(authorization !== undefined && { 'proxy-authorization': authorization }),
    };
    tunnelAgent.connect({ origin, path, headers }).then(
      ({ statusCode, socket }) => {
        if (statusCode >= 200 && statusCode <= 299 && socket instanceof Socket)
          return encrypt({ ...target, httpSocket: socket }, done);
        socket.on('error', ignore).destroy();
        done(proxyRefusal(origin, statusCode, `https://${host}`), null);
      },
      error => done(codeOf(error) === 'UND_ERR_SOCKET' ? connectionClosed(error) : error, null),
    );
  };
}

/** The library takes its own word for a closed connection to mean that another one may do, and tries without an end. */
const connectionClosed = (cause: unknown): Error =>
  Object.assign(new Error('the proxy closed the connection', { cause }), { code: 'ECONNRESET' });

/** The failure of a request that a proxy refused. `proxy` is its origin: a name and a password are secret. */
export function proxyRefusal(proxy: string, status: number, origin: string): HttpFailure {
  const remedy = status === 407 ? '; give its name and password in HTTP_PROXY or HTTPS_PROXY' : '';
  return new HttpFailure('other', `${origin}: the proxy ${proxy} answered ${status}${remedy}`);
}

/** Certificates for https receivers, in PEM form. Where `fingerprint` is the same, all of it is. */
export interface ClientTls {
  readonly cert?: string;
  readonly key?: string;
  readonly passphrase?: string;
  /** The certificates that are trusted, in place of those of the system. */
  readonly ca?: string;
  readonly fingerprint: string;
}
