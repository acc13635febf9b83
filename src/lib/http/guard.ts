import { type LookupAddress, lookup } from 'node:dns';
import { isIP } from 'node:net';
import { networkInterfaces } from 'node:os';
import ipaddr from 'ipaddr.js';
import { type Address, type AddressRange, isWithin, parseRange } from '../addresses.ts';
import { AppError, type Problem } from '../errors.ts';
import { createLru } from '../lru.ts';
import { ForbiddenAddress, UnreachableName } from './failure.ts';

export interface AddressPolicy {
  /** Allows or refuses loopback, private and other addresses that are not public. */
  readonly privateAddresses: 'allow' | 'refuse';
  /** Addresses or ranges in CIDR notation that are open although `privateAddresses` refuses them. */
  readonly allowedAddresses: readonly string[];
  /** How the one who reads a refusal has the address opened; by the setting itself when left out. */
  readonly remedy?: string;
  /** Answers a name that leads to a forbidden address as one that leads nowhere: it may exist for this machine alone. */
  readonly hidesNames?: boolean;
  /** True for a port that this process listens on: nothing is sent to it at an address of this machine, whatever is allowed. */
  readonly isOwnPort?: (port: number) => boolean;
}

/** Judges the address a connection is about to be made to, never a name. */
export interface AddressGuard {
  /** The kind of forbidden address, as a phrase; undefined when it may be connected to. */
  refusal(address: string, port?: number): string | undefined;
  /** True when addresses are judged otherwise at this port. */
  isOwnPort(port: number): boolean;
  /** Said of a name that cannot be resolved and of one that leads to a forbidden address; undefined where they may differ. */
  readonly unreachableName?: string | undefined;
}

/**
 * Clouds answer credentials to any request from inside there: never a receiver, whatever is allowed.
 * Link-local (RFC 3927, RFC 4291); AWS IPv6, Google IPv6, Alibaba, Oracle and Azure as their pages give them.
 */
const METADATA: readonly AddressRange[] = [
  '169.254.0.0/16',
  'fe80::/10',
  'fd00:ec2::/32',
  'fd20:ce::254/128',
  '100.100.100.200/32',
  '192.0.0.192/32',
  '168.63.129.16/32',
].map(text => ipaddr.parseCIDR(text));

/** Throws `invalid-request` naming each item of `allowedAddresses` that is neither an address nor a range. */
export function createAddressGuard(policy: AddressPolicy): AddressGuard {
  const allowed = parseRanges(policy.allowedAddresses);
  const isOpen = (address: Address): boolean => address.range() === 'unicast' || isWithin(address, allowed);
  const { remedy = 'add it to delivery.allowedAddresses if it is meant' } = policy;
  const isOwnPort = (port: number): boolean => policy.isOwnPort?.(port) === true;
  return {
    isOwnPort,
    unreachableName: policy.hidesNames
      ? `the name cannot be resolved, or leads to an address that is not public; ${remedy}`
      : undefined,
    refusal(text, port) {
      if (!ipaddr.isValid(text)) return 'something that is no address';
      const address = ipaddr.parse(text);
      const inner = embedded(address);
      if (port !== undefined && isOwnPort(port) && [address, ...inner].some(isOwnAddress))
        return 'this service itself, which is never allowed';
      if ([address, ...inner].some(one => isWithin(one, METADATA)))
        return 'a link-local or cloud metadata address, which is never allowed';
      if (policy.privateAddresses === 'allow' || isWithin(address, allowed)) return undefined;
      const judged = inner.length > 0 ? inner : [address];
      return judged.every(isOpen) ? undefined : `an address that is not public; ${remedy}`;
    },
  };
}

/** An address of this machine, as its interfaces are now. */
function isOwnAddress(address: Address): boolean {
  if (['loopback', 'unspecified'].includes(address.range())) return true;
  const text = address.toNormalizedString();
  return Object.values(networkInterfaces()).some(own =>
    own?.some(one => ipaddr.parse(one.address.replace(/%.*$/, '')).toNormalizedString() === text),
  );
}

function parseRanges(texts: readonly string[]): AddressRange[] {
  const problems: Problem[] = [];
  const ranges: AddressRange[] = [];
  for (const [index, text] of texts.entries()) {
    const range = parseRange(text);
    if (range !== undefined) ranges.push(range);
    else
      problems.push({
        path: `allowedAddresses[${index}]`,
        message: `'${text}' is neither an address nor a range such as 10.0.0.0/8`,
      });
  }
  if (problems.length > 0)
    throw new AppError('invalid-request', problems.map(one => `${one.path}: ${one.message}`).join('; '), {
      problems,
    });
  return ranges;
}

