import { isIP } from 'node:net';

/** Whether an address is of this machine alone. */
export function isLoopback(address: string): boolean {
  const plain = address.replace(/^::ffff:/, '');
  return plain === '::1' || (isIP(plain) === 4 && plain.startsWith('127.'));
}
