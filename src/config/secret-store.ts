import type { Cancel } from '../lib/clock.ts';
import { AppError, reasonOf } from '../lib/errors.ts';
import type { Logger } from '../lib/logger.ts';
import { Secret } from '../lib/secret.ts';
import type { SecretRow } from '../storage/storage.ts';
import {
  factsOf,
  placeOf,
  type SecretFacts,
  type SecretWriter,
  type SecretWriterOptions,
  secretWriter,
} from './secret-writer.ts';

interface SecretStoreOptions extends SecretWriterOptions {
  readonly logger: Logger;
}

/** The stored secrets of a workspace, held in memory: what `${secret:NAME}` stands for. */
export interface SecretStore {
  /** The value, for use at the place that needs it and nowhere else. */
  get(name: string): string | undefined;
  /** By name; those whose value cannot be decrypted too. */
  list(): readonly SecretFacts[];
  /** As `SecretWriter.put`; once it is on disk, listeners are told. */
  put: SecretWriter['put'];
  /** Answers what it removed; once it is off the disk, listeners are told. */
  remove(name: string): Promise<SecretFacts | undefined>;
  /** Takes over what other processes have stored or removed; listeners are told of each change. */
  reread(): Promise<void>;
  /** Calls back with the name after each change. Returns the call that ends it. */
  subscribe(listener: (name: string) => void): Cancel;
}

interface Entry {
  readonly facts: SecretFacts;
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

  function tell(name: string): void {
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
      [...entries.values()].map(({ facts }) => facts).sort((one, other) => (one.name < other.name ? -1 : 1)),
    async put(name, value, author) {
      const facts = await writer.put(name, value, author);
      entries.set(name, { facts, value: new Secret(value) });
      logger.info({ secret: name, author }, 'secret stored');
      tell(name);
      return facts;
    },
    async remove(name) {
      if (!(await writer.remove(name))) return undefined;
      const removed = entries.get(name)?.facts;
      entries.delete(name);
      logger.info({ secret: name }, 'secret removed');
      tell(name);
      return removed;
    },
    async reread() {
      const present = await storage.in(workspace).secrets.list();
      const names = new Set(present.map(({ name }) => name));
      const gone = [...entries.keys()].filter(name => !names.has(name));
      const changed = present.filter(row => entries.get(row.name)?.facts.updatedAt !== row.updated_at);
      for (const name of gone) entries.delete(name);
      for (const row of changed) entries.set(row.name, read(row, { ...options, logger }));
      for (const name of [...gone, ...changed.map(row => row.name)]) tell(name);
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
    return { facts: factsOf(row), value: new Secret(value) };
  } catch (error) {
    if (keyRing.lacksKeyOf(row.sealed)) throw withRemedy(error, row.name);
    logger.error(
      { secret: row.name, remedy: `headgate secrets set ${row.name}` },
      'secret cannot be decrypted and counts as missing; set it anew',
    );
    return { facts: factsOf(row), value: undefined };
  }
}

/** A key that is lost for good must not keep the server from ever starting again. */
const withRemedy = (error: unknown, name: string): AppError =>
  new AppError('internal', `${reasonOf(error)}, or set the secret anew with: headgate secrets set ${name}`, {
    cause: error,
  });
