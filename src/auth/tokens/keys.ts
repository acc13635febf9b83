import { createPrivateKey, type KeyObject } from 'node:crypto';
import {
  type CryptoKey,
  calculateJwkThumbprint,
  exportJWK,
  exportPKCS8,
  generateKeyPair,
  importJWK,
  type JWK,
} from 'jose';
import { AppError } from '../../lib/errors.ts';
import type { KeyRing } from '../../lib/keyring.ts';
import type { KeyRow } from '../../storage/stores/instance.ts';
import { ALGORITHMS, type Algorithm } from './algorithms.ts';

const MODULUS_BITS = 2048;

export interface VerifyingKey {
  readonly kid: string;
  readonly algorithm: Algorithm;
  readonly publicKey: CryptoKey;
}

interface SigningKey {
  readonly kid: string;
  readonly algorithm: Algorithm;
  readonly privateKey: KeyObject;
}

/** The keys to sign and verify tokens with now, read at each use. */
export interface TokenKeys {
  /** Random, kept in the store: tokens of another installation are refused even with equal names. */
  readonly instanceId: string;
  readonly signing: SigningKey;
  /** By kid, in every state. */
  readonly verifying: ReadonlyMap<string, VerifyingKey>;
  /** Reads the keys again, once a second at most: another process may have generated the one that a token names. */
  refresh(): Promise<void>;
}

/** The keys of the store, ready for use. */
export interface KeySet {
  readonly signing: SigningKey;
  readonly verifying: ReadonlyMap<string, VerifyingKey>;
  /** The public keys, for other verifiers (RFC 7517). */
  readonly published: readonly JWK[];
}

const placeOf = (kid: string): string => `keys|private_key|${kid}`;

/** Generates a key; the private part leaves memory encrypted only. Its kid is its thumbprint (RFC 7638). */
export async function generateKey(
  keyRing: Pick<KeyRing, 'encrypt'>,
  {
    algorithm,
    state,
    now,
  }: { readonly algorithm: Algorithm; readonly state: KeyRow['state']; readonly now: number },
): Promise<KeyRow> {
  const pair = await generateKeyPair(algorithm, {
    extractable: true,
    ...(algorithm === 'RS256' && { modulusLength: MODULUS_BITS }),
  });
  const publicKey = await exportJWK(pair.publicKey);
  const kid = await calculateJwkThumbprint(publicKey);
  return {
    kid,
    algorithm,
    private_key: keyRing.encrypt(await exportPKCS8(pair.privateKey), placeOf(kid)),
    public_key: JSON.stringify(publicKey),
    created_at: now,
    state,
    since: now,
    ends_at: null,
  };
}

/** Decrypts every private key, so that a key missing in the key ring is found here. Throws `internal` naming its id. */
export async function readKeySet(
  rows: readonly KeyRow[],
  keyRing: Pick<KeyRing, 'decrypt'>,
): Promise<KeySet> {
  const verifying = new Map<string, VerifyingKey>();
  const published: JWK[] = [];
  let signing: SigningKey | undefined;
  for (const { kid, algorithm: name, private_key, public_key, state } of rows) {
    const algorithm = algorithmOf(kid, name);
    const privateKey = createPrivateKey(keyRing.decrypt(private_key, placeOf(kid)));
    const jwk: JWK = JSON.parse(public_key);
    verifying.set(kid, { kid, algorithm, publicKey: await importPublicKey(kid, jwk, algorithm) });
    published.push({ ...jwk, kid, alg: algorithm, use: 'sig' });
    if (state === 'active') signing = { kid, algorithm, privateKey };
  }
  if (signing === undefined) throw new AppError('internal', 'The store holds no key to sign with');
  return { signing, verifying, published };
}

function algorithmOf(kid: string, name: string): Algorithm {
  const found = ALGORITHMS.find(algorithm => algorithm === name);
  if (found === undefined)
    throw new AppError(
      'internal',
      `The signing key '${kid}' in the store has the unknown algorithm '${name}'`,
    );
  return found;
}

async function importPublicKey(kid: string, jwk: JWK, algorithm: Algorithm): Promise<CryptoKey> {
  const key = await importJWK(jwk, algorithm);
  if (key instanceof Uint8Array)
    throw new AppError(
      'internal',
      `The public part of the signing key '${kid}' in the store is no public key`,
    );
  return key;
}

/** The longest lifetime a token may have, in seconds: 31 days. */
export const MAX_TOKEN_TTL_SECONDS = 2_678_400;
