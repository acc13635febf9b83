import { basename } from 'node:path';
import { AppError, type ErrorCode, type Problem } from '../lib/errors.ts';
import type {
  CheckedTexts,
  ConfigEdit,
  ConfigurationPlan,
  NewSecret,
  SentTexts,
  WantedConfiguration,
} from './change.ts';
import { type Configuration, FILES, type FileName, type FileTexts, SETTINGS_FILE } from './configuration.ts';
import { withoutByteOrderMark } from './file-text.ts';
import { assemble } from './load.ts';
import { isMap } from './plain.ts';
import { isIdle, joinedPath, planOf, type WantedEdit, wantedEdits } from './plan.ts';
import { type ConfigProblem, type Finding, firstProblems, formatPath } from './problems.ts';
import {
  type ConfigurationValues,
  type ReadConfiguration,
  readConfiguration,
  type Sources,
} from './read/configuration.ts';
import { childOf } from './schema-walk.ts';
import { maskedTexts } from './secrets/mask.ts';
import { applySecretRulesToTexts } from './secrets/texts.ts';
import { type ChangeInput, changedTexts, FILE_OF } from './write/edit.ts';
import { readYaml } from './yaml/parse.ts';

/** A job of the config worker. Plain data goes in and out, so that it can run on another thread. */
export interface WorkerJob {
  readonly sources: Omit<Sources, 'secretOf'>;
  /** Stored secrets by name; undefined where there is no store. */
  readonly secrets: ReadonlyMap<string, string> | undefined;
  /** Undefined to load the files as they are. */
  readonly change: JobChange | undefined;
  /** Set when only errors and warnings are wanted: names of the files that somebody asks about. */
  readonly checked?: readonly FileName[];
}

/** A change of the texts that are active now. */
interface JobChange {
  readonly edits: readonly ConfigEdit[];
  readonly sent: SentTexts | undefined;
  /** What the configuration should be, in place of edits. */
  readonly wanted?: WantedConfiguration | undefined;
  readonly now: FileTexts;
}

/** A configuration that was read and found sound. */
export interface CheckedJob extends Omit<ReadSound, 'values' | 'refusals'> {
  /** Absent when they were made on another thread. */
  readonly values?: ConfigurationValues;
  /** The texts with their secrets masked. */
  readonly masked: FileTexts;
  /** The files that a change makes read otherwise. */
  readonly changed: FileTexts;
  /** Secrets that stood in texts that were sent in clear, to be stored. */
  readonly secrets: readonly NewSecret[];
  /** What a wanted configuration changes. */
  readonly plan?: ConfigurationPlan;
}

type ReadSound = Extract<ReadConfiguration, { readonly ok: true }>;
type UnsoundJob = Omit<Exclude<ReadConfiguration, ReadSound>, 'refusals'>;

export type WorkerResult =
  | { readonly kind: 'read'; readonly result: CheckedJob | UnsoundJob }
  /** A change that cannot be made. */
  | {
      readonly kind: 'refused';
      readonly code: ErrorCode;
      readonly message: string;
      readonly problems: readonly Problem[];
    };

/** Reads the files, or works a change out and reads what would come of it. */
export function performJob({ sources, secrets, change, checked }: WorkerJob): WorkerResult {
  const lookup: Sources = { ...sources, secretOf: secrets && (name => secrets.get(name)) };
  if (change === undefined) {
    if (checked === undefined) return { kind: 'read', result: checkedJob(readConfiguration(lookup), {}, []) };
    // An operator's file may name what its settings refuse; a text of a workspace is refused with it.
    const refusing = sources.restrictions === undefined ? [] : checked;
    return { kind: 'read', result: findingsOf(readConfiguration({ ...lookup, refusing })) };
  }
  try {
    if (change.wanted !== undefined)
      return { kind: 'read', result: plannedJob(change, change.wanted, lookup) };
    for (const { value } of change.edits) assertShort(value, []);
    const { texts, secrets: found } = ruledTexts(change, lookup);
    const changed = changedTexts({ ...change, texts });
    const secretOf = withSecrets(found, lookup.secretOf);
    const read = readConfiguration({ ...lookup, secretOf, texts: { ...change.now, ...changed } });
    refuseUnsound(read, { ...change, texts }, changed);
    return { kind: 'read', result: checkedJob(read, changed, found) };
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    const { code, message, problems = [] } = error;
    return { kind: 'refused', code, message, problems };
  }
}

