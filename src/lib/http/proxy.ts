import ipaddr from 'ipaddr.js';
import { type AddressRange, isLoopback, isWithin, parseRange } from '../addresses.ts';
import { AppError } from '../errors.ts';

/** A forward proxy: who connects on our behalf. */
export interface ForwardProxy {
  /** Scheme, host and port, without name and password. */
  readonly origin: string;
  /** Value of `Proxy-Authorization`; undefined for a proxy that needs none. */
  readonly authorization: string | undefined;
  /** True where a target names it, so that it is judged as a receiver is; else it is the operator's. */
  readonly isOfTarget?: true;
}

export interface Proxies {
  /** The proxy for an address; undefined when it is connected to directly. */
  proxyFor(url: URL): ForwardProxy | undefined;
  /** For the log: by variable the proxy's scheme, host and port, and never a name or password. */
  readonly configured: Readonly<Record<string, string>>;
}

export type ProxyEnvironment = Readonly<Record<string, string | undefined>>;

interface ProxyExemption {
  readonly port: string | undefined;
  readonly range: AddressRange | undefined;
  /** Without a leading `*.` or `.`; what ends in it behind a dot is meant as well. */
  readonly host: string;
}

const NAMES = { 'http:': 'HTTP_PROXY', 'https:': 'HTTPS_PROXY' } as const;
const DEFAULT_PORTS: Readonly<Record<string, string>> = { 'http:': '80', 'https:': '443' };

/**
 * The proxies of HTTP_PROXY, HTTPS_PROXY and NO_PROXY, of which the lower-case names win, as with curl. This machine
 * itself is never requested through a proxy. Throws `invalid-request` that names the variable, never its value.
 */
export function proxiesFrom(environment: ProxyEnvironment): Proxies {
  const variable = (name: string): string =>
    (environment[name.toLowerCase()] ?? environment[name] ?? '').trim();
  const byProtocol = new Map(
    Object.entries(NAMES).map(([protocol, name]) => {
      const text = variable(name);
      return [protocol, text === '' ? undefined : parseProxy(name, text)];
    }),
  );
  const exemptions = variable('NO_PROXY')
    .split(/[,\s]+/)
    .filter(item => item !== '')
    .map(parseExemption);
  return {
    configured: Object.fromEntries(
      Object.entries(NAMES).flatMap(([protocol, name]) => {
        const proxy = byProtocol.get(protocol);
        return proxy === undefined ? [] : [[name, proxy.origin]];
      }),
    ),
    proxyFor(url) {
      const host = bareHost(url);
      if (isThisMachine(host)) return undefined;
      const port = String(portOf(url));
      if (exemptions.some(one => (one.port ?? port) === port && matches(one, host))) return undefined;
      return byProtocol.get(url.protocol);
    },
  };
}

/** The host as it is connected to: IPv6 without brackets. */
export const bareHost = (url: URL): string => url.hostname.replace(/^\[|\]$/g, '').replace(/\.$/, '');

/** The port that is connected to; NaN for an address that is neither http nor https. */
export const portOf = (url: URL): number => Number(url.port || DEFAULT_PORTS[url.protocol]);

const isThisMachine = (host: string): boolean =>
  host === 'localhost' || host.endsWith('.localhost') || isLoopback(host);

/** Throws `invalid-request` that names the setting or variable, never its value. */
export function parseProxy(name: string, text: string): ForwardProxy {
  try {
    const url = new URL(/^[a-z][\w+.-]*:\/\//i.test(text) ? text : `http://${text}`);
    if (Object.hasOwn(NAMES, url.protocol))
      return { origin: url.origin, authorization: authorizationOf(url) };
  } catch {
    // The same complaint: an error of the parser would show the password.
  }
  throw new AppError(
    'invalid-request',
    `${name} must be the address of a proxy such as http://proxy.example:3128, with http or https`,
  );
}

function authorizationOf({ username, password }: URL): string | undefined {
  if (username === '' && password === '') return undefined;
  const pair = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
  return `Basic ${Buffer.from(pair).toString('base64')}`;
}

function parseExemption(item: string): ProxyExemption {
  const whole = parseRange(item);
  const [, bracketed, named, port] = /^(?:\[([^\]]+)\]|([^:]+))(?::(\d{1,5}))?$/.exec(item) ?? [];
  const host = bracketed ?? named ?? item;
  return {
    port: whole === undefined ? port : undefined,
    range: whole ?? parseRange(host),
    host: host.toLowerCase().replace(/^\*?\./, ''),
  };
}

function matches({ host: exempted, range }: ProxyExemption, host: string): boolean {
  if (range !== undefined) return ipaddr.isValid(host) && isWithin(ipaddr.process(host), [range]);
  return exempted === '*' || host === exempted || host.endsWith(`.${exempted}`);
}
