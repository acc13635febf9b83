import { type Actor, grantsOf } from '../auth/actor.ts';
import type { Permission } from '../auth/permissions.ts';
import type { ConfigSection } from '../config/change.ts';
import {
  FILES,
  type FileName,
  type FileTexts,
  INPUTS_FILE,
  NOTIFICATIONS_FILE,
  OUTPUTS_FILE,
  SETTINGS_FILE,
} from '../config/configuration.ts';
import type { PlainMap } from '../config/plain.ts';
import type { Schema } from '../config/schema-walk.ts';
import { hideAddresses } from '../config/secrets/shown.ts';
import { FILE_OF } from '../config/write/edit.ts';
import type { Call } from './context.ts';

const CONFIG_SECTIONS = ['targets', 'notifications', 'inhibitions', 'inputs', 'outputs', 'settings'] as const;

/** The permission to change what has addresses in a file; without it the path and the query of one may be a key to it. */
const CHANGES: Readonly<Record<FileName, Permission>> = {
  [SETTINGS_FILE]: 'update:settings',
  [NOTIFICATIONS_FILE]: 'update:targets',
  [INPUTS_FILE]: 'update:inputs',
  [OUTPUTS_FILE]: 'update:outputs',
};

const filesHiddenFrom = (actor: Actor): FileName[] => {
  const granted = grantsOf(actor);
  return FILES.filter(name => !granted.has(CHANGES[name]));
};

/** Sections of whose addresses this caller sees the host alone. */
export const sectionsHiddenFrom = (actor: Actor): ConfigSection[] => {
  const files = filesHiddenFrom(actor);
  return CONFIG_SECTIONS.filter(section => files.includes(FILE_OF[section]));
};

/** Shown content of an item of a file as this caller sees it: the one rule for every read of one. */
export const shownTo = (actor: Actor, file: FileName, schema: Schema, shown: PlainMap): PlainMap =>
  grantsOf(actor).has(CHANGES[file]) ? shown : hideAddresses(schema, shown).content;

/** Texts of configurations as this caller sees them, by the same rule. Rejects as `context.hideAddresses` does. */
export async function textsFor(
  { actor, context }: Pick<Call, 'actor' | 'context'>,
  texts: readonly FileTexts[],
): Promise<readonly FileTexts[]> {
  const files = filesHiddenFrom(actor);
  return files.length === 0 ? texts : context.hideAddresses({ texts, files });
}
