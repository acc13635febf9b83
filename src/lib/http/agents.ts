import { TLSSocket } from 'node:tls';
import { Agent, type buildConnector, Pool } from 'undici';
import type { Clock } from '../clock.ts';
import { createLru } from '../lru.ts';
import type { Egress } from './egress.ts';
import { type AddressPolicy, createAddressGuard, literalRefusal, type Resolve, roundRobin } from './guard.ts';
import { ProgressClient } from './progress.ts';
import { bareHost, type ForwardProxy, portOf } from './proxy.ts';
import {
  type ClientTls,
  type ConnectorOptions,
  connectorOver,
  createProxyAgent,
  guardedConnector,
  openTunnel,
  operatorsProxyConnector,
  proxyRefusal,
} from './tunnel.ts';

type TunnelRequest = Parameters<ConnectorOptions['open']>[0];

/** Connections that show a certificate of their own are closed when so many others were used since. */
const MAX_IDENTITIES = 1000;
const ignore = (): void => {};

export interface AgentOptions extends AddressPolicy {
  /** Connections to one origin; null for as many as there are requests. */
  readonly connections: number | null;
  readonly resolve: Resolve;
  readonly clock: Pick<Clock, 'after'>;
  /** Every connection goes through it. By default each goes directly, or by the proxy of its profile. */
  readonly egress?: Egress | undefined;
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
  /** The proxy that the connection ends at, which gets whole addresses. */
  readonly isToProxy?: ForwardProxy;
  /** True for connections that stand idle for nobody: each serves one request. */
  readonly isFresh?: boolean;
  /** How long connecting may take, TLS included, in ms. */
  readonly connectMs?: number | undefined;
}

export interface Agents {
  of(way: ConnectionProfile): Agent;
  /** Why a host that is an address itself may not be connected to, directly or by a proxy. */
  refusal(url: URL): string | undefined;
  close(): Promise<void>;
}

/** A name that is requested through the proxy of a profile is looked up there, and judged there if anywhere. */
export function createAgents(options: AgentOptions): Agents {
  const { resolve, egress, onCertificate, clock } = options;
  const guard = createAddressGuard(options);
  const roundRobinResolve = roundRobin(resolve);
  const agents = new Map<string, Agent>();

  const agentWith = (connect: buildConnector.connector): Agent =>
    new Agent({
      connections: options.connections,
      pipelining: 1,
      connect,
      factory: (origin, given) =>
        new Pool(origin, { ...given, factory: (to, own) => new ProgressClient(to, { ...own, connect }) }),
      // The deadline of the whole exchange covers both.
      headersTimeout: 0,
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
  const observing = (connect: buildConnector.connector): buildConnector.connector =>
    onCertificate === undefined ? connect : observeCertificates(connect, onCertificate);
  function connectorOf(profile: ConnectionProfile): buildConnector.connector {
    const { skipsVerification, isRoundRobin, tls: shown, tunnel, isToProxy, connectMs } = profile;
    const tls = { ...shown, rejectUnauthorized: !skipsVerification };
    const resolveReceiver = isRoundRobin ? roundRobinResolve : resolve;
    const proxy = tunnel ?? isToProxy;
    if (proxy === undefined) return observing(judged({ resolve: resolveReceiver, tls, connectMs }));
    const toProxy = proxy.isOfTarget
      ? judged({ resolve, tls: { rejectUnauthorized: true }, connectMs })
      : operatorsProxyConnector({ resolve, clock });
    if (tunnel === undefined) return toProxy;
    const agent = cachedAgent(`entrance ${tunnel.isOfTarget}`, () => createProxyAgent(toProxy));
    const open = (to: TunnelRequest) => {
      const refused = (status: number) => proxyRefusal(tunnel, status, `https://${bracketed(to.host)}`);
      return openTunnel(agent, tunnel, { ...to, refused });
    };
    return observing(connectorOver({ open, tls, clock, connectMs }));
  }
  /** To addresses that the guard lets through, by the proxy of the service where there is one. */
  function judged(options: Omit<ConnectorOptions, 'open' | 'clock'> & { readonly resolve: Resolve }) {
    if (egress === undefined) return guardedConnector({ ...options, guard, clock });
    const open = (to: TunnelRequest) => egress.connect({ ...to, guard, resolve: options.resolve, clock });
    return connectorOver({ ...options, open, clock });
  }

  return {
    of(profile) {
      const { skipsVerification, isRoundRobin, tls, tunnel, isToProxy, isFresh, connectMs } = profile;
      const proxy = `${tunnel?.origin} ${tunnel?.authorization} ${(tunnel ?? isToProxy)?.isOfTarget}`;
      const way = `${skipsVerification} ${isRoundRobin} ${proxy} ${isToProxy?.origin} ${tls?.fingerprint}`;
      const key = `${way} ${isFresh} ${connectMs}`;
      if (tls !== undefined) evictOldestIdentity(key);
      return cachedAgent(key, () => agentWith(connectorOf(profile)));
    },
    refusal: url => literalRefusal(guard, bareHost(url), portOf(url)),
    async close() {
      await Promise.all([...agents.values()].map(agent => agent.destroy()));
    },
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
  new URL(`${protocol}//${bracketed(hostname)}${port === '' ? '' : `:${port}`}`).origin;

const bracketed = (host: string): string => (host.includes(':') ? `[${host}]` : host);
