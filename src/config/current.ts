import type { Cancel, Clock } from '../lib/clock.ts';
import { AppError } from '../lib/errors.ts';
import type { Logger } from '../lib/logger.ts';
import { createTurns } from '../storage/turns.ts';
import type { Change, Door } from './change.ts';
import { assertSound, createInForce } from './in-force.ts';
import {
  type Configuration,
  configurationFiles,
  type LoadResult,
  loadConfiguration,
  type Sources,
} from './load.ts';
import { type Loaded, type Prepared, prepare } from './prepare.ts';
import { removeStaged } from './stage.ts';
import type { ConfigurationStatus } from './status.ts';
import type { Versions } from './versions.ts';
import { signaturesOf, watchFiles } from './watch.ts';
import { type SecretKeeper, writeTexts } from './write-texts.ts';

export interface ConfigurationOptions extends Sources {
  readonly clock: Clock;
  readonly logger: Logger;
  /** Where secrets go that come with a change; without it such a change is refused. */
  readonly secrets?: SecretKeeper;
  /** Told of every configuration that takes effect. */
  readonly versions?: Versions;
}

/** Owns the configuration in force and is the one door through which it changes. */
export interface ConfigurationHolder {
  /** The first load. */
  load(): LoadResult;
  /** The configuration in force. Throws before a load went well. */
  get(): Configuration;
  /** Loads again; a configuration with errors changes nothing. */
  reload(): Promise<LoadResult>;
  /**
   * Makes a change, in the files and in force, and answers the configuration with it. One change is made after the
   * other, each upon what the one before left and whatever stands on disk by then.
   * Rejects with what the change's own conditions throw, `configuration-broken` with the problems when the files have
   * errors, `invalid-request` when they would have, `conflict` where a person must edit, `configuration-read-only`,
   * and `unavailable` when the disk is full; then nothing has changed.
   */
  save(change: Change): Promise<Configuration>;
  /** Loads again when a stored secret is no longer the one that was loaded with. */
  secretsChanged(name: string): Promise<void>;
  /** Calls back after each change of configuration. Returns the call that ends it. */
  subscribe(listener: (configuration: Configuration) => void): Cancel;
  status(): ConfigurationStatus;
  /** Reloads whenever a file changes, until `stop`. */
  watch(): void;
  /** Resolves when what is under way has ended. */
  stop(): Promise<void>;
}

export function createConfiguration(options: ConfigurationOptions): ConfigurationHolder {
  const { folder, clock, secrets } = options;
  const inForce = createInForce(options);
  const turns = createTurns();
  /** Secrets that are no longer those that were loaded with. */
  const oldSecrets = new Set<string>();
  let unwatch: Cancel | undefined;

  async function record(result: LoadResult, by: By): Promise<void> {
    if (result.ok) await options.versions?.record({ ...by, ...result, raw: result.configuration.raw });
  }

  async function load(): Promise<LoadResult> {
    oldSecrets.clear();
    const result = inForce.load();
    await record(result, A_PERSON);
    return result;
  }

  async function save(change: Change): Promise<Configuration> {
    const now = assertSound(inForce.ifCurrent() ?? (await load()));
    const prepared = await prepareOn(now, change);
    if (Object.keys(prepared.texts).length + prepared.secrets.length === 0) return inForce.get();
    const written = await writeTexts({
      ...prepared,
      folder,
      before: now.texts,
      author: change.author,
      keeper: secrets,
    });
    for (const { name, value } of prepared.secrets) if (secrets?.get(name) === value) oldSecrets.delete(name);
    const after = [...signaturesOf(prepared.loaded.files)];
    const seen = inForce.seen();
    const signatures = after.map(
      ([file, now]) => [file, written.get(file) ?? seen.get(file) ?? now] as const,
    );
    await record(inForce.takeOver(prepared.loaded, new Map(signatures)), change);
    return inForce.get();
  }

  /** Errors may be those of the files as they are: a secret's file they refer to may have gone since. */
  async function prepareOn(now: Loaded, change: Change): Promise<Prepared> {
    try {
      return prepare(change, now, options, clock);
    } catch (error) {
      const isInvalid = error instanceof AppError && error.code === 'invalid-request';
      if (isInvalid && !loadConfiguration(options, clock).ok) assertSound(await load());
      throw error;
    }
  }

  return {
    load() {
      const result = inForce.load();
      void turns.take(async () => {
        await removeStaged(configurationFiles(folder));
        await record(result, A_PERSON);
      });
      return result;
    },
    get: inForce.get,
    reload: () => turns.take(load),
    save: change => turns.take(() => save(change)),
    secretsChanged(name) {
      oldSecrets.add(name);
      return turns.take(async () => {
        if (oldSecrets.size > 0) await load();
      });
    },
    subscribe: inForce.subscribe,
    status: inForce.status,
    watch() {
      unwatch ??= watchFiles({
        folder,
        seen: inForce.seen,
        clock,
        changed: () => void turns.take(load),
      });
    },
    stop() {
      unwatch?.();
      unwatch = undefined;
      return turns.take(async () => {});
    },
  };
}

interface By {
  readonly author: string;
  readonly door: Door;
  readonly message?: string;
}

/** Nobody can tell who wrote a file. */
const A_PERSON: By = { author: 'file', door: 'file' };
