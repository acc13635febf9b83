import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createTrustedProxies } from './trusted-proxies.ts';

const proxies = createTrustedProxies(() => RANGES);
const RANGES = ['10.0.0.0/8', '2001:db8:1::/48', '127.0.0.1'];

describe('the address a request is from', () => {
  it.each([
    ['nobody is in front', '192.0.2.1', '', '192.0.2.1'],
    ['a stranger says he is somebody else', '192.0.2.1', '198.51.100.1', '192.0.2.1'],
    ['a stranger says he is a proxy', '192.0.2.1', '10.0.0.1', '192.0.2.1'],
    ['one proxy is in front', '10.0.0.1', '192.0.2.1', '192.0.2.1'],
    ['two proxies are in front', '10.0.0.1', '192.0.2.1, 10.0.0.2', '192.0.2.1'],
    ['the caller has invented what stands before', '10.0.0.1', '198.51.100.1, 192.0.2.1', '192.0.2.1'],
    ['the caller names a proxy before itself', '10.0.0.1', '10.9.9.9, 192.0.2.1, 10.0.0.2', '192.0.2.1'],
    ['the caller claims to be this machine', '10.0.0.1', '127.0.0.1, 192.0.2.1', '192.0.2.1'],
    ['the proxy says nothing', '10.0.0.1', '', '10.0.0.1'],
    ['the proxy says what is no address', '10.0.0.1', 'unknown', '10.0.0.1'],
    ['what is no address stands between', '10.0.0.1', '192.0.2.1, x, 10.0.0.2', '10.0.0.2'],
    ['an entry is empty', '10.0.0.1', '192.0.2.1,,10.0.0.2', '10.0.0.2'],
    ['an address is written short', '10.0.0.1', '192.513', '10.0.0.1'],
    ['a proxy calls from itself', '10.0.0.1', '10.0.0.3, 10.0.0.2', '10.0.0.3'],
    ['proxies write ports', '10.0.0.1', '192.0.2.1:4711, 10.0.0.2:80', '192.0.2.1'],
    ['IPv6 stands in brackets', '10.0.0.1', '[2001:db8:2::1]:4711, [2001:db8:1::1]', '2001:db8:2::1'],
    ['the connection maps IPv4', '::ffff:10.0.0.1', '192.0.2.1', '192.0.2.1'],
    ['an entry maps IPv4', '127.0.0.1', '192.0.2.1, ::ffff:10.0.0.1', '192.0.2.1'],
  ])('is told where %s', (_, connected, forwardedFor, caller) => {
    expect(proxies.callerOf(connected, forwardedFor)).toBe(caller);
  });

  it('is who is connected, whatever the header says, where nobody is trusted', () => {
    const none = createTrustedProxies(() => []);
    fc.assert(
      fc.property(
        fc.ipV4(),
        fc.string(),
        (connected, header) => none.callerOf(connected, header) === connected,
      ),
    );
  });

  it('does not change with what is written before the entry of the proxy', () => {
    const stranger = fc.ipV4().filter(address => !proxies.has(address));
    fc.assert(
      fc.property(fc.string(), stranger, (invented, caller) => {
        expect(proxies.callerOf('10.0.0.1', `${invented}, ${caller}`)).toBe(caller);
      }),
    );
  });
});
