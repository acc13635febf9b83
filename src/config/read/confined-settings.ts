import { TEXT_ENGINES } from '../../pipelines/engines/index.ts';
import { pipelineSchema } from '../../pipelines/settings.ts';
import { isMap, type PlainMap } from '../plain.ts';
import { formatPath, type ItemFinding } from '../problems.ts';
import { childOf, filePaths } from '../schema-walk.ts';
import { settingsSchema } from '../settings.ts';
import type { Path } from '../yaml/places.ts';

/** Settings of a workspace without what belongs to the operator's machine. */
export interface ConfinedSettings {
  /** The settings that count. */
  readonly value: unknown;
  /** Why a pipeline is not read, by its index. */
  readonly switchedOff: ReadonlyMap<number, string>;
  readonly refusals: readonly ItemFinding[];
}

/** Settings that say which pipeline it is and how it comes by its data: with one unknown, all of it is switched off. */
const IDENTITY: readonly PropertyKey[] = ['id', 'engine', 'push', 'group'];
/** Settings of reading that are nothing without one another. */
const READING = ['token', 'username', 'password', 'tls', 'files'];
/** Stands in for an address that is not there; it can lead nowhere (RFC 2606 section 2). */
const NOWHERE = 'http://switched-off.invalid/';
/** Stands in for rules that cannot be read. */
const NO_RULES = [{ match: '^$', id: 'id', kind: 'input', metric: 'in_events' }];

/** True for a finding that concerns one pipeline, and leaves all else as it is. */
const isAboutPipeline = ({ path: [section, index] }: ItemFinding): boolean =>
  section === 'pipelines' && typeof index === 'number';

/**
 * Takes files, and references that cannot be looked up (`unresolved`), out of the stored settings of a workspace, which
 * starts without them: pipelines that have one are switched off with the first reason, a setting of anything else counts
 * as left out. A change that brings one is refused.
 */
export function confineSettings(value: unknown, unresolved: readonly ItemFinding[]): ConfinedSettings {
  const others = unresolved.filter(found => !isAboutPipeline(found));
  const known = others.reduce((rest, { path }) => withoutSetting(rest, path), value);
  const pipelines = childOf(known, 'pipelines');
  const list: readonly unknown[] = Array.isArray(pipelines) ? pipelines : [];
  const findings = [
    ...unresolved.filter(isAboutPipeline),
    ...filePaths([settingsSchema], { pipelines: list }).map(path => ({ path, message: NO_FILES })),
  ];
  const switchedOff = new Map<number, string>();
  const taken = new Set(list.map(item => childOf(item, 'id')));
  const confined = list.map((item, index) => {
    const own = findings.filter(({ path }) => path[1] === index);
    const [first] = own;
    if (first === undefined) return item;
    const keys = keysOf(own);
    const rest = isMap(item) ? without(item, keys) : {};
    if (isIdentified(own) && rest.push === true && isReadable(rest, keys)) return rest;
    switchedOff.set(index, `${formatPath(first.path)}: ${first.message}`);
    const unread = { ...without(rest, READING), ...(rest.url === undefined && { url: NOWHERE }) };
    return isIdentified(own) && isReadable(unread, keys) ? unread : standIn(rest, index, taken);
  });
  return {
    value: isMap(known) && findings.length > 0 ? { ...known, pipelines: confined } : known,
    switchedOff,
    refusals: [
      ...others.map(({ path, message }) => ({ path, message: `${message}; ${LEFT_OUT}` })),
      ...findings.map(({ path, message }) => ({
        path,
        message: `${message}; ${switchedOff.has(Number(path[1])) ? 'the pipeline is switched off' : LEFT_OUT}`,
      })),
    ],
  };
}

const NO_FILES = 'names a file, and there are no files of yours here';
const LEFT_OUT = 'it counts as left out';

const keysOf = (findings: readonly ItemFinding[]): readonly PropertyKey[] =>
  findings.flatMap(({ path }: { readonly path: Path }) => path[2] ?? []);

const without = (item: PlainMap, keys: readonly PropertyKey[]): PlainMap =>
  Object.fromEntries(Object.entries(item).filter(([key]) => !keys.includes(key)));

/** The settings without the one at the path, or the section where that is one text. */
function withoutSetting(value: unknown, [section = '', key]: Path): unknown {
  if (!isMap(value)) return {};
  const inside = childOf(value, section);
  if (key === undefined || !isMap(inside)) return without(value, [section]);
  return { ...value, [section]: without(inside, [key]) };
}

const isIdentified = (findings: readonly ItemFinding[]): boolean =>
  findings.every(({ path: [, , key] }) => key !== undefined && !IDENTITY.includes(key));

/** True unless the item lacks what these keys said: whatever else is wrong with it is its author's to mend. */
function isReadable(item: PlainMap, keys: readonly PropertyKey[]): boolean {
  const issues = pipelineSchema.safeParse(item).error?.issues ?? [];
  return issues.length === 0 || issues.some(({ path: [key] }) => key === undefined || !keys.includes(key));
}

/** A pipeline that can be shown, and is not read: of its own settings it has what says which it is. */
function standIn(item: PlainMap, index: number, taken: Set<unknown>): PlainMap {
  const { id = unusedId(index, taken), engine, group } = item;
  const bare = { id, ...(group !== undefined && { group }), url: NOWHERE };
  const forms: PlainMap[] = [
    { ...bare, engine },
    { ...bare, engine, rules: NO_RULES },
    { ...bare, engine: TEXT_ENGINES[0] },
  ];
  return forms.find(form => pipelineSchema.safeParse(form).success) ?? { ...item, id };
}

function unusedId(index: number, taken: Set<unknown>): string {
  let id = `switched-off-${index + 1}`;
  while (taken.has(id)) id += '-';
  taken.add(id);
  return id;
}
