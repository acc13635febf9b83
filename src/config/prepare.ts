import { basename } from 'node:path';
import { createAddressGuard } from '../lib/address-guard.ts';
import { AppError, type Problem } from '../lib/errors.ts';
import type { Edit, Section } from './change.ts';
import { applyEdit } from './edit.ts';
import { forbiddenAddresses, forbiddenSettings } from './literal-addresses.ts';
import {
  type Configuration,
  FILES,
  type FileName,
  INPUTS_FILE,
  type LoadResult,
  NOTIFICATIONS_FILE,
  OUTPUTS_FILE,
  SETTINGS_FILE,
  type Texts,
} from './load.ts';
import { isMap } from './plain.ts';
import { type ConfigProblem, formatPath } from './problems.ts';
import { childOf } from './schema-walk.ts';
import { withoutMark } from './text.ts';
import { readYaml } from './yaml.ts';

const FILE_OF: Readonly<Record<Section, FileName>> = {
  settings: SETTINGS_FILE,
  targets: NOTIFICATIONS_FILE,
  notifications: NOTIFICATIONS_FILE,
  inputs: INPUTS_FILE,
  outputs: OUTPUTS_FILE,
};

/** A change as data. */
export interface WorkChange {
  /** The files as they are in force. */
  readonly now: Texts;
  readonly edits: readonly Edit[];
  /** Files that shall read otherwise as a whole. */
  readonly texts: Texts;
}

/** The files that a change makes read otherwise. Throws `conflict` where only a person can edit. */
export function changedTexts({ now, edits, texts }: WorkChange): Texts {
  const asked: Partial<Record<FileName, string>> = { ...texts };
  for (const edit of edits) {
    const name = FILE_OF[edit.section];
    asked[name] = applyEdit(asked[name] ?? now[name] ?? '', edit);
  }
  const changed: Partial<Record<FileName, string>> = {};
  for (const name of FILES) {
    const text = asked[name];
    if (text !== undefined && text !== (now[name] ?? '')) changed[name] = text;
  }
  return changed;
}

/** Throws `invalid-request` for a change that comes to errors: those within an item by their paths in it. */
export function refuseUnsound(loaded: LoadResult, edits: readonly Edit[], changed: Texts): void {
  const problems = loaded.ok
    ? addressProblems(loaded.configuration, edits)
    : loaded.problems.map(problem => asSent(problem, edits, changed));
  if (loaded.ok && problems.length === 0) return;
  const [first] = problems;
  const place = first === undefined || first.path === '' ? '' : `${first.path}: `;
  throw new AppError('invalid-request', `${place}${first?.message ?? 'The change is not valid'}`, {
    problems,
  });
}
/** What only warns in a file is refused from whoever can be told at once. */
function addressProblems({ settings, targets, raw }: Configuration, edits: readonly Edit[]): Problem[] {
  const guard = createAddressGuard(settings.delivery);
  const found = edits.flatMap(({ section, id, value }) => {
    if (section === 'settings') return forbiddenSettings(settings, guard);
    const target = targets.find(one => one.settings.id === id);
    if (section !== 'targets' || value === undefined || target === undefined) return [];
    return forbiddenAddresses(target.settings, raw.targets.get(id) ?? {}, guard);
  });
  return found.map(({ path, message }) => ({ path: formatPath(path), message }));
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
