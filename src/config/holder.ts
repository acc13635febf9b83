import type { Cancel, Clock } from '../lib/clock.ts';
import { AppError, reasonOf } from '../lib/errors.ts';
import type { Logger } from '../lib/logger.ts';
import { createMutex } from '../lib/mutex.ts';
import { ActiveConfiguration, assertSound } from './active.ts';
import type {
  ChangeSource,
  ConfigChange,
  ConfigEdit,
  ConfigurationPlan,
  PlannedConfiguration,
  WantedConfiguration,
} from './change.ts';
import type { CheckThread } from './check-thread.ts';
import {
  type CheckFindings,
  type Configuration,
  type ConfigurationStatus,
  configurationFiles,
  FILES,
  type FileName,
  type FileTexts,
  type HidingJob,
} from './configuration.ts';
import { type Loaded, type LoadResult, loadConfiguration } from './load.ts';
import type { WritableSecrets } from './secrets/store.ts';
import type { Settings } from './settings.ts';
import type { ConfigurationSource } from './source/source.ts';
import type { VersionRecorder } from './versions.ts';
import {
  checkTexts,
  hideAddressesWithWorker,
  loadWithWorker,
  type PreparedChange,
  prepareWithWorker,
  type RequestedChange,
} from './worker.ts';

export interface HolderOptions {
  readonly source: ConfigurationSource;
  readonly clock: Pick<Clock, 'now' | 'monotonic' | 'after'>;
  readonly logger: Logger;
  /** Where secrets go that come with a change; without it such a change is refused. */
  readonly secrets?: WritableSecrets;
  /** Throws when a change may not put these settings in the place of the active ones. */
  readonly assertMayBecome?: (next: Settings, now: Settings) => Promise<void>;
  /** Called after each change that was made to the files themselves. */
  readonly onFileEdit?: (edit: FileEdit) => void;
  /** Records every configuration that takes effect. */
  readonly versions?: VersionRecorder;
  /** Shared by the workspaces of a process. */
  readonly thread: CheckThread;
}

/** A change that an editor, or another program, made to the files. */
export interface FileEdit {
  /** Names of the files that read otherwise than before. */
  readonly files: readonly FileName[];
  /** How many errors the configuration has with it; 0 when it is active. */
  readonly problems: number;
}

/** Owns the active configuration; every change of it goes through here. */
export interface ConfigurationHolder {
  /** The first load. */
  load(): LoadResult;
  /** The active configuration. Throws before a load succeeded. */
  readonly get: () => Configuration;
  /** Loads again; a configuration with errors changes nothing. */
  readonly reload: () => Promise<LoadResult>;
  /**
   * Makes a change, writes it and activates it, and answers the configuration with it. Changes are made one after the
   * other, each on top of the one before and of what stands in the source by then.
   * Rejects with what the change's own conditions and `assertMayBecome` throw, `configuration-broken` with the problems
   * when the files have errors, `invalid-request` when they would have, `conflict` where a person must edit,
   * `configuration-read-only`, and `unavailable` when the disk is full; then nothing has changed.
   */
  readonly save: (change: ConfigChange) => Promise<Configuration>;
  /** The configuration that a change of items would lead to; nothing is written. Rejects as `save` does before it writes. */
  readonly dryRun: (edits: (now: Configuration) => readonly ConfigEdit[]) => Promise<Configuration>;
  /** What would change if the configuration were what texts say; nothing is written. Rejects as `save` does. */
  readonly plan: (wanted: WantedConfiguration) => Promise<PlannedConfiguration>;
  /** Checks the configuration as it would be with these texts in place of those of their names. */
  readonly check: (texts: FileTexts) => Promise<CheckFindings>;
  /** Loads again when a stored secret is no longer the one that was loaded with. */
  readonly secretsChanged: (name: string) => Promise<void>;
  /** Calls back after each change of configuration. Returns the call that ends it. */
  readonly subscribe: (listener: (configuration: Configuration) => void) => Cancel;
  readonly status: () => ConfigurationStatus;
  /** The active texts, secrets masked. */
  readonly texts: () => FileTexts;
  /** Texts, the active ones or older ones, with the hosts only of addresses in some files. */
  readonly hideAddresses: (job: HidingJob) => Promise<readonly FileTexts[]>;
  /** Loads again whenever the source changes, until `stop`. */
  readonly watch: () => void;
  /** Resolves when what is under way has ended. */
  readonly stop: () => Promise<void>;
}

