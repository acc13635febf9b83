import { Socket } from 'node:net';
import { TLSSocket } from 'node:tls';
import { Agent, buildConnector } from 'undici';
import { type AddressGuard, type AddressPolicy, createAddressGuard } from './address-guard.ts';
import { guardedLookup, inTurn, literalRefusal, type Resolve } from './guarded-lookup.ts';
import { HttpFailure } from './http.ts';
import { ForbiddenAddress } from './http-failure.ts';
import type { ForwardProxy } from './proxies.ts';

const CONNECT_TIMEOUT_MS = 10_000;
const ignore = (): void => {};

export interface AgentOptions extends AddressPolicy {
  /** Connections to one origin; null for as many as there are requests. */
  readonly connections: number | null;
  readonly resolve: Resolve;
  /** Told until when the certificate of a receiver holds, in epoch ms; a proxy's is none. */
  readonly certified?: (origin: string, notAfter: number) => void;
}

/** How a connection is made. Those made differently are kept apart, so that none is used by who asks for more. */
interface Way {
  /** Whether a certificate is taken that nobody vouches for. */
  readonly trustsAnyone: boolean;
  /** Whether connections take turns among the addresses of the host. */
  readonly takesTurns?: boolean;
  /** The proxy that opens a tunnel to the receiver. */
  readonly tunnel?: ForwardProxy;
  /** Whether the connection ends at a proxy, which is asked for whole addresses. */
  readonly endsAtProxy?: true;
}

export interface Agents {
  of(way: Way): Agent;
  /** Why a host that is an address itself may not be connected to, by whoever it is. */
  refusal(host: string): string | undefined;
  close(): Promise<void>;
}

/**
 * Who names a proxy may have it at any address but those of metadata, whatever receivers may have. A name that is asked
 * for through it is looked up there, and judged there if anywhere.
 */
export function createAgents(options: AgentOptions): Agents {
  const guard = createAddressGuard(options);
  const proxyGuard = createAddressGuard({ privateAddresses: 'allow', allowedAddresses: [] });
  const turning = inTurn(options.resolve);
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
  const made = (key: string, make: () => Agent): Agent => {
    const agent = agents.get(key) ?? make();
    agents.set(key, agent);
    return agent;
  };
  const toProxy = (): buildConnector.connector => guardedConnector(proxyGuard, options.resolve, true);
  const noting = (connect: buildConnector.connector): buildConnector.connector =>
    options.certified === undefined ? connect : notingCertificates(connect, options.certified);
  /** A tunnel outlives the exchange it was opened for, so that opening it has a time limit of its own. */
  const entrance = (): Agent => made('entrance', () => agentWith(toProxy(), CONNECT_TIMEOUT_MS));

  return {
    of: ({ trustsAnyone, takesTurns, tunnel, endsAtProxy }) =>
      made(`${trustsAnyone} ${takesTurns} ${tunnel?.origin} ${endsAtProxy}`, () => {
        if (endsAtProxy) return agentWith(toProxy());
        if (tunnel) return agentWith(noting(tunnelConnector(entrance(), tunnel, !trustsAnyone)));
        const resolve = takesTurns ? turning : options.resolve;
        return agentWith(noting(guardedConnector(guard, resolve, !trustsAnyone)));
      }),
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
): buildConnector.connector {
  const connect = buildConnector({
    timeout: CONNECT_TIMEOUT_MS,
    lookup: guardedLookup(guard, resolve),
    rejectUnauthorized,
  });
  return (target, done) => {
    const refusal = literalRefusal(guard, target.hostname);
    if (refusal === undefined) connect(target, done);
    else done(new ForbiddenAddress(refusal), null);
  };
}

function notingCertificates(
  connect: buildConnector.connector,
  certified: (origin: string, notAfter: number) => void,
): buildConnector.connector {
  return (target, done) =>
    connect(target, (...opened) => {
      const [, socket] = opened;
      const notAfter =
        socket instanceof TLSSocket ? Date.parse(socket.getPeerX509Certificate()?.validTo ?? '') : Number.NaN;
      if (!Number.isNaN(notAfter)) certified(originOf(target), notAfter);
      done(...opened);
    });
}

const originOf = ({ protocol, hostname, port }: buildConnector.Options): string =>
  new URL(
    `${protocol}//${hostname.includes(':') ? `[${hostname}]` : hostname}${port === '' ? '' : `:${port}`}`,
  ).origin;

/** RFC 9110 section 9.3.6. The certificate is that of the receiver, inside the tunnel. */
function tunnelConnector(
  entrance: Agent,
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
    entrance.connect({ origin, path, headers }).then(
      ({ statusCode, socket }) => {
        if (statusCode >= 200 && statusCode <= 299 && socket instanceof Socket)
          return encrypt({ ...target, httpSocket: socket }, done);
        socket.on('error', ignore).destroy();
        done(refusedBy(origin, statusCode, `https://${host}`), null);
      },
      error => done(error, null),
    );
  };
}

/** That a proxy does not hand on what it is asked for. `proxy` is its origin: a name and a password are secret. */
export function refusedBy(proxy: string, status: number, origin: string): HttpFailure {
  const remedy = status === 407 ? '; give its name and password in HTTP_PROXY or HTTPS_PROXY' : '';
  return new HttpFailure('other', `${origin}: the proxy ${proxy} answered ${status}${remedy}`);
}
