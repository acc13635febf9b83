import { CompactSign, generateKeyPair } from 'jose';
import type { Algorithm } from './login-service.ts';

const SIGNED = 1000;

/** Microseconds of processor time, of all threads of this process, that jose needs to sign as many bytes and no more. */
export async function bareSignUs(algorithm: Algorithm, bytes: number): Promise<number> {
  const { privateKey } = await generateKeyPair(algorithm);
  const payload = Buffer.alloc(bytes, 'x');
  const sign = () => new CompactSign(payload).setProtectedHeader({ alg: algorithm }).sign(privateKey);
  for (let warm = 0; warm < SIGNED / 10; warm++) await sign();
  const before = process.cpuUsage();
  for (let signed = 0; signed < SIGNED; signed++) await sign();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / SIGNED;
}