/** The texts that were sent as the rules of secrets leave them, which compare them with what is active. */
function ruledTexts({ sent, now }: JobChange, sources: Sources): CheckedTexts {
  if (sent === undefined) return { texts: {}, secrets: [] };
  return applySecretRulesToTexts(sent.texts, activeConfiguration(now, sources), sent.mayRefer);
}

function activeConfiguration(now: FileTexts, sources: Sources): Configuration {
  const active = readConfiguration({ ...sources, texts: now });
  if (!active.ok) throw new AppError('invalid-request', 'The active configuration can no longer be read');
  return assemble(active, active.values, { now: () => 0 }).configuration;
}

/** Works out what makes the configuration what is wanted. Edits that would change nothing but the text are left out. */
function plannedJob(
  { now }: JobChange,
  wanted: WantedConfiguration,
  sources: Sources,
): CheckedJob | UnsoundJob {
  const active = activeConfiguration(now, sources);
  const edits = wantedEdits(wanted, active, name => sources.secretOf?.(name));
  for (const { section, id, value } of edits) assertShort(value, [section, id]);
  const [first, changes] = madeOf(edits, { wanted, active, now, sources });
  const idle = new Set(edits.filter((_, index) => isIdle(changes[index])));
  if (idle.size === 0) return first;
  const rest = edits.filter(edit => !idle.has(edit));
  const [result] = madeOf(rest, { wanted, active, now, sources });
  return result;
}

interface PlanContext {
  readonly wanted: WantedConfiguration;
  readonly active: Configuration;
  readonly now: FileTexts;
  readonly sources: Sources;
}

function madeOf(edits: readonly WantedEdit[], { wanted, active, now, sources }: PlanContext) {
  const secrets = edits.flatMap(edit => edit.secrets);
  const changed = changedTexts({ now, edits, texts: {} });
  const secretOf = withSecrets(secrets, sources.secretOf);
  const read = readConfiguration({ ...sources, secretOf, texts: { ...now, ...changed } });
  refuseUnsound(read, { now, edits, texts: {} }, changed);
  if (!read.ok) throw new Error('a change that was found sound has errors');
  const { configuration } = assemble(read, read.values, { now: () => 0 });
  const changes = planOf(edits, wanted, active, configuration);
  const result = { ...checkedJob(read, changed, secrets), plan: { changes } };
  return [result, changes] as const;
}

function withSecrets(found: readonly NewSecret[], secretOf: Sources['secretOf']): Sources['secretOf'] {
  const added = new Map(found.map(({ name, value }) => [name, value]));
  return secretOf && (name => added.get(name) ?? secretOf(name));
}

/** Characters of one text in an item: more than any setting is of use with, and than can be written into a file in time. */
const MAX_TEXT_CHARACTERS = 256 * 1024;

/** Throws `invalid-request` naming the first text that is too long to be written. */
function assertShort(value: unknown, path: readonly PropertyKey[]): void {
  if (typeof value === 'string' && value.length > MAX_TEXT_CHARACTERS) {
    const message = `has ${value.length} characters, and a text may have ${MAX_TEXT_CHARACTERS} at most; shorten it`;
    const problem = { path: formatPath(path), message };
    throw new AppError('invalid-request', `${problem.path}: ${message}`, { problems: [problem] });
  }
  if (Array.isArray(value)) for (const [index, one] of value.entries()) assertShort(one, [...path, index]);
  else if (isMap(value)) for (const [key, one] of Object.entries(value)) assertShort(one, [...path, key]);
}

/** The result without what cannot go to another thread. */
export function withoutValues(done: WorkerResult): WorkerResult {
  if (done.kind === 'refused' || !done.result.ok) return done;
  const { values: _, ...result } = done.result;
  return { kind: 'read', result };
}

