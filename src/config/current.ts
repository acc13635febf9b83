import type { Cancel, Clock } from '../lib/clock.ts';
import { AppError } from '../lib/errors.ts';
import type { Logger } from '../lib/logger.ts';
import { createMutex } from '../lib/mutex.ts';
import { checkTexts, loadApart, type Prepared, prepareApart } from './apart.ts';
import type { Change, Door, Edit } from './change.ts';
import type { CheckFindings } from './check.ts';
import { assertSound, createInForce } from './in-force.ts';
import type { SecretKeeper } from './keep-secrets.ts';
import {
  type Configuration,
  configurationFiles,
  FILES,
  type FileName,
  type Loaded,
  type LoadResult,
  type Sources,
  type Texts,
} from './load.ts';
import { maskedTexts } from './mask-texts.ts';
import type { Settings } from './settings.ts';
import { removeStaged } from './stage.ts';
import type { ConfigurationStatus } from './status.ts';
import type { Versions } from './versions.ts';
import { signaturesOf, watchFiles } from './watch.ts';
import { writeTexts } from './write-texts.ts';

export interface ConfigurationOptions extends Sources {
  readonly clock: Clock;
  readonly logger: Logger;
  /** Where secrets go that come with a change; without it such a change is refused. */
  readonly secrets?: SecretKeeper;
  /** Throws when a change may not put these settings in the place of those in force. */
  readonly assertMayBecome?: (next: Settings, now: Settings) => Promise<void>;
  /** Told of each change that somebody has made to the files themselves. */
  readonly edited?: (edit: FileEdit) => void;
  /** Told of every configuration that takes effect. */
  readonly versions?: Versions;
}

/** What an editor, or whatever else writes files, has done. */
export interface FileEdit {
  /** Names of the files that read otherwise than before. */
  readonly files: readonly FileName[];
  /** How many errors the configuration has with it; 0 when it is in force. */
  readonly problems: number;
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
   * Rejects with what the change's own conditions and `assertMayBecome` throw, `configuration-broken` with the problems when the files have
   * errors, `invalid-request` when they would have, `conflict` where a person must edit, `configuration-read-only`,
   * and `unavailable` when the disk is full; then nothing has changed.
   */
  save(change: Change): Promise<Configuration>;
  /**
   * The configuration that a change of items would come to, which nothing keeps. Rejects as `save` does, but for what
   * only writing can meet.
   */
  trial(edits: (now: Configuration) => readonly Edit[]): Promise<Configuration>;
  /** What the configuration would be if these texts stood in the place of those of their names. */
  check(texts: Texts): Promise<CheckFindings>;
  /** Loads again when a stored secret is no longer the one that was loaded with. */
  secretsChanged(name: string): Promise<void>;
  /** Calls back after each change of configuration. Returns the call that ends it. */
  subscribe(listener: (configuration: Configuration) => void): Cancel;
  status(): ConfigurationStatus;
  /** The texts in force, secrets masked. */
  texts(): Texts;
  /** Reloads whenever a file changes, until `stop`. */
  watch(): void;
  /** Resolves when what is under way has ended. */
  stop(): Promise<void>;
}

export function createConfiguration(options: ConfigurationOptions): ConfigurationHolder {
  const { folder, clock, secrets } = options;
  const inForce = createInForce(options);
  const mutex = createMutex();
  /** Secrets that are no longer those that were loaded with. */
  const oldSecrets = new Set<string>();
  let unwatch: Cancel | undefined;

  async function record(result: LoadResult, by: By): Promise<void> {
    if (!result.ok || options.versions === undefined) return;
    const masked = result.masked ?? maskedTexts(result.texts, result.configuration.raw);
    await options.versions.record({ ...by, masked });
  }

  async function load(): Promise<LoadResult> {
    oldSecrets.clear();
    const before = inForce.texts();
    const result = await inForce.load();
    const files = FILES.filter(name => result.texts[name] !== before[name]);
    if (files.length > 0) options.edited?.({ files, problems: result.ok ? 0 : result.problems.length });
    await record(result, A_PERSON);
    return result;
  }

  async function save(change: Change): Promise<Configuration> {
    const now = assertSound(inForce.ifCurrent() ?? (await load()));
    const edits = 'edits' in change ? editsOf(change.edits, now.configuration) : [];
    const texts = 'texts' in change ? change.texts(now.configuration) : {};
    const { changed, loaded } = await prepareOn(now, { edits, texts });
    await options.assertMayBecome?.(loaded.configuration.settings, now.configuration.settings);
    const added = edits.flatMap(edit => edit.secrets ?? []);
    if (Object.keys(changed).length + added.length === 0) return inForce.get();
    const { author } = change;
    const written = await writeTexts({
      folder,
      texts: changed,
      before: now.texts,
      secrets: added,
      author,
      keeper: secrets,
    });
    for (const { name, value } of added) if (secrets?.get(name) === value) oldSecrets.delete(name);
    const seen = inForce.seen();
    const signatures = [...signaturesOf(loaded.files)].map(
      ([file, found]) => [file, written.get(file) ?? seen.get(file) ?? found] as const,
    );
    await record(inForce.takeOver(loaded, new Map(signatures)), change);
    return inForce.get();
  }

  async function trial(edits: (now: Configuration) => readonly Edit[]): Promise<Configuration> {
    const now = assertSound(inForce.ifCurrent() ?? (await load()));
    const { loaded } = await prepareOn(now, { edits: edits(now.configuration), texts: {} });
    return loaded.configuration;
  }

  /** Errors may be those of the files as they are: a secret's file they refer to may have gone since. */
  async function prepareOn(now: Loaded, change: Parameters<typeof prepareApart>[0]): Promise<Prepared> {
    try {
      return await prepareApart(change, now, options, clock);
    } catch (error) {
      const isInvalid = error instanceof AppError && error.code === 'invalid-request';
      if (isInvalid && !(await loadApart(options, clock)).ok) assertSound(await load());
      throw error;
    }
  }

  return {
    load() {
      const result = inForce.loadFirst();
      void mutex.run(async () => {
        await removeStaged(configurationFiles(folder));
        await record(result, A_PERSON);
      });
      return result;
    },
    get: inForce.get,
    reload: () => mutex.run(load),
    save: change => mutex.run(() => save(change)),
    trial: edits => mutex.run(() => trial(edits)),
    check: texts => checkTexts(options, texts, clock),
    secretsChanged(name) {
      oldSecrets.add(name);
      return mutex.run(async () => {
        if (oldSecrets.size > 0) await load();
      });
    },
    subscribe: inForce.subscribe,
    status: inForce.status,
    texts: inForce.masked,
    watch() {
      unwatch ??= watchFiles({
        folder,
        seen: inForce.seen,
        clock,
        changed: () => void mutex.run(load),
      });
    },
    stop() {
      unwatch?.();
      unwatch = undefined;
      return mutex.idle();
    },
  };
}

export const editsOf = (
  edits: readonly Edit[] | ((now: Configuration) => readonly Edit[]),
  now: Configuration,
): readonly Edit[] => (typeof edits === 'function' ? edits(now) : edits);

export interface By {
  readonly author: string;
  readonly door: Door;
  readonly message?: string;
}

/** Nobody can tell who wrote a file. */
export const A_PERSON: By = { author: 'file', door: 'file' };
