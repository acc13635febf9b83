import { basename, join } from 'node:path';
import type { Cancel, Clock } from '../lib/clock.ts';
import { AppError, reasonOf } from '../lib/errors.ts';
import type { Logger } from '../lib/logger.ts';
import { createMutex } from '../lib/mutex.ts';
import type { ChangeSource, ConfigChange, ConfigEdit } from './change.ts';
import type { CheckFindings } from './check-files.ts';
import type { ConfigurationStatus } from './configuration.ts';
import {
  type Configuration,
  configurationFiles,
  FILES,
  type FileName,
  type FileTexts,
  type Loaded,
  type LoadResult,
  loadConfiguration,
  type Sources,
} from './load.ts';
import { formatProblem } from './problems.ts';
import { maskedTexts } from './secrets/mask.ts';
import type { WritableSecrets } from './secrets/store.ts';
import { findRestarts, type Settings } from './settings.ts';
import type { VersionRecorder } from './versions.ts';
import { isSameFiles, type Signatures, signaturesOf, watchFiles } from './watch.ts';
import { checkTexts, loadWithWorker, type PreparedChange, prepareWithWorker } from './worker.ts';
import { removeStaged, writeTexts } from './write/files.ts';

export interface ConfigurationOptions extends Sources {
  readonly clock: Clock;
  readonly logger: Logger;
  /** Where secrets go that come with a change; without it such a change is refused. */
  readonly secrets?: WritableSecrets;
  /** Throws when a change may not put these settings in the place of those in force. */
  readonly assertMayBecome?: (next: Settings, now: Settings) => Promise<void>;
  /** Told of each change that somebody has made to the files themselves. */
  readonly onFileEdit?: (edit: FileEdit) => void;
  /** Told of every configuration that takes effect. */
  readonly versions?: VersionRecorder;
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
  save(change: ConfigChange): Promise<Configuration>;
  /**
   * The configuration that a change of items would come to, which nothing keeps. Rejects as `save` does, but for what
   * only writing can meet.
   */
  dryRun(edits: (now: Configuration) => readonly ConfigEdit[]): Promise<Configuration>;
  /** What the configuration would be if these texts stood in the place of those of their names. */
  check(texts: FileTexts): Promise<CheckFindings>;
  /** Loads again when a stored secret is no longer the one that was loaded with. */
  secretsChanged(name: string): Promise<void>;
  /** Calls back after each change of configuration. Returns the call that ends it. */
  subscribe(listener: (configuration: Configuration) => void): Cancel;
  status(): ConfigurationStatus;
  /** The texts in force, secrets masked. */
  texts(): FileTexts;
  /** Reloads whenever a file changes, until `stop`. */
  watch(): void;
  /** Resolves when what is under way has ended. */
  stop(): Promise<void>;
}

