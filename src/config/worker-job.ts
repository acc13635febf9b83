import { basename } from 'node:path';
import { AppError, type ErrorCode, type Problem } from '../lib/errors.ts';
import { createAddressGuard } from '../lib/http/guard.ts';
import type { Target } from '../targets/target.ts';
import type { ConfigEdit } from './change.ts';
import { forbiddenAddresses, forbiddenSettings } from './check/addresses.ts';
import { type FileName, type FileTexts, NOTIFICATIONS_FILE, SETTINGS_FILE } from './configuration.ts';
import { withoutByteOrderMark } from './file-text.ts';
import { isMap } from './plain.ts';
import { type ConfigProblem, formatPath, type ItemFinding } from './problems.ts';
import {
  type ConfigurationValues,
  type ReadConfiguration,
  readConfiguration,
  type Sources,
} from './read/configuration.ts';
import { childOf } from './schema-walk.ts';
import { maskedTexts } from './secrets/mask.ts';
import { type ChangeInput, changedTexts, FILE_OF } from './write/edit.ts';
import { readYaml } from './yaml/parse.ts';

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
    refuseUnsound(read, change, changed);
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

/** Throws `invalid-request` for a change that comes to errors: those within an item by their paths in it. */
function refuseUnsound(read: ReadConfiguration, change: ChangeInput, changed: FileTexts): void {
  const { edits } = change;
  const problems = read.ok
    ? addressProblems(read, change)
    : read.problems.map(problem => asSent(problem, edits, changed));
  if (read.ok && problems.length === 0) return;
  const [first] = problems;
  const place = first === undefined || first.path === '' ? '' : `${first.path}: `;
  throw new AppError('invalid-request', `${place}${first?.message ?? 'The change is not valid'}`, {
    problems,
  });
}

/** Only a warning in a file, it is an error in a change, as the answer reaches its author at once. */
function addressProblems(
  { data, values }: Extract<ReadConfiguration, { readonly ok: true }>,
  { edits, texts }: ChangeInput,
): Problem[] {
  const { settings, targets } = values;
  const guard = createAddressGuard(settings.delivery);
  const inSettings = (): ItemFinding[] => forbiddenSettings(settings, guard);
  const inTarget = (target: Target): ItemFinding[] =>
    forbiddenAddresses(target.settings, data.raw.targets.get(target.settings.id) ?? {}, guard);
  const inItem = ({ section, id, value }: ConfigEdit): ItemFinding[] => {
    if (section === 'settings') return inSettings();
    if (section !== 'targets' || value === undefined) return [];
    return targets.filter(({ settings: { id: own } }) => own === id).flatMap(inTarget);
  };
  const inFile = (name: FileName, base: string, found: ItemFinding): Problem => {
    const path = [base, formatPath(found.path)].filter(part => part !== '').join('.');
    return { path, message: `${name}: ${found.message}` };
  };
  return [
    ...edits.flatMap(inItem).map(({ path, message }) => ({ path: formatPath(path), message })),
    ...(texts[SETTINGS_FILE] === undefined ? [] : inSettings()).map(found =>
      inFile(SETTINGS_FILE, '', found),
    ),
    ...(texts[NOTIFICATIONS_FILE] === undefined ? [] : targets).flatMap(target =>
      inTarget(target).map(found => inFile(NOTIFICATIONS_FILE, `targets.${target.settings.id}`, found)),
    ),
  ];
}

/** A problem of an item that was sent, by its path in the item; another by its file and its path there. */
function asSent(
  { file, path, message }: ConfigProblem,
  edits: readonly ConfigEdit[],
  texts: FileTexts,
): Problem {
  const name = basename(file);
  for (const edit of edits) {
    const start = FILE_OF[edit.section] === name ? pathOf(edit, texts) : undefined;
    if (start === '') return { path, message };
    if (
      start !== undefined &&
      (path === start || /^[.[]/.test(path.slice(start.length))) &&
      path.startsWith(start)
    )
      return { path: path.slice(start.length).replace(/^\./, ''), message };
  }
  return { path, message: `${name}: ${message}` };
}

/** Where the item stands in the text it was written to; '' for settings. */
function pathOf({ section, id }: ConfigEdit, texts: FileTexts): string | undefined {
  if (section === 'settings') return '';
  const { document } = readYaml(withoutByteOrderMark(texts[FILE_OF[section]] ?? ''));
  const items = childOf(document?.value, section);
  if (!Array.isArray(items)) return formatPath([section, id]);
  const index = items.findIndex(item => isMap(item) && item.id === id);
  return index === -1 ? undefined : formatPath([section, index]);
}
