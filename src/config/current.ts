import type { Cancel, Clock } from '../lib/clock.ts';
import { reasonOf } from '../lib/errors.ts';
import type { Logger } from '../lib/logger.ts';
import {
  type Configuration,
  configurationFiles,
  type LoadResult,
  loadConfiguration,
  type Sources,
} from './load.ts';
import { type ConfigProblem, formatProblem } from './problems.ts';
import { restartWarnings } from './restart.ts';
import type { Settings } from './settings.ts';
import { type Signatures, signaturesOf, watchFiles } from './watch.ts';

export interface ConfigurationOptions extends Sources {
  readonly clock: Clock;
  readonly logger: Logger;
}

/** How the last load went. */
export interface ConfigurationStatus {
  readonly state: 'ok' | 'error';
  /** ISO time of the configuration in force; null before the first. */
  readonly loadedAt: string | null;
  readonly errors: readonly ConfigProblem[];
  readonly warnings: readonly ConfigProblem[];
}

/** Owns the configuration in force. */
export interface ConfigurationHolder {
  /** The first load. */
  load(): LoadResult;
  /** The configuration in force. Throws before a load went well. */
  get(): Configuration;
  /** Loads again; a configuration with errors changes nothing. */
  reload(): Promise<LoadResult>;
  /** Calls back after each change of configuration. Returns the call that ends it. */
  subscribe(listener: (configuration: Configuration) => void): Cancel;
  status(): ConfigurationStatus;
  /** Reloads whenever a file changes, until `stop`. */
  watch(): void;
  stop(): void;
}

export function createConfiguration(options: ConfigurationOptions): ConfigurationHolder {
  const { folder, clock, logger } = options;
  const listeners = new Set<(configuration: Configuration) => void>();
  let current: Configuration | undefined;
  let atStart: Settings | undefined;
  let last: LoadResult | undefined;
  let seen: Signatures = new Map();
  let unwatch: Cancel | undefined;

  function load(): LoadResult {
    const before = signaturesOf(seen.keys());
    const result = withRestarts(
      safely(() => loadConfiguration(options, clock), folder),
      atStart,
    );
    // A change while files were read must not count as seen; what was not known before is seen after.
    seen = signaturesOf(result.files);
    seen = new Map([...seen].map(([file, signature]) => [file, before.get(file) ?? signature]));
    report(result, last, logger);
    last = result;
    if (!result.ok) return result;
    current = result.configuration;
    atStart ??= current.settings;
    for (const listener of listeners) tell(listener, current);
    return result;
  }

  function tell(listener: (configuration: Configuration) => void, configuration: Configuration): void {
    try {
      listener(configuration);
    } catch (error) {
      logger.error({ reason: reasonOf(error) }, 'a part of the server could not take over the configuration');
    }
  }

  return {
    load,
    get() {
      if (current === undefined) throw new Error('the configuration was asked for before it was loaded');
      return current;
    },
    reload: async () => load(),
    subscribe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    status: () => ({
      state: last?.ok === true ? 'ok' : 'error',
      loadedAt: current?.loadedAt ?? null,
      errors: last?.ok === false ? last.problems : [],
      warnings: last?.warnings ?? [],
    }),
    watch() {
      unwatch ??= watchFiles({ folder, seen: () => seen, clock, changed: load });
    },
    stop() {
      unwatch?.();
      unwatch = undefined;
    },
  };
}

/** A fault of ours must not end a running server because a file was saved. */
function safely(load: () => LoadResult, folder: string): LoadResult {
  try {
    return load();
  } catch (error) {
    const message = `the configuration cannot be loaded: ${reasonOf(error)}`;
    return {
      ok: false,
      problems: [{ file: folder, line: 1, column: 1, path: '', message }],
      warnings: [],
      files: configurationFiles(folder),
    };
  }
}

function withRestarts(result: LoadResult, atStart: Settings | undefined): LoadResult {
  if (!result.ok || atStart === undefined) return result;
  const extra = restartWarnings(result.configuration.settings, atStart, result.settingOrigin);
  if (extra.length === 0) return result;
  const warnings = [...result.warnings, ...extra];
  return { ...result, warnings, configuration: Object.freeze({ ...result.configuration, warnings }) };
}

/** Logs what a load brought; the same errors and warnings once, until they change. */
function report(result: LoadResult, before: LoadResult | undefined, logger: Logger): void {
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
  const told = before?.ok === false ? before.problems.map(formatProblem) : [];
  if (!isSame(errors, told))
    logger.error(
      { errors: errors.slice(0, LOGGED), count: errors.length },
      'configuration refused, nothing changed',
    );
}

/** Lines of one log record; the status has them all. */
const LOGGED = 20;

const isSame = (one: readonly string[], other: readonly string[]): boolean =>
  one.length === other.length && one.every((text, index) => text === other[index]);