export function createConfigurationHolder(options: ConfigurationOptions): ConfigurationHolder {
  const { folder, clock, secrets } = options;
  const active = createActiveConfiguration(options);
  const mutex = createMutex();
  /** Secrets that are no longer those that were loaded with. */
  const oldSecrets = new Set<string>();
  let unwatch: Cancel | undefined;

  async function record(result: LoadResult, by: Attribution): Promise<void> {
    if (!result.ok || options.versions === undefined) return;
    const masked = result.masked ?? maskedTexts(result.texts, result.configuration.raw);
    await options.versions.record({ ...by, masked });
  }

  async function load(): Promise<LoadResult> {
    oldSecrets.clear();
    const before = active.texts();
    const result = await active.load();
    const files = FILES.filter(name => result.texts[name] !== before[name]);
    if (files.length > 0) options.onFileEdit?.({ files, problems: result.ok ? 0 : result.problems.length });
    await record(result, FILE_AUTHOR);
    return result;
  }

  async function save(change: ConfigChange): Promise<Configuration> {
    const now = assertSound(active.lastIfUnchanged() ?? (await load()));
    const edits = 'edits' in change ? editsOf(change.edits, now.configuration) : [];
    const texts = 'texts' in change ? change.texts(now.configuration) : {};
    const { changed, loaded } = await prepareOn(now, { edits, texts });
    await options.assertMayBecome?.(loaded.configuration.settings, now.configuration.settings);
    const added = edits.flatMap(edit => edit.secrets ?? []);
    if (Object.keys(changed).length + added.length === 0) return active.get();
    const { author } = change;
    const written = await writeTexts({
      folder,
      texts: changed,
      before: now.texts,
      secrets: added,
      author,
      store: secrets,
    });
    for (const { name, value } of added) if (secrets?.get(name) === value) oldSecrets.delete(name);
    const seen = active.seen();
    const signatures = [...signaturesOf(loaded.files)].map(
      ([file, found]) => [file, written.get(file) ?? seen.get(file) ?? found] as const,
    );
    await record(active.activate(loaded, new Map(signatures)), change);
    return active.get();
  }

  async function dryRun(edits: (now: Configuration) => readonly ConfigEdit[]): Promise<Configuration> {
    const now = assertSound(active.lastIfUnchanged() ?? (await load()));
    const { loaded } = await prepareOn(now, { edits: edits(now.configuration), texts: {} });
    return loaded.configuration;
  }

  /** Errors may be those of the files as they are: a secret's file they refer to may have gone since. */
  async function prepareOn(
    now: Loaded,
    change: Parameters<typeof prepareWithWorker>[0],
  ): Promise<PreparedChange> {
    try {
      return await prepareWithWorker(change, now, options, clock);
    } catch (error) {
      const isInvalid = error instanceof AppError && error.code === 'invalid-request';
      if (isInvalid && !(await loadWithWorker(options, clock)).ok) assertSound(await load());
      throw error;
    }
  }

  return {
    load() {
      const result = active.loadFirst();
      void mutex.run(async () => {
        await removeStaged(configurationFiles(folder));
        await record(result, FILE_AUTHOR);
      });
      return result;
    },
    get: active.get,
    reload: () => mutex.run(load),
    save: change => mutex.run(() => save(change)),
    dryRun: edits => mutex.run(() => dryRun(edits)),
    check: texts => checkTexts(options, texts, clock),
    secretsChanged(name) {
      oldSecrets.add(name);
      return mutex.run(async () => {
        if (oldSecrets.size > 0) await load();
      });
    },
    subscribe: active.subscribe,
    status: active.status,
    texts: active.masked,
    watch() {
      unwatch ??= watchFiles({
        folder,
        seen: active.seen,
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
  edits: readonly ConfigEdit[] | ((now: Configuration) => readonly ConfigEdit[]),
  now: Configuration,
): readonly ConfigEdit[] => (typeof edits === 'function' ? edits(now) : edits);

export interface Attribution {
  readonly author: string;
  readonly source: ChangeSource;
  readonly message?: string;
}

/** Nobody can tell who wrote a file. */
export const FILE_AUTHOR: Attribution = { author: 'file', source: 'file' };

interface ActiveConfigurationOptions extends Sources {
  readonly clock: Pick<Clock, 'now' | 'monotonic'>;
  readonly logger: Logger;
}

/** The configuration in force, and how the files were when it was read. */
export interface ActiveConfiguration {
  /** Throws before a load went well. */
  get(): Configuration;
  /** The first load, before there is anybody to keep waiting. */
  loadFirst(): LoadResult;
  /** Reads the files; one with errors changes nothing but the status. */
  load(): Promise<LoadResult>;
  /** Puts a configuration in force that was read before; `seen` tells its files as they are with it. */
  activate(loaded: LoadResult, seen: Signatures): LoadResult;
  /** The last load, while the files are as they were then. */
  lastIfUnchanged(): LoadResult | undefined;
  readonly seen: () => Signatures;
  /** The files as they were read last, whether or not they could be put in force. */
  texts(): FileTexts;
  /** The files as they are in force, secrets masked. */
  masked(): FileTexts;
  status(): ConfigurationStatus;
  subscribe(listener: (configuration: Configuration) => void): Cancel;
}

export function createActiveConfiguration(options: ActiveConfigurationOptions): ActiveConfiguration {
  const { folder, clock, logger } = options;
  const listeners = new Set<(configuration: Configuration) => void>();
  let current: Configuration | undefined;
  let atStart: Settings | undefined;
  let last: LoadResult | undefined;
  let texts: FileTexts = {};
  let seen: Signatures = new Map();

  function activate(loaded: LoadResult, signatures: Signatures): LoadResult {
    const result = withRestarts(loaded, atStart);
    seen = signatures;
    reportLoad(result, last, logger);
    last = result;
    if (!result.ok) return result;
    texts = result.texts;
    current = result.configuration;
    atStart ??= current.settings;
    for (const listener of listeners) notify(listener, current);
    return result;
  }

  function notify(listener: (configuration: Configuration) => void, configuration: Configuration): void {
    try {
      listener(configuration);
    } catch (error) {
      logger.error({ reason: reasonOf(error) }, 'a part of the server could not take over the configuration');
    }
  }

  /** A change while files were read must not count as seen; what was not known before is seen after. */
  function settle(found: LoadResult, before: Signatures): LoadResult {
    const result = refuseMissingFiles(found, texts, folder);
    const after = signaturesOf(result.files);
    return activate(result, new Map([...after].map(([file, now]) => [file, before.get(file) ?? now])));
  }

  return {
    get() {
      if (current === undefined) throw new Error('the configuration was asked for before it was loaded');
      return current;
    },
    loadFirst() {
      const before = signaturesOf(seen.keys());
      return settle(loadConfiguration(options, clock), before);
    },
    async load() {
      const before = signaturesOf(seen.keys());
      return settle(await loadWithWorker(options, clock).catch(error => broken(error, folder)), before);
    },
    activate,
    lastIfUnchanged: () => (isSameFiles(signaturesOf(seen.keys()), seen) ? last : undefined),
    seen: () => seen,
    texts: () => last?.texts ?? {},
    masked: () => (current === undefined ? {} : maskedTexts(texts, current.raw)),
    status: () => ({
      state: last?.ok === true ? 'ok' : 'error',
      loadedAt: current?.loadedAt ?? null,
      errors: last?.ok === false ? last.problems : [],
      warnings: last?.warnings ?? [],
    }),
    subscribe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}

/** Throws `configuration-broken` with the problems of a configuration that has some. */
export function assertSound(result: LoadResult): Loaded {
  if (result.ok) return result;
  const problems = result.problems.map(problem => ({
    path: problem.path,
    message: formatProblem({ ...problem, file: basename(problem.file), path: '' }),
  }));
  const message = `The configuration on disk has errors; mend them first: ${problems[0]?.message ?? ''}`;
  throw new AppError('configuration-broken', message, { problems });
}

/** A fault of ours must not end a running server because a file was saved. */
function broken(error: unknown, folder: string): LoadResult {
  const message = `the configuration cannot be loaded: ${reasonOf(error)}`;
  return {
    ok: false,
    problems: [{ file: folder, line: 1, column: 1, path: '', message }],
    warnings: [],
    files: configurationFiles(folder),
    texts: {},
  };
}

function withRestarts(result: LoadResult, atStart: Settings | undefined): LoadResult {
  if (!result.ok || atStart === undefined) return result;
  const { configuration } = result;
  const restarts = findRestarts(configuration.settings, atStart, result.settingOrigin);
  if (restarts.notes.length === 0) return result;
  const warnings = [...result.warnings, ...restarts.warnings];
  const waiting = restarts.notes;
  return { ...result, warnings, configuration: Object.freeze({ ...configuration, warnings, waiting }) };
}

/** Logs what a load brought; the same errors and warnings once, until they change. */
function reportLoad(result: LoadResult, before: LoadResult | undefined, logger: Logger): void {
  const warnings = result.warnings.map(formatProblem);
  if (!isSame(warnings, before?.warnings.map(formatProblem) ?? []) && warnings.length > 0)
    logger.warn({ warnings: warnings.slice(0, LOGGED) }, 'the configuration has warnings');
  if (result.ok) {
    const { targets, notifications, settings } = result.configuration;
    const counts = {
      pipelines: settings.pipelines.length,
      targets: targets.length,
      notifications: notifications.length,
    };
    logger.info(counts, 'configuration loaded');
    return;
  }
  const errors = result.problems.map(formatProblem);
  const reportedBefore = before?.ok === false ? before.problems.map(formatProblem) : [];
  if (!isSame(errors, reportedBefore))
    logger.error(
      { errors: errors.slice(0, LOGGED), count: errors.length },
      'configuration refused, nothing changed',
    );
}

/** Lines of one log record; the status has them all. */
const LOGGED = 20;

const isSame = (one: readonly string[], other: readonly string[]): boolean =>
  one.length === other.length && one.every((text, index) => text === other[index]);

/**
 * A file that was in force and is gone since is refused like one with errors: all that it held would end in silence,
 * while at a start a missing file counts as empty.
 */
function refuseMissingFiles(result: LoadResult, activeTexts: FileTexts, folder: string): LoadResult {
  if (!result.ok) return result;
  const gone = Object.keys(activeTexts).filter(name => !(name in result.texts));
  if (gone.length === 0) return result;
  const message =
    'is gone, and what it held stays in force; put it back, or an empty one to end what it held';
  const problems = gone.map(name => ({ file: join(folder, name), line: 1, column: 1, path: '', message }));
  return { ok: false, problems, warnings: result.warnings, files: result.files, texts: result.texts };
}
