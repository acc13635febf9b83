import ipaddr from 'ipaddr.js';
import { type AddressRange, isWithin, parseRange } from './addresses.ts';

/** The proxies in front whose word about their callers counts. */
export interface TrustedProxies {
  readonly has: (address: string | undefined) => boolean;
  /**
   * The address a request is from: the connected one, unless that is such a proxy. Then `X-Forwarded-For` is read from its end,
   * where the nearest proxy has written, to the first address that is none of them. What stands before that could be
   * anybody's invention, and what is no address ends the reading where it stands.
   */
  callerOf(connected: string, forwardedFor: string): string;
}

/** `ranges` is called for each request, as settings change. */
export function createTrustedProxies(ranges: () => readonly string[]): TrustedProxies {
  let texts: readonly string[] = [];
  let known: readonly AddressRange[] = [];

  function current(): readonly AddressRange[] {
    const now = ranges();
    if (now !== texts) known = now.flatMap(text => [parseRange(text)].filter(range => range !== undefined));
    texts = now;
    return known;
  }

  function has(text = ''): boolean {
    const trusted = current();
    if (trusted.length === 0 || !ipaddr.isValid(text)) return false;
    const address = ipaddr.parse(text);
    return isWithin(address, trusted) || isWithin(ipaddr.process(text), trusted);
  }

  return {
    has,
    callerOf(connected, forwardedFor) {
      let caller = connected;
      for (const entry of forwardedFor.split(',').reverse()) {
        const address = addressIn(entry.trim());
        if (!has(caller) || address === undefined) break;
        caller = address;
      }
      return caller;
    },
  };
}

/** Some proxies write the port as well: `192.0.2.1:4711`, `[2001:db8::1]:4711`. */
const WITH_PORT = /^(?:\[([\da-f:.]+)\](?::\d{1,5})?|([\d.]+):\d{1,5})$/i;

function addressIn(entry: string): string | undefined {
  const [, ipv6, ipv4] = WITH_PORT.exec(entry) ?? [];
  const text = ipv6 ?? ipv4 ?? entry;
  const isAddress = ipaddr.IPv4.isValidFourPartDecimal(text) || ipaddr.IPv6.isValid(text);
  return isAddress ? ipaddr.process(text).toString() : undefined;
}
