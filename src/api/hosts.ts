import type { IncomingMessage } from 'node:http';
import { isIPv4, isIPv6 } from 'node:net';
import type { HostedSettings, Settings } from '../config/settings.ts';
import type { Clock } from '../lib/clock.ts';
import { AppError } from '../lib/errors.ts';
import type { Logger } from '../lib/logger.ts';

/** The settings that name hosts of this server. */
export interface HostSettings {
  readonly api: Pick<Settings['api'], 'host' | 'allowedHosts'>;
  readonly instance: Partial<Pick<Settings['instance'], 'externalUrl' | 'nodeUrl'>>;
  readonly hosted?: Pick<HostedSettings, 'cloudDomain' | 'authUrl'> | undefined;
}

/**
 * Which names requests may come under. A page of a foreign name whose address is changed to that of this server (DNS
 * rebinding) is same-origin with it in the browser, and could read whatever is open to this machine or network.
 */
export interface HostRule {
  /**
   * `host` is the one that counts, which a trusted proxy may give in X-Forwarded-Host. Throws `invalid-request` unless
   * the request names one host, and `misdirected` for a name that is none of this server's.
   */
  assertKnown(request: { readonly raw: IncomingMessage; readonly host: string; readonly ip: string }): void;
  /** True for a name of this machine, which means nothing to other processes. */
  isOwn(host: string): boolean;
}

interface HostRuleOptions {
  /** Read at each request. */
  readonly settings: () => HostSettings;
  /** As the operating system has it. */
  readonly hostname: string;
  readonly clock: Pick<Clock, 'monotonic'>;
  readonly logger: Logger;
}

/** Each request of a foreign page is refused alike, so only one line is logged in this time. */
const LOG_INTERVAL_MS = 10_000;

export function createHostRule({ settings, hostname, clock, logger }: HostRuleOptions): HostRule {
  const own = new Set(namesOfMachine(hostname));
  let loggedAt = Number.NEGATIVE_INFINITY;
  let unlogged = 0;

  function refuse(host: string, address: string): never {
    unlogged += 1;
    if (clock.monotonic() - loggedAt >= LOG_INTERVAL_MS) {
      logger.warn(
        { host, address, count: unlogged, setting: 'api.allowedHosts' },
        'a request for a host that is not of this server was refused',
      );
      [loggedAt, unlogged] = [clock.monotonic(), 0];
    }
    throw new AppError(
      'misdirected',
      `'${host}' is not a host of this server; if it is reached by that name, add it to api.allowedHosts`,
    );
  }

  return {
    assertKnown({ raw, host, ip }) {
      assertOneHost(raw);
      for (const text of new Set([raw.headers.host ?? '', host])) {
        const name = hostName(text);
        if (name === undefined)
          throw new AppError('invalid-request', 'The Host header of the request is not a host name');
        if (!isKnown(name, own, settings())) refuse(name, ip);
      }
    },
    isOwn: host => own.has(hostName(host) ?? ''),
  };
}

/** RFC 9110 section 7.2: a name or an address, and a port. */
const HOST = /^(?:\[([\da-f:.]{2,45})\]|([a-z\d._-]{1,254}))(?::\d{0,5})?$/i;

/** In small letters, without port, brackets and a dot at the end; undefined for what is no host. */
function hostName(text: string): string | undefined {
  const [, address, name] = HOST.exec(text) ?? [];
  if (address !== undefined) return isIPv6(address) ? address.toLowerCase() : undefined;
  const bare = name?.toLowerCase().replace(/\.$/, '');
  return bare === '' ? undefined : bare;
}

/** No page is at an address or a loopback name but by this machine's will: browsers ask no name server for them. */
const isAddressOrLoopback = (name: string): boolean =>
  isIPv4(name) || isIPv6(name) || isBelow(name, 'localhost');

const isBelow = (name: string, domain: string): boolean => name === domain || name.endsWith(`.${domain}`);

function isKnown(name: string, own: ReadonlySet<string>, { api, instance, hosted }: HostSettings): boolean {
  if (isAddressOrLoopback(name) || own.has(name)) return true;
  if (name === hostName(api.host)) return true;
  if ([instance.externalUrl, instance.nodeUrl, hosted?.authUrl].some(url => nameIn(url) === name))
    return true;
  // Which of these is a workspace is decided where workspaces are found.
  if (hosted !== undefined && isBelow(name, hosted.cloudDomain.toLowerCase())) return true;
  return api.allowedHosts.some(allowed => fits(name, allowed.toLowerCase()));
}

const nameIn = (url: string | undefined): string | undefined =>
  url === undefined ? undefined : hostName(new URL(url).host);

/** `*.example.com` fits every name below example.com, at any depth, and not example.com itself. */
const fits = (name: string, allowed: string): boolean =>
  allowed.startsWith('*.') ? name.endsWith(allowed.slice(1)) : name === allowed;

/** With and without its domain. */
function namesOfMachine(hostname: string): string[] {
  const name = hostName(hostname);
  if (name === undefined) return [];
  return [name, name.split('.', 1)[0] ?? name];
}

const ABSOLUTE = /^https?:\/\/([^/?#]*)/i;

/**
 * Throws `invalid-request` for a request without a host, or that names two, as two readers could see different
 * workspaces: with two Host headers (RFC 9112 section 3.2), or with another host in its target than in Host.
 */
function assertOneHost({ rawHeaders, headers, url }: IncomingMessage): void {
  const hosts = rawHeaders.filter((text, index) => index % 2 === 0 && text.toLowerCase() === 'host');
  if (hosts.length > 1) throw new AppError('invalid-request', 'The request has more than one Host header');
  if ((headers.host ?? '') === '') throw new AppError('invalid-request', 'The request has no Host header');
  const target = ABSOLUTE.exec(url ?? '')?.[1];
  if (target !== undefined && target.toLowerCase() !== headers.host?.toLowerCase())
    throw new AppError(
      'invalid-request',
      'The target of the request names another host than its Host header',
    );
}
