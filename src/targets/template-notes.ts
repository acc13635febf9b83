import { EVENT_FIELDS } from '../events/event-fields.ts';
import type { Rendered } from '../expressions/template.ts';

/** Told what came of the template of a setting. */
export type Note = (setting: string, rendered: Omit<Rendered, 'text'>) => void;

/** By the settings of a target: variables that were told of. */
const told = new WeakMap<object, Set<string>>();
const MOST_TOLD = 100;
const MOST_SHOWN = 100;

/**
 * Tells `warn` of places that failed, and of variables that no event has: each once for a target, a hundred at most.
 * `settings` are the target's.
 */
export const notesOf =
  (settings: object, warn: (reason: string) => void): Note =>
  (setting, { failure, missing }) => {
    if (failure !== undefined) warn(`${setting}: ${failure}; nothing stands there`);
    const seen = told.get(settings) ?? new Set();
    told.set(settings, seen);
    for (const name of missing) {
      if (EVENT_FIELDS.includes(name) || seen.has(name) || seen.size >= MOST_TOLD) continue;
      seen.add(name);
      warn(`${setting}: unknown variable '${name.slice(0, MOST_SHOWN)}'; it is empty text`);
    }
  };
