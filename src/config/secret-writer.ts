import type { Clock } from '../lib/clock.ts';
import { AppError } from '../lib/errors.ts';
import type { KeyRing } from '../lib/keyring.ts';
import { isMask } from '../lib/secret.ts';
import type { SecretRow, Storage } from '../storage/storage.ts';

/** What may stand in `${secret:NAME}`. */
export const SECRET_NAME = /^[a-zA-Z0-9_-]{1,128}$/;
const MOST_BYTES = 64 * 1024;
const MOST_SECRETS = 10_000;

/** What may be told of a secret. Times are epoch ms. */
export interface SecretFacts {
  readonly name: string;
  readonly createdAt: number;
  readonly updatedAt: number;
  readonly updatedBy: string;
}

export interface SecretWriterOptions {
  readonly storage: Pick<Storage, 'in' | 'transaction'>;
  readonly workspace: string;
  readonly keyRing: KeyRing;
  readonly clock: Pick<Clock, 'now'>;
}

/** Changes what is stored without reading any value, so it works although some values cannot be decrypted. */
export interface SecretWriter {
  /**
   * Encrypts a text of 1 byte to 64 KB and writes it; on disk when it resolves. Rejects with `invalid-request` for a
   * name or value that is not allowed, `conflict` when there are 10,000 others.
   */
  put(name: string, value: string, author: string): Promise<SecretFacts>;
  /** Whether it was there. */
  remove(name: string): Promise<boolean>;
}

/** Where a value lies, for the key ring: moved to another row it does not decrypt. */
export const placeOf = (workspace: string, name: string): string => `secrets|value|${workspace}/${name}`;

export const factsOf = (row: SecretRow): SecretFacts => ({
  name: row.name,
  createdAt: row.created_at,
  updatedAt: row.updated_at,
  updatedBy: row.updated_by,
});

export function secretWriter({ storage, workspace, keyRing, clock }: SecretWriterOptions): SecretWriter {
  return {
    async put(name, value, author) {
      assertName(name);
      assertValue(value);
      const now = clock.now();
      const row: SecretRow = {
        name,
        sealed: keyRing.encrypt(value, placeOf(workspace, name)),
        created_at: now,
        updated_at: now,
        updated_by: author,
      };
      return storage.transaction(async tx => {
        const stored = await tx.in(workspace).putSecret(row);
        if ((await tx.in(workspace).countSecrets()) > MOST_SECRETS)
          throw new AppError('conflict', `there are ${MOST_SECRETS} secrets already; remove one first`);
        return factsOf(stored);
      });
    },
    remove: name => storage.transaction(tx => tx.in(workspace).removeSecret(name)),
  };
}

function assertName(name: string): void {
  if (SECRET_NAME.test(name)) return;
  throw invalid('name', 'must be 1 to 128 letters, digits, "_" or "-"');
}

/** No message may say anything of the value but its size. */
function assertValue(value: string): void {
  if (value === '') throw invalid('value', 'must not be empty');
  if (isMask(value))
    throw invalid('value', 'is what reads show in place of a secret; send the secret itself');
  // A lone surrogate has no UTF-8 form and would come back as another character.
  if (/\p{Surrogate}/u.test(value)) throw invalid('value', 'is not well-formed Unicode text');
  if (Buffer.byteLength(value) > MOST_BYTES)
    throw invalid('value', `must be at most ${MOST_BYTES / 1024} KB of UTF-8`);
}

const invalid = (path: string, message: string): AppError =>
  new AppError('invalid-request', `the secret's ${path} ${message}`, { problems: [{ path, message }] });
