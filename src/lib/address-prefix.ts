import { isIPv4 } from 'node:net';
import ipaddr from 'ipaddr.js';

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
