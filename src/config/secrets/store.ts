import type { Cancel, Clock } from '../../lib/clock.ts';
import { AppError, reasonOf } from '../../lib/errors.ts';
import type { KeyRing } from '../../lib/keyring.ts';
import type { Logger } from '../../lib/logger.ts';
import { isMask, Secret } from '../../lib/secret.ts';
import type { Storage } from '../../storage/storage.ts';
import type { SecretRow } from '../../storage/stores/secrets.ts';
import type { NewSecret } from '../change.ts';

interface SecretStoreOptions extends SecretWriterOptions {
  readonly logger: Logger;
}

/** The stored secrets of a workspace, held in memory: what `${secret:NAME}` stands for. */
export interface SecretStore {
  /** The value, for use at the place that needs it and nowhere else. */
  readonly get: (name: string) => string | undefined;
  /** By name; those whose value cannot be decrypted too. */
  list(): readonly SecretMetadata[];
  /** As `SecretWriter.put`; once it is on disk, listeners are notified. */
  put: SecretWriter['put'];
  /** Answers what it removed; once it is off the disk, listeners are notified. */
  remove(name: string): Promise<SecretMetadata | undefined>;
  /** Takes over what other processes have stored or removed; listeners are notified of each change. */
  refresh(): Promise<void>;
  /** Calls back with the name after each change. Returns the call that ends it. */
  subscribe(listener: (name: string) => void): Cancel;
}

interface Entry {
  readonly metadata: SecretMetadata;
  /** Undefined when it cannot be decrypted. */
  readonly value: Secret | undefined;
}

/**
 * Reads and decrypts all secrets. One that was changed or moved to another row counts as missing, which the log says
 * once. Throws `internal` when the key ring lacks a key, naming its id: then nothing is lost, and it can be added again.
 */
export async function openSecretStore(options: SecretStoreOptions): Promise<SecretStore> {
  const { storage, workspace } = options;
  const logger = options.logger.child({ component: 'secrets' });
  const writer = secretWriter(options);
  const listeners = new Set<(name: string) => void>();
  const rows = await storage.in(workspace).secrets.list();
  const entries = new Map<string, Entry>(rows.map(row => [row.name, read(row, { ...options, logger })]));

  function notify(name: string): void {
    for (const listener of listeners) {
      try {
        listener(name);
      } catch (error) {
        logger.error(
          { reason: reasonOf(error) },
          'a part of the server could not take over a changed secret',
        );
      }
    }
  }

  return {
    get: name => entries.get(name)?.value?.reveal(),
    list: () =>
      [...entries.values()]
        .map(({ metadata }) => metadata)
        .sort((one, other) => (one.name < other.name ? -1 : 1)),
    async put(name, value, author) {
      const metadata = await writer.put(name, value, author);
      entries.set(name, { metadata, value: new Secret(value) });
      logger.info({ secret: name, author }, 'secret stored');
      notify(name);
      return metadata;
    },
    async remove(name) {
      if (!(await writer.remove(name))) return undefined;
      const removed = entries.get(name)?.metadata;
      entries.delete(name);
      logger.info({ secret: name }, 'secret removed');
      notify(name);
      return removed;
    },
    async refresh() {
      const present = await storage.in(workspace).secrets.list();
      const names = new Set(present.map(({ name }) => name));
      const gone = [...entries.keys()].filter(name => !names.has(name));
      const changed = present.filter(row => entries.get(row.name)?.metadata.updatedAt !== row.updated_at);
      for (const name of gone) entries.delete(name);
      for (const row of changed) entries.set(row.name, read(row, { ...options, logger }));
      for (const name of [...gone, ...changed.map(row => row.name)]) notify(name);
    },
    subscribe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}

function read(row: SecretRow, { workspace, keyRing, logger }: SecretStoreOptions): Entry {
  try {
    const value = keyRing.decrypt(row.sealed, placeOf(workspace, row.name));
    return { metadata: metadataOf(row), value: new Secret(value) };
  } catch (error) {
    if (keyRing.lacksKeyOf(row.sealed)) throw withRemedy(error, row.name);
    logger.error(
      { secret: row.name, remedy: `headgate secrets set ${row.name}` },
      'secret cannot be decrypted and counts as missing; set it anew',
    );
    return { metadata: metadataOf(row), value: undefined };
  }
}

/** A key that is lost for good must not keep the server from ever starting again. */
const withRemedy = (error: unknown, name: string): AppError =>
  new AppError('internal', `${reasonOf(error)}, or set the secret anew with: headgate secrets set ${name}`, {
    cause: error,
  });

/** A name in `${secret:NAME}`. */
export const SECRET_NAME = /^[a-zA-Z0-9_-]{1,128}$/;
const MOST_BYTES = 64 * 1024;
const MOST_SECRETS = 10_000;

/** A secret without its value. Times are epoch ms. */
export interface SecretMetadata {
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
  put(name: string, value: string, author: string): Promise<SecretMetadata>;
  /** Resolves to false when there was none. */
  remove(name: string): Promise<boolean>;
}

/** Where a value lies, for the key ring: moved to another row it does not decrypt. */
const placeOf = (workspace: string, name: string): string => `secrets|value|${workspace}/${name}`;

export const metadataOf = (row: SecretRow): SecretMetadata => ({
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
        return metadataOf(stored);
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

export type WritableSecrets = Pick<SecretStore, 'get' | 'put' | 'remove'>;

export interface SecretWrites {
  readonly secrets: readonly NewSecret[];
  readonly author: string;
  readonly store: WritableSecrets | undefined;
}

/**
 * Stores the secrets of a change, one after the other. Answers what takes them back; when one cannot be stored, those
 * before it are taken back.
 */
export async function storeSecrets({ secrets, author, store }: SecretWrites): Promise<() => Promise<void>> {
  if (secrets.length > 0 && store === undefined)
    throw new AppError('unavailable', 'Secrets cannot be stored here; run the server');
  const undo: (() => Promise<unknown>)[] = [];
  async function rollBack(): Promise<void> {
    for (const step of undo) await step().catch(() => {});
  }
  try {
    for (const { name, value } of secrets) {
      const present = store?.get(name);
      await store?.put(name, value, author);
      undo.push(async () =>
        present === undefined ? store?.remove(name) : store?.put(name, present, author),
      );
    }
  } catch (error) {
    await rollBack();
    throw error;
  }
  return rollBack;
}