/** The IPv4 addresses a translator or tunnel would read out of an IPv6 address: the packet ends at one of them. */
function embedded(address: Address): ipaddr.IPv4[] {
  if (address instanceof ipaddr.IPv4) return [];
  const bytes = address.toByteArray();
  const at = (...places: number[]): ipaddr.IPv4 => new ipaddr.IPv4(places.map(place => bytes[place] ?? 0));
  const last = at(12, 13, 14, 15);
  switch (address.range()) {
    case 'ipv4Mapped':
    case 'rfc6145':
      return [last];
    case '6to4':
      return [at(2, 3, 4, 5)];
    case 'teredo':
      return [new ipaddr.IPv4(last.toByteArray().map(byte => byte ^ 0xff))];
    case 'rfc6052':
      return nat64(last, at(6, 7, 9, 10));
    case 'unicast':
      return bytes.slice(0, 12).every(byte => byte === 0) ? [last] : [];
    default:
      return [];
  }
}

/**
 * 64:ff9b::/96 ends in the IPv4 address. Below 64:ff9b:1::/48 the translator may read the last 32 bits or those behind the
 * prefix (RFC 6052 section 2.2), and which one only its operator knows: both count, but a place that holds nothing.
 */
function nat64(last: ipaddr.IPv4, behindPrefix: ipaddr.IPv4): ipaddr.IPv4[] {
  const filled = [last, behindPrefix].filter(address => address.range() !== 'unspecified');
  return filled.length > 0 ? filled : [last];
}

/** All addresses of a name. */
export type Resolve = (
  hostname: string,
  done: (error: NodeJS.ErrnoException | null, addresses: readonly LookupAddress[]) => void,
) => void;

export const resolveBySystem: Resolve = (hostname, done) =>
  lookup(hostname, { all: true }, (error, addresses) => done(error, addresses));

/** Names whose position is remembered; one that is forgotten begins again. */
const MAX_NAMES = 1000;

/** The same addresses, each time another one first; the others follow for when it does not answer. */
export function roundRobin(resolve: Resolve): Resolve {
  const nextIndex = createLru<string, number>(MAX_NAMES);
  return (hostname, done) =>
    resolve(hostname, (error, addresses) => {
      if (error || addresses.length === 0) return done(error, addresses);
      const index = nextIndex.get(hostname) ?? 0;
      nextIndex.set(hostname, index + 1);
      // Name servers and the system shuffle: round robin needs an order that stays.
      const ordered = addresses.toSorted((a, b) => (a.address < b.address ? -1 : 1));
      const first = index % ordered.length;
      done(null, [...ordered.slice(first), ...ordered.slice(0, first)]);
    });
}

/**
 * Judges addresses where the socket is made, after the only look-up there is: what was judged is what is connected to, and
 * a name whose answer changes has no gap. One forbidden address among several refuses the name. Rejects with
 * `ForbiddenAddress` or the error of the look-up; with `UnreachableName` for both where the guard hides names.
 */
export function guardedAddresses({
  guard,
  resolve,
  host,
  port,
}: {
  readonly guard: AddressGuard;
  readonly resolve: Resolve;
  readonly host: string;
  readonly port: number;
}): Promise<readonly LookupAddress[]> {
  const literal = literalRefusal(guard, host, port);
  if (literal !== undefined) return Promise.reject(new ForbiddenAddress(literal));
  const family = isIP(host);
  if (family !== 0) return Promise.resolve([{ address: host, family }]);
  const { unreachableName } = guard;
  return new Promise((done, reject) =>
    resolve(host, (error, addresses) => {
      const refusal = addresses
        ?.map(one => guard.refusal(one.address, port))
        .find(text => text !== undefined);
      const isReached = !error && addresses.length > 0 && refusal === undefined;
      if (!isReached && unreachableName !== undefined) return reject(new UnreachableName(unreachableName));
      if (error) return reject(error);
      if (refusal !== undefined) return reject(new ForbiddenAddress(refusal));
      if (addresses.length === 0) return reject(Object.assign(new Error('no address'), { code: 'ENODATA' }));
      done(addresses);
    }),
  );
}

/** Why a host that is an address itself, and so is never looked up, may not be connected to. */
export const literalRefusal = (guard: AddressGuard, host: string, port: number): string | undefined =>
  isIP(host) === 0 ? undefined : guard.refusal(host, port);