export const createConfigurationHolder = (options: HolderOptions): ConfigurationHolder => new Holder(options);

class Holder implements ConfigurationHolder {
  readonly #options: HolderOptions;
  readonly #active: ActiveConfiguration;
  /** Loads and changes run one after the other. */
  readonly #mutex = createMutex();
  /** Secrets that are no longer those that were loaded with. */
  readonly #changedSecrets = new Set<string>();
  #unwatch: Cancel | undefined;

  constructor(options: HolderOptions) {
    this.#options = options;
    this.#active = new ActiveConfiguration(options.source.sources().folder, options.logger);
  }

  readonly get = (): Configuration => this.#active.get();
  readonly status = (): ConfigurationStatus => this.#active.status();
  readonly texts = (): FileTexts => this.#active.maskedTexts();
  readonly hideAddresses = (job: HidingJob): Promise<readonly FileTexts[]> =>
    hideAddressesWithWorker(this.#options.source.sources(), job, this.#options.thread);
  readonly subscribe = (listener: (configuration: Configuration) => void): Cancel =>
    this.#active.subscribe(listener);
  readonly reload = (): Promise<LoadResult> =>
    this.#mutex.run(async () => {
      await this.#options.source.hasChanged();
      return this.#load();
    });
  readonly save = (change: ConfigChange): Promise<Configuration> => this.#mutex.run(() => this.#save(change));
  readonly dryRun = (edits: (now: Configuration) => readonly ConfigEdit[]): Promise<Configuration> =>
    this.#mutex.run(() => this.#dryRun(edits));
  readonly plan = (wanted: WantedConfiguration): Promise<PlannedConfiguration> =>
    this.#mutex.run(() => this.#plan(wanted));

  load(): LoadResult {
    const { source, clock } = this.#options;
    const noteRead = source.beginLoad();
    const found = loadConfiguration(source.sources(), clock);
    noteRead(found);
    const result = this.#active.activate(found);
    void this.#mutex.run(async () => {
      await source.cleanUp();
      await this.#record(result, FILE_AUTHOR);
    });
    return result;
  }

  readonly check = (texts: FileTexts): Promise<CheckFindings> => {
    const { source, thread } = this.#options;
    return checkTexts(source.sourcesForChange(this.get()), texts, thread);
  };

  readonly secretsChanged = (name: string): Promise<void> => {
    this.#changedSecrets.add(name);
    return this.#mutex.run(async () => {
      if (this.#changedSecrets.size > 0) await this.#load();
    });
  };

  readonly watch = (): void => {
    this.#unwatch ??= this.#options.source.watch(() => this.#mutex.run(() => this.#current()));
  };

  readonly stop = (): Promise<void> => {
    this.#unwatch?.();
    this.#unwatch = undefined;
    return this.#mutex.idle();
  };

  async #load(): Promise<LoadResult> {
    const { source, clock, onFileEdit, thread } = this.#options;
    this.#changedSecrets.clear();
    const before = this.#active.lastTexts();
    const noteRead = source.beginLoad();
    const sources = source.sources();
    const found = await loadWithWorker(sources, clock, thread).catch(error =>
      failedLoad(error, sources.folder),
    );
    noteRead(found);
    const result = this.#active.activate(found);
    const files = FILES.filter(name => result.texts[name] !== before[name]);
    if (files.length > 0) onFileEdit?.({ files, problems: result.ok ? 0 : result.problems.length });
    await this.#record(result, FILE_AUTHOR);
    return result;
  }

  /** The last load while the source is as it was then, or a new one. */
  async #current(): Promise<LoadResult> {
    const hasChanged = await this.#options.source.hasChanged();
    const last = this.#active.last();
    return last === undefined || hasChanged || this.#changedSecrets.size > 0 ? this.#load() : last;
  }

  async #save(change: ConfigChange): Promise<Configuration> {
    const { source, secrets: store, assertMayBecome } = this.#options;
    const now = assertSound(await this.#current());
    const edits = 'edits' in change ? editsOf(change.edits, now.configuration) : [];
    const { changed, loaded, secrets, plan } = await this.#prepare(now, {
      edits,
      secrets: edits.flatMap(edit => edit.secrets ?? []),
      ...('sent' in change && { sent: change.sent }),
      ...('wanted' in change && { wanted: change.wanted }),
    });
    if ('onPlanned' in change) change.onPlanned(this.#planned(plan));
    await assertMayBecome?.(loaded.configuration.settings, now.configuration.settings);
    if (Object.keys(changed).length + secrets.length === 0) return this.get();
    await source.write({
      ...{ texts: changed, before: now.texts, files: loaded.files },
      ...{ secrets, author: change.author, store },
    });
    for (const { name, value } of secrets) if (store?.get(name) === value) this.#changedSecrets.delete(name);
    await this.#record(this.#active.activate(loaded), change);
    return this.get();
  }

  async #dryRun(edits: (now: Configuration) => readonly ConfigEdit[]): Promise<Configuration> {
    const now = assertSound(await this.#current());
    const asked = edits(now.configuration);
    const secrets = asked.flatMap(edit => edit.secrets ?? []);
    const { loaded } = await this.#prepare(now, { edits: asked, secrets });
    return loaded.configuration;
  }

  async #plan(wanted: WantedConfiguration): Promise<PlannedConfiguration> {
    const now = assertSound(await this.#current());
    const { loaded, plan } = await this.#prepare(now, { edits: [], secrets: [], wanted });
    await this.#options.assertMayBecome?.(loaded.configuration.settings, now.configuration.settings);
    return this.#planned(plan);
  }

  #planned(plan: ConfigurationPlan = { changes: [] }): PlannedConfiguration {
    return { plan, base: this.#active.maskedTexts() };
  }

  /** Errors may be those of the files as they are: the file of a secret may have gone meanwhile. */
  async #prepare(now: Loaded, change: RequestedChange): Promise<PreparedChange> {
    const { source, clock, thread } = this.#options;
    try {
      const sources = source.sourcesForChange(now.configuration);
      return await prepareWithWorker(change, now, sources, { clock, thread });
    } catch (error) {
      const mayBeOurs = source.refersToFiles && error instanceof AppError && error.code === 'invalid-request';
      if (mayBeOurs && (await source.hasChanged())) assertSound(await this.#load());
      throw error;
    }
  }

  async #record(result: LoadResult, by: Attribution): Promise<void> {
    const { versions } = this.#options;
    if (!result.ok || versions === undefined) return;
    await versions.record({ ...by, masked: this.#active.maskedTexts() });
  }
}

const editsOf = (
  edits: readonly ConfigEdit[] | ((now: Configuration) => readonly ConfigEdit[]),
  now: Configuration,
): readonly ConfigEdit[] => (typeof edits === 'function' ? edits(now) : edits);

interface Attribution {
  readonly author: string;
  readonly source: ChangeSource;
  readonly message?: string;
}

/** The author of a file cannot be known. */
const FILE_AUTHOR: Attribution = { author: 'file', source: 'file' };

/** A fault of ours must not end a running server because a file was saved. */
function failedLoad(error: unknown, folder: string): LoadResult {
  const message = `the configuration cannot be loaded: ${reasonOf(error)}`;
  return {
    ok: false,
    problems: [{ file: folder, line: 1, column: 1, path: '', message }],
    warnings: [],
    files: configurationFiles(folder),
    texts: {},
  };
}
