import { createHmac, createSecretKey, randomBytes } from 'node:crypto';
import { crc32 } from 'node:zlib';
import type { KeyRing } from '../../lib/keyring.ts';
import { Secret } from '../../lib/secret.ts';
import type { Storage } from '../../storage/storage.ts';
import { PEPPER } from '../../storage/stores/instance.ts';

const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const BASE = ALPHABET.length;
/** 62^43 is just over 2^256. */
const RANDOM_LENGTH = 43;
/** 62^6 is over 2^32. */
const CHECKSUM_LENGTH = 6;
/** The largest multiple of 62 in a byte: higher values would make some characters likelier. */
const UNBIASED_BELOW = 256 - (256 % BASE);

/**
 * Secrets that the server makes and shows once, written `<prefix>_<43 base62>_<6 base62>`: 256 random bits, and the CRC-32
 * of all before it. The prefix shows people and secret scanners what they have found, the checksum refuses a mistyped one
 * without reading the store.
 */
export interface IssuedSecrets {
  make(): Secret;
  /** True for a text with the prefix of such secrets that is none, such as a mistyped one. */
  isMalformed(text: string): boolean;
  /**
   * The digest that the store keeps, in base64url: HMAC-SHA-256 with the pepper. Nothing slower is needed at 256 bits
   * (OWASP ASVS 5.0, 6.5.2), and without the key ring nobody can check a guess against the store.
   */
  digestOf(text: string): string;
}

/** `prefix` is letters and digits, as `hgi`. */
export function createIssuedSecrets(prefix: string, pepper: Secret): IssuedSecrets {
  const pattern = new RegExp(`^${prefix}_[0-9A-Za-z]{${RANDOM_LENGTH}}_[0-9A-Za-z]{${CHECKSUM_LENGTH}}$`);
  const key = createSecretKey(Buffer.from(pepper.reveal()));
  const isWhole = (text: string): boolean =>
    pattern.test(text) && text.endsWith(checksumOf(text.slice(0, -CHECKSUM_LENGTH - 1)));
  return {
    make() {
      const body = `${prefix}_${randomText()}`;
      return new Secret(`${body}_${checksumOf(body)}`);
    },
    isMalformed: text => text.startsWith(`${prefix}_`) && !isWhole(text),
    digestOf: text => createHmac('sha256', key).update(text).digest('base64url'),
  };
}

function randomText(): string {
  let text = '';
  while (text.length < RANDOM_LENGTH)
    for (const byte of randomBytes(RANDOM_LENGTH - text.length))
      if (byte < UNBIASED_BELOW) text += ALPHABET[byte % BASE];
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

const PLACE = `instance|value|${PEPPER}`;
const BYTES = 32;

/**
 * Opens the key of the digests of all issued secrets, one for the installation and sealed by its key ring; generated
 * where the store has none yet. Throws `internal` when the key ring lacks its key, naming the id.
 */
export async function openPepper({
  storage,
  keyRing,
}: {
  readonly storage: Pick<Storage, 'instanceValue' | 'transaction'>;
  readonly keyRing: Pick<KeyRing, 'encrypt' | 'decrypt'>;
}): Promise<Secret> {
  const known = await storage.instanceValue(PEPPER);
  const sealed =
    known ??
    (await storage.transaction(async tx => {
      // Another process may have been faster.
      const present = await tx.instanceValue(PEPPER);
      if (present !== undefined) return present;
      const made = keyRing.encrypt(randomBytes(BYTES).toString('base64url'), PLACE);
      await tx.setInstanceValue(PEPPER, made);
      return made;
    }));
  return new Secret(keyRing.decrypt(sealed, PLACE));
}
