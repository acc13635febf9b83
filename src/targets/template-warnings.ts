import type { RenderedTemplate } from '../expressions/template.ts';

/** Reports failures and unknown variables in the template of a setting. */
export type TemplateReporter = (setting: string, rendered: Omit<RenderedTemplate, 'text'>) => void;

/** Failures and variables that were reported, by the settings of a target or condition. */
const reported = new WeakMap<object, Set<string>>();
const MAX_WARNINGS = 100;
const MAX_NAME_LENGTH = 100;
const NO_FIELDS: ReadonlySet<string> = new Set();

/**
 * Calls `warn` for places that failed, and for variables that are missing and not among `knownFields`, those of events:
 * each once for `settings`, a hundred at most. `settings` are the target's or the condition's.
 */
export const createTemplateReporter =
  (
    settings: object,
    warn: (reason: string) => void,
    knownFields: ReadonlySet<string> = NO_FIELDS,
  ): TemplateReporter =>
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
      if (!knownFields.has(name))
        warnOnce(name, `unknown variable '${name.slice(0, MAX_NAME_LENGTH)}'; it is empty text`);
  };
