import { findTargetType } from '../../targets/index.ts';
import type { Target } from '../../targets/target.ts';
import {
  type Configuration,
  type FileName,
  INPUTS_FILE,
  NOTIFICATIONS_FILE,
  OUTPUTS_FILE,
  SETTINGS_FILE,
} from '../configuration.ts';
import { declaredSchema } from '../declared-schema.ts';
import type { PlainMap } from '../plain.ts';
import { childOf, type Schema } from '../schema-walk.ts';
import { settingsSchema } from '../settings.ts';
import { type ConfigDocument, type ConfigItem, readItems } from '../yaml/document.ts';
import type { Path } from '../yaml/places.ts';
import { shownDeclared, shownSettings, shownTarget } from './shown.ts';

type ItemFile = Exclude<FileName, typeof SETTINGS_FILE>;

const OWNERS = {
  targets: { owner: 'target', schemaOf: targetSchemaOf },
  inputs: { owner: 'input', schemaOf: () => declaredSchema },
  outputs: { owner: 'output', schemaOf: () => declaredSchema },
} as const;

/** The section of a file whose items hold secrets, and what says which. */
export const SECTIONS = {
  [NOTIFICATIONS_FILE]: { section: 'targets', ...OWNERS.targets },
  [INPUTS_FILE]: { section: 'inputs', ...OWNERS.inputs },
  [OUTPUTS_FILE]: { section: 'outputs', ...OWNERS.outputs },
} as const satisfies Record<ItemFile, object>;

function targetSchemaOf(target: unknown): Schema | undefined {
  const type = childOf(target, 'type');
  return typeof type === 'string' ? findTargetType(type)?.schema : undefined;
}

/** An item of a file that came over the API, and what is known of it. */
export interface WrittenItem {
  readonly path: Path;
  readonly schema: Schema;
  readonly owner: readonly string[];
  readonly item: PlainMap;
  readonly inFile: PlainMap | undefined;
  readonly effective: PlainMap | undefined;
}

/** What a file holds that may bear secrets: its items, or the whole of headgate.yml. */
export function itemsIn(name: FileName, document: ConfigDocument, now: Configuration): WrittenItem[] {
  if (name === SETTINGS_FILE) {
    const held = { inFile: now.raw.settings, effective: shownSettings(now) };
    const item: PlainMap = { ...document.value };
    return [{ path: [], schema: settingsSchema, owner: ['settings'], item, ...held }];
  }
  const toWritten = writtenItems(SECTIONS[name].section, now);
  return readItems(document, SECTIONS[name].section).items.flatMap(item => toWritten(item) ?? []);
}

/** What is known of items of a section that came over the API; undefined for one of an unknown type. */
export function writtenItems(
  section: 'targets' | 'inputs' | 'outputs',
  now: Configuration,
): (item: ConfigItem) => WrittenItem | undefined {
  const { owner, schemaOf } = OWNERS[section];
  const targets = new Map(now.targets.map(target => [target.settings.id, target]));
  return ({ path, id = '', value }) => {
    const item: PlainMap = { ...value };
    const schema = schemaOf(item);
    if (schema === undefined) return undefined;
    const present = presentItem(now, section, id, targets.get(id));
    // An item of another type is another one.
    const held = present?.inFile.type === item.type ? present : undefined;
    return { path, schema, owner: [owner, id], item, inFile: held?.inFile, effective: held?.effective };
  };
}

function presentItem(
  now: Configuration,
  section: 'targets' | 'inputs' | 'outputs',
  id: string,
  target: Target | undefined,
) {
  const inFile = now.raw[section].get(id);
  if (inFile === undefined) return undefined;
  if (section !== 'targets') return { inFile, effective: shownDeclared({ value: inFile }) };
  return target && { inFile, effective: shownTarget(now, target) };
}