const findingsOf = (read: ReadConfiguration): UnsoundJob => ({
  ok: false,
  problems: read.ok ? [] : read.problems,
  warnings: read.warnings,
  files: [],
  texts: {},
});

function checkedJob(
  { refusals: _, ...read }: ReadConfiguration,
  changed: FileTexts,
  secrets: readonly NewSecret[],
): CheckedJob | UnsoundJob {
  if (!read.ok) return read;
  const masked = maskedTexts(read.texts, read.data.raw);
  return { ...read, masked, changed, secrets };
}

/** Throws `invalid-request` for a change that comes to errors: those within an item by their paths in it. */
function refuseUnsound(read: ReadConfiguration, change: ChangeInput, changed: FileTexts): void {
  if (read.ok && read.refusals.length === 0) return;
  const places = placesOf(change.edits, { ...change.now, ...changed });
  const isSent = ({ place }: Finding): boolean => {
    const { file, path } = place();
    const name = fileNameOf(file);
    return (
      change.texts[name] !== undefined || places.some(sent => withinPlace(sent, name, path) !== undefined)
    );
  };
  // Only warnings in what is stored, they are errors in a change, as the answer reaches its author at once.
  const found = read.ok
    ? firstProblems('problems', [...read.refusals].filter(isSent), read.files)
    : read.problems;
  const problems = found.map(problem => asSent(problem, places));
  if (read.ok && problems.length === 0) return;
  const [first] = problems;
  const place = first === undefined || first.path === '' ? '' : `${first.path}: `;
  throw new AppError('invalid-request', `${place}${first?.message ?? 'The change is not valid'}`, {
    problems,
  });
}

/** Where an item that was sent stands. */
interface SentPlace {
  readonly file: FileName;
  /** Of the item; '' for settings. */
  readonly path: string;
  /** Where it was sent, for an item of many; and what it is called there. */
  readonly sent: { readonly place: string; readonly label: string } | undefined;
}

function placesOf(edits: readonly ConfigEdit[], texts: FileTexts): SentPlace[] {
  const read = new Map<FileName, unknown>();
  for (const { section } of edits) {
    const name = FILE_OF[section];
    if (!read.has(name)) read.set(name, readYaml(withoutByteOrderMark(texts[name] ?? '')).document?.value);
  }
  return edits.flatMap(edit => {
    const file = FILE_OF[edit.section];
    const path = pathOf(edit, read.get(file));
    const { place, section, id } = edit;
    const label = section === 'settings' ? '' : `${section}.${id}`;
    return path === undefined
      ? []
      : [{ file, path, sent: place === undefined ? undefined : { place, label } }];
  });
}

/** The path within an item that was sent; undefined for one that is not in it. */
function withinPlace(place: SentPlace, file: string, path: string): string | undefined {
  if (place.file !== file) return undefined;
  if (place.path === '') return path;
  const rest = path.slice(place.path.length);
  if (!path.startsWith(place.path) || (rest !== '' && !/^[.[]/.test(rest))) return undefined;
  return rest.replace(/^\./, '');
}

const fileNameOf = (file: string): FileName => FILES.find(name => name === basename(file)) ?? SETTINGS_FILE;

/** A problem of an item that was sent, by its path in the item; another by its file and its path there. */
function asSent({ file, path, message }: ConfigProblem, places: readonly SentPlace[]): Problem {
  const name = basename(file);
  for (const place of places) {
    const within = withinPlace(place, name, path);
    if (within === undefined) continue;
    if (place.sent === undefined) return { path: within, message };
    const { label, place: at } = place.sent;
    return { path: joinedPath(label, within), message: `${at}: ${message}` };
  }
  return { path, message: `${name}: ${message}` };
}

/** Where the item stands in the file it was written to; '' for settings. */
function pathOf({ section, id }: ConfigEdit, content: unknown): string | undefined {
  if (section === 'settings') return '';
  const items = childOf(content, section);
  if (!Array.isArray(items)) return formatPath([section, id]);
  const index = items.findIndex(item => isMap(item) && item.id === id);
  return index === -1 ? undefined : formatPath([section, index]);
}
