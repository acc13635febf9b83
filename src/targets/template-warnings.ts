import { WHOLE_EVENT_FIELDS } from '../events/system-fields.ts';
import type { RenderedTemplate } from '../expressions/template.ts';

/** Told what came of the template of a setting. */
export type TemplateReporter = (setting: string, rendered: Omit<RenderedTemplate, 'text'>) => void;

/** By the settings of a target or condition: failures and variables that were told of. */
const reported = new WeakMap<object, Set<string>>();
const MAX_WARNINGS = 100;
const MAX_NAME_LENGTH = 100;

/**
 * Tells `warn` of places that failed, and of variables that no event has: each once for `settings`, a hundred at most.
 * `settings` are the target's or the condition's.
 */
export const createTemplateReporter =
  (settings: object, warn: (reason: string) => void): TemplateReporter =>
  (setting, { failure, missing }) => {
    const warned = reported.get(settings) ?? new Set();
    reported.set(settings, warned);
    const warnOnce = (what: string, reason: string): void => {
      if (warned.has(what) || warned.size >= MAX_WARNINGS) return;
      warned.add(what);
      warn(`${setting}: ${reason}`);
    };
    if (failure !== undefined) warnOnce(`${setting}: ${failure}`, `${failure}; nothing stands there`);
    for (const name of missing)
      if (!WHOLE_EVENT_FIELDS.includes(name))
        warnOnce(name, `unknown variable '${name.slice(0, MAX_NAME_LENGTH)}'; it is empty text`);
  };
