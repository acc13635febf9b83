import { createHash, timingSafeEqual } from 'node:crypto';

/** SHA-256 of a secret: all of one length, so that comparing them takes one time whatever was presented. */
export const digestOf = (text: string): Buffer => createHash('sha256').update(text).digest();

export const isSameDigest = (one: Buffer, other: Buffer): boolean => timingSafeEqual(one, other);
