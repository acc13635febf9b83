import { AppError } from '../lib/errors.ts';
import type { RawItems } from './declared.ts';
import { formatPath } from './problems.ts';
import type { Path } from './yaml-places.ts';

/** Places one message names. */
const NAMED = 10;

/** Where the configuration refers to a stored secret: `target 'ops_hook' (token)`, `headgate.yml (pipelines[0].token)`. */
function referencesTo({ targets, settings }: RawItems, name: string): string[] {
  const reference = `\${secret:${name}}`;
  return [
    ...pathsOf(settings, reference).map(path => `headgate.yml (${formatPath(path)})`),
    ...[...targets].flatMap(([id, target]) =>
      pathsOf(target, reference).map(path => `target '${id}' (${formatPath(path)})`),
    ),
  ];
}

/** Throws `conflict`, naming where, while the configuration refers to the secret. */
export function assertUnused(raw: RawItems, name: string): void {
  const places = referencesTo(raw, name);
  if (places.length === 0) return;
  const more = places.length > NAMED ? ` and ${places.length - NAMED} more` : '';
  const named = places.slice(0, NAMED).join(', ');
  throw new AppError('conflict', `secret '${name}' is used by ${named}${more}; change that first`);
}

function pathsOf(value: unknown, text: string, path: Path = []): Path[] {
  if (value === text) return [path];
  if (typeof value !== 'object' || value === null) return [];
  const entries = Array.isArray(value) ? [...value.entries()] : Object.entries(value);
  return entries.flatMap(([step, entry]) => pathsOf(entry, text, [...path, step]));
}
