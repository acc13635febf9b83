import { randomBytes } from 'node:crypto';
import {
  type CryptoKey,
  calculateJwkThumbprint,
  exportJWK,
  exportPKCS8,
  generateKeyPair,
  importJWK,
  importPKCS8,
} from 'jose';
import type { Clock } from '../lib/clock.ts';
import { AppError } from '../lib/errors.ts';
import type { KeyRing } from '../lib/keyring.ts';
import type { KeyRow, Storage } from '../storage/storage.ts';

/** RS256 verifies several times cheaper than ES256 or EdDSA, and a token is verified far more often than signed. */
const ALGORITHM = 'RS256';
const MODULUS_BITS = 2048;
const INSTANCE_ID = 'instance_id';
const INSTANCE_ID_BYTES = 16;

export interface VerifyingKey {
  readonly kid: string;
  readonly algorithm: typeof ALGORITHM;
  readonly publicKey: CryptoKey;
}

export interface TokenKeys {
  /** Random, kept in the store: tokens of another installation are not ours even with equal names. */
  readonly instanceId: string;
  /** The newest key signs. */
  readonly signing: {
    readonly kid: string;
    readonly algorithm: typeof ALGORITHM;
    readonly privateKey: CryptoKey;
  };
  /** All keys verify, by kid. */
  readonly verifying: ReadonlyMap<string, VerifyingKey>;
}

interface Dependencies {
  readonly storage: Pick<Storage, 'keys' | 'instanceValue' | 'transaction'>;
  readonly keyRing: KeyRing;
  readonly clock: Clock;
}

/**
 * Reads the signing keys and the instance id, making what is missing. Every private key is decrypted here, so a
 * process whose key ring lacks a key does not start: throws `internal` naming that key's id.
 */
export async function openTokenKeys({ storage, keyRing, clock }: Dependencies): Promise<TokenKeys> {
  const known = await storage.keys();
  const instanceId = await storage.instanceValue(INSTANCE_ID);
  if (known.length > 0 && instanceId !== undefined) return importKeys(known, instanceId, keyRing);

  // Made before the transaction: a 2048-bit key takes long enough to hold up every other write.
  const spare = await makeKey(keyRing, clock.now());
  const made = await storage.transaction(async tx => {
    let rows = await tx.keys();
    if (rows.length === 0) {
      await tx.addKey(spare);
      rows = [spare];
    }
    let id = await tx.instanceValue(INSTANCE_ID);
    if (id === undefined) {
      id = randomBytes(INSTANCE_ID_BYTES).toString('hex');
      await tx.setInstanceValue(INSTANCE_ID, id);
    }
    return { rows, id };
  });
  return importKeys(made.rows, made.id, keyRing);
}

const placeOf = (kid: string): string => `keys|private_key|${kid}`;

async function makeKey(keyRing: KeyRing, createdAt: number): Promise<KeyRow> {
  const pair = await generateKeyPair(ALGORITHM, { modulusLength: MODULUS_BITS, extractable: true });
  const publicKey = await exportJWK(pair.publicKey);
  const kid = await calculateJwkThumbprint(publicKey);
  return {
    kid,
    algorithm: ALGORITHM,
    private_key: keyRing.encrypt(await exportPKCS8(pair.privateKey), placeOf(kid)),
    public_key: JSON.stringify(publicKey),
    created_at: createdAt,
  };
}

async function importKeys(rows: readonly KeyRow[], instanceId: string, keyRing: KeyRing): Promise<TokenKeys> {
  const verifying = new Map<string, VerifyingKey>();
  let signing: TokenKeys['signing'] | undefined;
  for (const { kid, algorithm, private_key, public_key } of rows) {
    if (algorithm !== ALGORITHM)
      throw new AppError(
        'internal',
        `The signing key '${kid}' in the store has the unknown algorithm '${algorithm}'`,
      );
    const privateKey = await importPKCS8(keyRing.decrypt(private_key, placeOf(kid)), ALGORITHM);
    verifying.set(kid, { kid, algorithm, publicKey: await importPublicKey(kid, public_key) });
    signing = { kid, algorithm, privateKey };
  }
  if (signing === undefined) throw new AppError('internal', 'The store holds no signing key');
  return { instanceId, signing, verifying };
}

async function importPublicKey(kid: string, text: string): Promise<CryptoKey> {
  const key = await importJWK(JSON.parse(text), ALGORITHM);
  if (key instanceof Uint8Array)
    throw new AppError(
      'internal',
      `The public part of the signing key '${kid}' in the store is not an RSA key`,
    );
  return key;
}
