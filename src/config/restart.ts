import type { Problem } from '../lib/errors.ts';
import type { Origin } from './issues.ts';
import { type ConfigProblem, formatPath } from './problems.ts';
import { valueAt } from './schema-walk.ts';
import type { Settings } from './settings.ts';

/** What is taken up when the process starts and never after. */
const AT_START = [
  ['instance', 'nodeUrl'],
  ['api', 'host'],
  ['api', 'port'],
  ['storage', 'url'],
  ['storage', 'keyRing'],
  ['delivery', 'privateAddresses'],
  ['delivery', 'allowedAddresses'],
];

/** Settings that wait for a restart. */
export interface Restarts {
  /** For the status: by their places in the files. */
  readonly warnings: readonly ConfigProblem[];
  /** For who changes settings: by their paths. */
  readonly notes: readonly Problem[];
}

/** Settings that differ from those the process started with. */
export function restartsOf(now: Settings, atStart: Settings, origin: Origin): Restarts {
  const found = AT_START.flatMap(path => {
    const before = JSON.stringify(valueAt(atStart, path));
    if (JSON.stringify(valueAt(now, path)) === before) return [];
    return [{ path, message: `takes effect after a restart; until then it is ${before ?? 'not set'}` }];
  });
  return {
    warnings: found.map(({ path, message }) => ({ ...origin.place(path), message })),
    notes: found.map(({ path, message }) => ({ path: formatPath(path), message })),
  };
}
