import { isIP, isIPv4 } from 'node:net';
import ipaddr from 'ipaddr.js';

export type Address = ipaddr.IPv4 | ipaddr.IPv6;
/** The first address of a range, and how many of its bits count. */
export type AddressRange = [Address, number];

/** The short forms of IPv4 that `ipaddr.js` also reads, such as 10.1, are more often slips than meant. */
export function parseRange(text: string): AddressRange | undefined {
  const { IPv4, IPv6 } = ipaddr;
  if (IPv4.isValidCIDRFourPartDecimal(text) || IPv6.isValidCIDR(text)) return ipaddr.parseCIDR(text);
  if (IPv4.isValidFourPartDecimal(text)) return [IPv4.parse(text), 32];
  return IPv6.isValid(text) ? [IPv6.parse(text), 128] : undefined;
}

export const isWithin = (address: Address, ranges: readonly AddressRange[]): boolean =>
  ranges.some(([base, bits]) =>
    address instanceof ipaddr.IPv4
      ? base instanceof ipaddr.IPv4 && address.match(base, bits)
      : base instanceof ipaddr.IPv6 && address.match(base, bits),
  );

export function isAddressWithin(text: string, ranges: readonly AddressRange[]): boolean {
  const bare = text.split('%', 1)[0] ?? '';
  return ipaddr.isValid(bare) && isWithin(ipaddr.process(bare), ranges);
}

const IPV6_BITS = 56;

/**
 * The unit in which callers are counted: an IPv4 address, or the /56 of an IPv6 address, because one customer line
 * commonly has a whole /56. Something that is no address is its own unit.
 */
export function addressPrefix(text: string): string {
  // Nearly all of them, and written in the one way already.
  if (isIPv4(text)) return text;
  const bare = text.split('%', 1)[0] ?? '';
  if (!ipaddr.isValid(bare)) return text;
  const address = ipaddr.process(bare);
  if (address.kind() === 'ipv4') return address.toString();
  return `${ipaddr.IPv6.networkAddressFromCIDR(`${address.toString()}/${IPV6_BITS}`).toString()}/${IPV6_BITS}`;
}

export function isLoopback(address: string): boolean {
  const plain = address.replace(/^::ffff:/, '');
  return plain === '::1' || (isIP(plain) === 4 && plain.startsWith('127.'));
}
