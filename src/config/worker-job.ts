import { AppError, type ErrorCode, type Problem } from '../lib/errors.ts';
import type { FileTexts } from './configuration.ts';
import {
  type ConfigurationValues,
  type ReadConfiguration,
  readConfiguration,
  type Sources,
} from './read/configuration.ts';
import { maskedTexts } from './secrets/mask.ts';
import { type ChangeInput, changedTexts, refuseUnsound } from './write/edit.ts';

/** A job of the config worker. Plain data goes in and out, so that it can run on another thread. */
export interface WorkerJob {
  readonly sources: Omit<Sources, 'secretOf'>;
  /** Stored secrets by name; undefined where there is no store. */
  readonly secrets: ReadonlyMap<string, string> | undefined;
  /** Undefined to load the files as they are. */
  readonly change: ChangeInput | undefined;
  /** Set when only errors and warnings are wanted. */
  readonly onlyFindings?: boolean;
}

/** A configuration that was read and found sound. */
export interface CheckedJob extends Omit<ReadSound, 'values'> {
  /** Absent when they were made on another thread. */
  readonly values?: ConfigurationValues;
  /** The texts with their secrets masked. */
  readonly masked: FileTexts;
  /** The files that a change makes read otherwise. */
  readonly changed: FileTexts;
}

type ReadSound = Extract<ReadConfiguration, { readonly ok: true }>;
type ReadUnsound = Exclude<ReadConfiguration, ReadSound>;

export type WorkerResult =
  | { readonly kind: 'read'; readonly result: CheckedJob | ReadUnsound }
  /** A change that cannot be made. */
  | {
      readonly kind: 'refused';
      readonly code: ErrorCode;
      readonly message: string;
      readonly problems: readonly Problem[];
    };

/** Reads the files, or works a change out and reads what would come of it. */
export function performJob({ sources, secrets, change, onlyFindings }: WorkerJob): WorkerResult {
  const lookup: Sources = { ...sources, secretOf: secrets && (name => secrets.get(name)) };
  if (change === undefined) {
    const read = readConfiguration(lookup);
    return { kind: 'read', result: onlyFindings ? findingsOf(read) : checkedJob(read, {}) };
  }
  try {
    const changed = changedTexts(change);
    const read = readConfiguration({ ...lookup, texts: { ...change.now, ...changed } });
    refuseUnsound(read, change.edits, changed);
    return { kind: 'read', result: checkedJob(read, changed) };
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    const { code, message, problems = [] } = error;
    return { kind: 'refused', code, message, problems };
  }
}

/** The result without what cannot go to another thread. */
export function withoutValues(done: WorkerResult): WorkerResult {
  if (done.kind === 'refused' || !done.result.ok) return done;
  const { values: _, ...result } = done.result;
  return { kind: 'read', result };
}

const findingsOf = (read: ReadConfiguration): ReadUnsound => ({
  ok: false,
  problems: read.ok ? [] : read.problems,
  warnings: read.warnings,
  files: [],
  texts: {},
});

function checkedJob(read: ReadConfiguration, changed: FileTexts): CheckedJob | ReadUnsound {
  if (!read.ok) return read;
  const { data, values, texts } = read;
  const masked = maskedTexts(texts, { ...data.raw, settings: values.rawSettings });
  return { ...read, masked, changed };
}
