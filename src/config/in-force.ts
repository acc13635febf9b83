import { basename } from 'node:path';
import type { Cancel, Clock } from '../lib/clock.ts';
import { AppError, reasonOf } from '../lib/errors.ts';
import type { Logger } from '../lib/logger.ts';
import { loadApart } from './apart.ts';
import {
  type Configuration,
  configurationFiles,
  type Loaded,
  type LoadResult,
  loadConfiguration,
  type Sources,
  type Texts,
} from './load.ts';
import { reportLoad } from './load-report.ts';
import { refuseLosses } from './losses.ts';
import { maskedTexts } from './mask-texts.ts';
import { formatProblem } from './problems.ts';
import { restartsOf } from './restart.ts';
import type { Settings } from './settings.ts';
import type { ConfigurationStatus } from './status.ts';
import { isSameFiles, type Signatures, signaturesOf } from './watch.ts';

interface InForceOptions extends Sources {
  readonly clock: Pick<Clock, 'now' | 'monotonic'>;
  readonly logger: Logger;
}

/** The configuration in force, and how the files were when it was read. */
export interface InForce {
  /** Throws before a load went well. */
  get(): Configuration;
  /** The first load, before there is anybody to keep waiting. */
  loadFirst(): LoadResult;
  /** Reads the files; one with errors changes nothing but the status. */
  load(): Promise<LoadResult>;
  /** Puts a configuration in force that was read before; `seen` tells its files as they are with it. */
  takeOver(loaded: LoadResult, seen: Signatures): LoadResult;
  /** The last load, while the files are as they were then. */
  ifCurrent(): LoadResult | undefined;
  readonly seen: () => Signatures;
  /** The files as they were read last, whether or not they could be put in force. */
  texts(): Texts;
  /** The files as they are in force, secrets masked. */
  masked(): Texts;
  status(): ConfigurationStatus;
  subscribe(listener: (configuration: Configuration) => void): Cancel;
}

export function createInForce(options: InForceOptions): InForce {
  const { folder, clock, logger } = options;
  const listeners = new Set<(configuration: Configuration) => void>();
  let current: Configuration | undefined;
  let atStart: Settings | undefined;
  let last: LoadResult | undefined;
  let texts: Texts = {};
  let seen: Signatures = new Map();

  function takeOver(loaded: LoadResult, signatures: Signatures): LoadResult {
    const result = withRestarts(loaded, atStart);
    seen = signatures;
    reportLoad(result, last, logger);
    last = result;
    if (!result.ok) return result;
    texts = result.texts;
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

  /** A change while files were read must not count as seen; what was not known before is seen after. */
  function settle(found: LoadResult, before: Signatures): LoadResult {
    const result = refuseLosses(found, texts, folder);
    const after = signaturesOf(result.files);
    return takeOver(result, new Map([...after].map(([file, now]) => [file, before.get(file) ?? now])));
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
      return settle(await loadApart(options, clock).catch(error => broken(error, folder)), before);
    },
    takeOver,
    ifCurrent: () => (isSameFiles(signaturesOf(seen.keys()), seen) ? last : undefined),
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
  const restarts = restartsOf(configuration.settings, atStart, result.settingOrigin);
  if (restarts.notes.length === 0) return result;
  const warnings = [...result.warnings, ...restarts.warnings];
  const waiting = restarts.notes;
  return { ...result, warnings, configuration: Object.freeze({ ...configuration, warnings, waiting }) };
}
