import { basename } from 'node:path';
import { createAddressGuard } from '../lib/address-guard.ts';
import type { Clock } from '../lib/clock.ts';
import { AppError, type Problem } from '../lib/errors.ts';
import type { Change, Edit, NewSecret, Section } from './change.ts';
import { applyEdit } from './edit.ts';
import { forbiddenAddresses } from './literal-addresses.ts';
import {
  type Configuration,
  type FileName,
  INPUTS_FILE,
  type LoadResult,
  loadConfiguration,
  NOTIFICATIONS_FILE,
  OUTPUTS_FILE,
  SETTINGS_FILE,
  type Sources,
  type Texts,
} from './load.ts';
import { isMap } from './plain.ts';
import { type ConfigProblem, formatPath } from './problems.ts';
import { childOf } from './schema-walk.ts';
import { withoutMark } from './text.ts';
import { readYaml } from './yaml.ts';

export type Loaded = Extract<LoadResult, { ok: true }>;

/** A change that was found good and waits to be written. */
export interface Prepared {
  /** The files that read otherwise than now. */
  readonly texts: Texts;
  readonly secrets: readonly NewSecret[];
  readonly loaded: Loaded;
}

export const FILE_OF: Readonly<Record<Section, FileName>> = {
  settings: SETTINGS_FILE,
  targets: NOTIFICATIONS_FILE,
  notifications: NOTIFICATIONS_FILE,
  inputs: INPUTS_FILE,
  outputs: OUTPUTS_FILE,
};

/**
 * Works a change out against what is in force and checks the whole of it; writes nothing. Throws what the change's own
 * conditions throw, `conflict` where only a person can edit, `invalid-request` when the result has errors: those within
 * an item by their paths in it.
 */
export function prepare(change: Change, now: Loaded, sources: Sources, clock: Pick<Clock, 'now'>): Prepared {
  const edits = 'edits' in change ? editsOf(change.edits, now.configuration) : [];
  const asked = 'texts' in change ? change.texts(now.configuration) : edited(now.texts, edits);
  const texts = Object.fromEntries(
    Object.entries(asked).filter(([name, text]) => text !== (childOf(now.texts, name) ?? '')),
  );
  const secrets = edits.flatMap(edit => edit.secrets ?? []);
  const overlay = new Map(secrets.map(({ name, value }) => [name, value]));
  const secretOf = (name: string): string | undefined => overlay.get(name) ?? sources.secretOf?.(name);
  const loaded = loadConfiguration({ ...sources, secretOf, texts: { ...now.texts, ...texts } }, clock);
  const problems = loaded.ok
    ? addressProblems(loaded.configuration, edits)
    : loaded.problems.map(problem => asSent(problem, edits, texts));
  if (loaded.ok && problems.length === 0) return { texts, secrets, loaded };
  throw invalid(problems);
}

const editsOf = (
  edits: readonly Edit[] | ((now: Configuration) => readonly Edit[]),
  now: Configuration,
): readonly Edit[] => (typeof edits === 'function' ? edits(now) : edits);

function edited(texts: Texts, edits: readonly Edit[]): Texts {
  const result: Partial<Record<FileName, string>> = {};
  for (const edit of edits) {
    const name = FILE_OF[edit.section];
    result[name] = applyEdit(result[name] ?? texts[name] ?? '', edit);
  }
  return result;
}

/** What only warns in a file is refused from whoever can be told at once. */
function addressProblems({ settings, targets, raw }: Configuration, edits: readonly Edit[]): Problem[] {
  const guard = createAddressGuard(settings.delivery);
  return edits.flatMap(({ section, id, value }) => {
    const target = targets.find(one => one.settings.id === id);
    if (section !== 'targets' || value === undefined || target === undefined) return [];
    return forbiddenAddresses(target.settings, raw.targets.get(id) ?? {}, guard).map(({ path, message }) => ({
      path: formatPath(path),
      message,
    }));
  });
}

/** A problem of an item that was sent, by its path in the item; another by its file and its path there. */
function asSent({ file, path, message }: ConfigProblem, edits: readonly Edit[], texts: Texts): Problem {
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
function pathOf({ section, id }: Edit, texts: Texts): string | undefined {
  if (section === 'settings') return '';
  const { document } = readYaml(withoutMark(texts[FILE_OF[section]] ?? ''));
  const items = childOf(document?.value, section);
  if (!Array.isArray(items)) return formatPath([section, id]);
  const index = items.findIndex(item => isMap(item) && item.id === id);
  return index === -1 ? undefined : formatPath([section, index]);
}

function invalid(problems: readonly Problem[]): AppError {
  const [first] = problems;
  const message =
    first === undefined
      ? 'The change is not valid'
      : `${first.path === '' ? '' : `${first.path}: `}${first.message}`;
  return new AppError('invalid-request', message, { problems });
}
