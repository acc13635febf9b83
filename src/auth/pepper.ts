import { randomBytes } from 'node:crypto';
import type { KeyRing } from '../lib/keyring.ts';
import { Secret } from '../lib/secret.ts';
import { PEPPER } from '../storage/instance.ts';
import type { Storage } from '../storage/storage.ts';

const PLACE = `instance|value|${PEPPER}`;
const BYTES = 32;

/**
 * What goes into the digest of every issued secret, one for the installation and sealed by its key ring; made where the
 * store has none yet. Throws `internal` when the key ring lacks its key, naming the id.
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
