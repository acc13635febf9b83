import { expect, test } from 'vitest';
import { createAddressGuard } from './guard.ts';

const refusing = createAddressGuard({ privateAddresses: 'refuse', allowedAddresses: [] });
const allowing = createAddressGuard({ privateAddresses: 'allow', allowedAddresses: [] });

/** As the connector sees the host of an address people wrote. */
const hostOf = (written: string): string => new URL(`http://${written}/`).hostname.replace(/^\[|\]$/g, '');

test.each([
  '127.0.0.1',
  '127.255.255.254',
  '0x7f.1',
  '2130706433',
  '0177.0.0.1',
  '0.0.0.0',
  '10.1.2.3',
  '172.16.0.1',
  '192.168.1.1',
  '100.64.0.1',
  '192.0.2.1',
  '198.18.0.1',
  '198.51.100.7',
  '203.0.113.9',
  '224.0.0.1',
  '240.0.0.1',
  '255.255.255.255',
  '[::]',
  '[::1]',
  '[fd00::1]',
  '[fc00::1]',
  '[fec0::1]',
  '[ff02::1]',
  '[2001:db8::1]',
  '[::ffff:127.0.0.1]',
  '[::ffff:10.0.0.1]',
  '[::ffff:0:10.0.0.1]',
  '[::127.0.0.1]',
  '[::10.0.0.1]',
  '[2002:7f00:1::]',
  '[2002:a00:1::1]',
  '[64:ff9b::7f00:1]',
  '[64:ff9b::a00:1]',
  '[64:ff9b:1::a00:1]',
  '[64:ff9b:1:a00:0:100::]',
  '[64:ff9b:1::]',
  '[2001:0:4136:e378:8000:63bf:80ff:fffe]',
])('%s is refused where private addresses are, and allowed where they are not', written => {
  expect(refusing.refusal(hostOf(written))).toMatch(/not public.*delivery\.allowedAddresses/);
  expect(allowing.refusal(hostOf(written))).toBeUndefined();
});

test.each([
  '169.254.169.254',
  '0xa9fea9fe',
  '169.254.0.1',
  '[fe80::1]',
  '[fd00:ec2::254]',
  '[fd20:ce::254]',
  '100.100.100.200',
  '192.0.0.192',
  '168.63.129.16',
  '[::ffff:169.254.169.254]',
  '[::169.254.169.254]',
  '[64:ff9b::a9fe:a9fe]',
  '[64:ff9b:1::a9fe:a9fe]',
  '[64:ff9b:1:a9fe:a9:fe00::]',
  '[64:ff9b:1:a9fe:a9:fe08:808:808]',
  '[2002:a9fe:a9fe::]',
  '[2001:0:4136:e378:8000:63bf:5601:5601]',
])('%s leads to metadata and is refused whatever is allowed', written => {
  const open = createAddressGuard({
    privateAddresses: 'allow',
    allowedAddresses: ['0.0.0.0/0', '::/0', '169.254.169.254'],
  });
  for (const guard of [refusing, allowing, open])
    expect(guard.refusal(hostOf(written))).toContain('never allowed');
});

test.each([
  '1.1.1.1',
  '8.8.8.8',
  '172.15.0.1',
  '172.32.0.1',
  '[2606:4700::1111]',
  '[::ffff:8.8.8.8]',
  '[64:ff9b::808:808]',
  '[64:ff9b:1::808:808]',
  '[64:ff9b:1:808:8:800::]',
  '[2002:808:808::1]',
  '[2001:0:4136:e378:8000:63bf:f7f7:f7f7]',
])('%s is public and allowed', written => {
  expect(refusing.refusal(hostOf(written))).toBeUndefined();
});

test('a range of the allow-list opens private addresses, also through a translator', () => {
  const guard = createAddressGuard({
    privateAddresses: 'refuse',
    allowedAddresses: ['10.0.0.0/8', '192.168.7.7', 'fd12::/16', '::1'],
  });
  for (const address of ['10.9.9.9', '192.168.7.7', 'fd12::5', '::1', '64:ff9b::a09:909', '::ffff:10.0.0.1'])
    expect(guard.refusal(address), address).toBeUndefined();
  for (const address of [
    '11.0.0.1',
    '172.16.0.1',
    '192.168.7.8',
    'fd13::5',
    '64:ff9b::c0a8:101',
    '127.0.0.1',
  ])
    expect(guard.refusal(address) === undefined, address).toBe(address === '11.0.0.1');
});

test('a link-local address with a zone is refused', () => {
  expect(allowing.refusal('fe80::1%eth0')).toContain('never allowed');
});

test('what is no address is refused', () => {
  expect(allowing.refusal('receiver.example')).toBeDefined();
});

test('every bad item of the allow-list is named with its place', () => {
  expect(() =>
    createAddressGuard({
      privateAddresses: 'refuse',
      allowedAddresses: ['10.0.0.0/8', 'ten', '10.0.0.0/33', '10.1', '10.1/8', ''],
    }),
  ).toThrow(
    expect.objectContaining({
      code: 'invalid-request',
      problems: [
        expect.objectContaining({ path: 'allowedAddresses[1]', message: expect.stringContaining("'ten'") }),
        expect.objectContaining({ path: 'allowedAddresses[2]' }),
        expect.objectContaining({ path: 'allowedAddresses[3]' }),
        expect.objectContaining({ path: 'allowedAddresses[4]' }),
        expect.objectContaining({ path: 'allowedAddresses[5]' }),
      ],
    }),
  );
});
