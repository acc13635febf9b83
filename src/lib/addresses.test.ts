import { expect, test } from 'vitest';
import { addressPrefix } from './addresses.ts';

test.each([
  ['192.0.2.7', '192.0.2.7'],
  ['::ffff:192.0.2.7', '192.0.2.7'],
  ['2001:db8:1:2ff:aaaa::1', '2001:db8:1:200::/56'],
  ['2001:DB8:1:200::1', '2001:db8:1:200::/56'],
  ['fe80::1%eth0', 'fe80::/56'],
  ['::1', '::/56'],
  ['not an address', 'not an address'],
])('%s is counted as %s', (address, prefix) => {
  expect(addressPrefix(address)).toBe(prefix);
});

test('the neighbour of a /56 is counted separately', () => {
  expect(addressPrefix('2001:db8:1:300::1')).not.toBe(addressPrefix('2001:db8:1:200::1'));
});
