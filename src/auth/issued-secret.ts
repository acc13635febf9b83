import { createHmac, createSecretKey, randomBytes } from 'node:crypto';
import { crc32 } from 'node:zlib';
import { Secret } from '../lib/secret.ts';

const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const BASE = ALPHABET.length;
/** 62^43 is just over 2^256. */
const RANDOM_LENGTH = 43;
/** 62^6 is over 2^32. */
const CHECKSUM_LENGTH = 6;
/** The largest multiple of 62 in a byte: what lies above would make some characters likelier. */
const FAIR = 256 - (256 % BASE);

/**
 * Secrets that the server makes and shows once, written `<prefix>_<43 base62>_<6 base62>`: 256 random bits, and the CRC-32
 * of all before it. The prefix lets people and scanners of repositories tell what they have found, the checksum lets a
 * mistyped one be refused without asking the store.
 */
export interface IssuedSecrets {
  make(): Secret;
  /** Whether it was meant to be such a secret and cannot be one. */
  isMistyped(text: string): boolean;
  /**
   * What the store keeps of one, in base64url: HMAC-SHA-256 with the pepper. Nothing slower is needed at 256 bits (OWASP
   * ASVS 5.0, 6.5.2), and whoever reads the store without the key ring cannot even check a guess.
   */
  digestOf(text: string): string;
}

/** `prefix` is letters and digits, as `hgi`. */
export function issuedSecrets(prefix: string, pepper: Secret): IssuedSecrets {
  const pattern = new RegExp(`^${prefix}_[0-9A-Za-z]{${RANDOM_LENGTH}}_[0-9A-Za-z]{${CHECKSUM_LENGTH}}$`);
  const key = createSecretKey(Buffer.from(pepper.reveal()));
  const isWhole = (text: string): boolean =>
    pattern.test(text) && text.endsWith(checksumOf(text.slice(0, -CHECKSUM_LENGTH - 1)));
  return {
    make() {
      const body = `${prefix}_${randomText()}`;
      return new Secret(`${body}_${checksumOf(body)}`);
    },
    isMistyped: text => text.startsWith(`${prefix}_`) && !isWhole(text),
    digestOf: text => createHmac('sha256', key).update(text).digest('base64url'),
  };
}

function randomText(): string {
  let text = '';
  while (text.length < RANDOM_LENGTH)
    for (const byte of randomBytes(RANDOM_LENGTH - text.length))
      if (byte < FAIR) text += ALPHABET[byte % BASE];
  return text;
}

function checksumOf(text: string): string {
  let rest = crc32(text);
  let digits = '';
  while (digits.length < CHECKSUM_LENGTH) {
    digits = `${ALPHABET[rest % BASE]}${digits}`;
    rest = Math.floor(rest / BASE);
  }
  return digits;
}
