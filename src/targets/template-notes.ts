import { WHOLE_EVENT_FIELDS } from '../events/event-fields.ts';
import type { Rendered } from '../expressions/template.ts';

/** Told what came of the template of a setting. */
export type Note = (setting: string, rendered: Omit<Rendered, 'text'>) => void;

/** By the settings of a target or condition: failures and variables that were told of. */
const told = new WeakMap<object, Set<string>>();
const MOST_TOLD = 100;
const MOST_SHOWN = 100;

/**
 * Tells `warn` of places that failed, and of variables that no event has: each once for `settings`, a hundred at most.
 * `settings` are the target's or the condition's.
 */
export const notesOf =
  (settings: object, warn: (reason: string) => void): Note =>
  (setting, { failure, missing }) => {
    const seen = told.get(settings) ?? new Set();
    told.set(settings, seen);
    const once = (what: string, reason: string): void => {
      if (seen.has(what) || seen.size >= MOST_TOLD) return;
      seen.add(what);
      warn(`${setting}: ${reason}`);
    };
    if (failure !== undefined) once(`${setting}: ${failure}`, `${failure}; nothing stands there`);
    for (const name of missing)
      if (!WHOLE_EVENT_FIELDS.includes(name))
        once(name, `unknown variable '${name.slice(0, MOST_SHOWN)}'; it is empty text`);
  };
