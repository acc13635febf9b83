import { isMap } from '../plain.ts';
import { formatPath, type ItemFinding } from '../problems.ts';
import { childOf, filePaths } from '../schema-walk.ts';
import { settingsSchema } from '../settings.ts';
import type { Path } from '../yaml/places.ts';

/** Pipelines of a workspace without the settings that belong to the operator's machine. */
export interface ConfinedPipelines {
  /** The settings, where the pipelines can be read by their schema. */
  readonly value: unknown;
  /** Why a pipeline is not read, by its index. */
  readonly switchedOff: ReadonlyMap<number, string>;
  readonly refusals: readonly ItemFinding[];
}

/** What tells apart who and what a pipeline is: without it there is none to switch off. */
const IDENTITY: readonly PropertyKey[] = ['id', 'engine', 'push', 'group'];
/** Settings of reading that are nothing without one another. */
const READING = ['token', 'username', 'password', 'tls', 'files'];
/** Stands in for an address that is not there; it can lead nowhere (RFC 2606 section 2). */
const NOWHERE = 'http://switched-off.invalid/';

/** True for a finding that switches one pipeline off, and leaves all else as it is. */
export const isAboutPipeline = ({ path: [section, index, key] }: Pick<ItemFinding, 'path'>): boolean =>
  section === 'pipelines' && typeof index === 'number' && key !== undefined && !IDENTITY.includes(key);

/**
 * Takes files, and references that cannot be looked up (`unresolved`), out of stored pipelines: those are switched off
 * with the first reason, and the workspace starts without them. A change that brings one is refused.
 */
export function confinePipelines(value: unknown, unresolved: readonly ItemFinding[]): ConfinedPipelines {
  const pipelines = childOf(value, 'pipelines');
  const list: readonly unknown[] = Array.isArray(pipelines) ? pipelines : [];
  const findings = [
    ...unresolved,
    ...filePaths([settingsSchema], { pipelines: list }).map(path => ({ path, message: NO_FILES })),
  ].filter(isAboutPipeline);
  const switchedOff = new Map<number, string>();
  const confined = list.map((item, index) => {
    const own = findings.filter(({ path }) => path[1] === index);
    const [first] = own;
    if (first === undefined || !isMap(item)) return item;
    const isPushed = item.push === true;
    if (!isPushed) switchedOff.set(index, `${formatPath(first.path)}: ${first.message}`);
    return isPushed ? without(item, keysOf(own)) : unread(item, keysOf(own));
  });
  return {
    value: isMap(value) && findings.length > 0 ? { ...value, pipelines: confined } : value,
    switchedOff,
    refusals: findings.map(({ path, message }) => ({
      path,
      message: `${message}; ${switchedOff.has(Number(path[1])) ? 'the pipeline is switched off' : 'it counts as left out'}`,
    })),
  };
}

const NO_FILES = 'names a file, and there are no files of yours here';

const keysOf = (findings: readonly ItemFinding[]): readonly PropertyKey[] =>
  findings.flatMap(({ path }: { readonly path: Path }) => path[2] ?? []);

const without = (item: object, keys: readonly PropertyKey[]): object =>
  Object.fromEntries(Object.entries(item).filter(([key]) => !keys.includes(key)));

function unread(item: object, keys: readonly PropertyKey[]): object {
  const kept = without(item, [...keys, ...READING]);
  return { ...kept, ...(childOf(kept, 'url') === undefined && { url: NOWHERE }) };
}
