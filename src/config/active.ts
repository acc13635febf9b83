import { basename, join } from 'node:path';
import type { Cancel } from '../lib/clock.ts';
import { AppError, reasonOf } from '../lib/errors.ts';
import type { Logger } from '../lib/logger.ts';
import type { Configuration, ConfigurationStatus, FileTexts } from './configuration.ts';
import type { Loaded, LoadResult } from './load.ts';
import { formatProblem } from './problems.ts';
import { maskedTexts } from './secrets/mask.ts';
import { findRestarts, type Settings } from './settings.ts';

/** The active configuration, and what the last load came to. */
export class ActiveConfiguration {
  readonly #folder: string;
  readonly #logger: Logger;
  readonly #listeners = new Set<(configuration: Configuration) => void>();
  #configuration: Configuration | undefined;
  /** The texts of the active configuration. */
  #texts: FileTexts = {};
  /** The same, secrets masked; undefined until somebody asks. */
  #masked: FileTexts | undefined;
  #last: LoadResult | undefined;
  #settingsAtStart: Settings | undefined;

  constructor(folder: string, logger: Logger) {
    this.#folder = folder;
    this.#logger = logger;
  }

  /** Throws before a load succeeded. */
  get(): Configuration {
    if (this.#configuration === undefined)
      throw new Error('the configuration was asked for before it was loaded');
    return this.#configuration;
  }

  /** Makes a loaded configuration the active one; one with errors changes nothing but the status. */
  activate(loaded: LoadResult): LoadResult {
    const found = refuseMissingFiles(loaded, this.#texts, this.#folder);
    const result = withRestarts(found, this.#settingsAtStart);
    reportLoad(result, this.#last, this.#logger);
    this.#last = result;
    if (!result.ok) return result;
    this.#texts = result.texts;
    this.#masked = result.masked;
    this.#configuration = result.configuration;
    this.#settingsAtStart ??= result.configuration.settings;
    for (const listener of this.#listeners) this.#notify(listener, result.configuration);
    return result;
  }

  /** The last load, whether or not it could be activated. */
  last(): LoadResult | undefined {
    return this.#last;
  }

  lastTexts(): FileTexts {
    return this.#last?.texts ?? {};
  }

  maskedTexts(): FileTexts {
    if (this.#configuration === undefined) return {};
    this.#masked ??= maskedTexts(this.#texts, this.#configuration.raw);
    return this.#masked;
  }

  status(): ConfigurationStatus {
    const last = this.#last;
    return {
      state: last?.ok === true ? 'ok' : 'error',
      loadedAt: this.#configuration?.loadedAt ?? null,
      errors: last?.ok === false ? last.problems : [],
      warnings: last?.warnings ?? [],
    };
  }

  subscribe(listener: (configuration: Configuration) => void): Cancel {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  #notify(listener: (configuration: Configuration) => void, configuration: Configuration): void {
    try {
      listener(configuration);
    } catch (error) {
      this.#logger.error(
        { reason: reasonOf(error) },
        'a part of the server could not take over the configuration',
      );
    }
  }
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
 * A file that was active and is gone since is refused like one with errors: all that it held would end in silence,
 * while at a start a missing file counts as empty.
 */
function refuseMissingFiles(result: LoadResult, activeTexts: FileTexts, folder: string): LoadResult {
  if (!result.ok) return result;
  const gone = Object.keys(activeTexts).filter(name => !(name in result.texts));
  if (gone.length === 0) return result;
  const message = 'is gone, and what it held stays active; put it back, or an empty one to end what it held';
  const problems = gone.map(name => ({ file: join(folder, name), line: 1, column: 1, path: '', message }));
  return { ok: false, problems, warnings: result.warnings, files: result.files, texts: result.texts };
}
