import type { Clock } from '../lib/clock.ts';
import { AppError, type ErrorCode, type Problem } from '../lib/errors.ts';
import type { Declared } from './configuration.ts';
import { type FileTexts, type LoadResult, readConfiguration, type Sources } from './load.ts';
import type { PlainMap } from './plain.ts';
import type { ConfigProblem } from './problems.ts';
import { maskedTexts } from './secrets/mask.ts';
import { type ChangeInput, changedTexts, refuseUnsound } from './write/edit.ts';

/** What can be done with the files apart from everything that lives in the process: plain data goes in and out. */
export interface WorkerJob {
  readonly sources: Omit<Sources, 'secretOf'>;
  /** Stored secrets by name; undefined where there is no store. */
  readonly secrets: ReadonlyMap<string, string> | undefined;
  /** Undefined to load the files as they are. */
  readonly change: ChangeInput | undefined;
  /** Whether what is wrong is all that is wanted. */
  readonly onlyFindings?: boolean;
}

/** A configuration as data: what it takes to make it live again. */
interface CheckedData {
  /** What each target is made of, its references resolved. */
  readonly targets: readonly unknown[];
  readonly inputs: readonly Declared[];
  readonly outputs: readonly Declared[];
  readonly rawTargets: ReadonlyMap<string, PlainMap>;
  readonly rawNotifications: ReadonlyMap<string, PlainMap>;
  readonly rawInputs: ReadonlyMap<string, PlainMap>;
  readonly rawOutputs: ReadonlyMap<string, PlainMap>;
}

/** What loading came to. */
export type CheckedResult = {
  readonly warnings: readonly ConfigProblem[];
  readonly files: readonly string[];
  readonly texts: FileTexts;
} & (
  | {
      readonly ok: true;
      readonly plain: CheckedData;
      /** The texts with their secrets masked. */
      readonly masked: FileTexts;
      /** The files that a change makes read otherwise. */
      readonly changed: FileTexts;
    }
  | { readonly ok: false; readonly problems: readonly ConfigProblem[] }
);

export type WorkerResult =
  | { readonly kind: 'loaded'; readonly result: CheckedResult }
  /** A change that cannot be made. */
  | {
      readonly kind: 'refused';
      readonly code: ErrorCode;
      readonly message: string;
      readonly problems: readonly Problem[];
    };

/** Loads the files, or works a change out and loads what would come of it. */
export function performJob(
  { sources, secrets, change, onlyFindings }: WorkerJob,
  clock: Pick<Clock, 'now'>,
): WorkerResult {
  const lookup: Sources = { ...sources, secretOf: secrets && (name => secrets.get(name)) };
  if (change === undefined) {
    const loaded = readConfiguration(lookup, clock);
    return { kind: 'loaded', result: onlyFindings ? findingsOf(loaded) : toCheckedResult(loaded, {}) };
  }
  try {
    const changed = changedTexts(change);
    const loaded = readConfiguration({ ...lookup, texts: { ...change.now, ...changed } }, clock);
    refuseUnsound(loaded, change.edits, changed);
    return { kind: 'loaded', result: toCheckedResult(loaded, changed) };
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    const { code, message, problems = [] } = error;
    return { kind: 'refused', code, message, problems };
  }
}

const findingsOf = (loaded: LoadResult): CheckedResult => ({
  ok: false,
  problems: loaded.ok ? [] : loaded.problems,
  warnings: loaded.warnings,
  files: [],
  texts: {},
});

function toCheckedResult(loaded: LoadResult, changed: FileTexts): CheckedResult {
  const { warnings, files, texts } = loaded;
  if (!loaded.ok) return { ok: false, warnings, files, texts, problems: loaded.problems };
  const { raw, inputs, outputs } = loaded.configuration;
  const plain = {
    targets: loaded.resolvedTargets,
    inputs,
    outputs,
    rawTargets: raw.targets,
    rawNotifications: raw.notifications,
    rawInputs: raw.inputs,
    rawOutputs: raw.outputs,
  };
  return { ok: true, warnings, files, texts, plain, masked: maskedTexts(texts, raw), changed };
}
