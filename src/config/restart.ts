import type { Origin } from './issues.ts';
import type { ConfigProblem } from './problems.ts';
import { valueAt } from './schema-walk.ts';
import type { Settings } from './settings.ts';

/** What is taken up when the process starts and never after. */
const AT_START = [
  ['api', 'host'],
  ['api', 'port'],
  ['storage', 'url'],
  ['storage', 'keyRing'],
  ['delivery', 'privateAddresses'],
  ['delivery', 'allowedAddresses'],
];

/** Settings that differ from those the process started with and wait for a restart. */
export function restartWarnings(now: Settings, atStart: Settings, origin: Origin): ConfigProblem[] {
  return AT_START.flatMap(path => {
    const before = JSON.stringify(valueAt(atStart, path));
    if (JSON.stringify(valueAt(now, path)) === before) return [];
    return [{ ...origin.place(path), message: `takes effect after a restart; until then it is ${before}` }];
  });
}
