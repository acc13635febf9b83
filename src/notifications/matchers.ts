import * as z from 'zod';
import type { HeadgateEvent } from '../events/event.ts';
import { compilePattern, type NamePattern, patternFault } from '../pipelines/metric-pattern.ts';

/** The operators of Alertmanager's matchers; regular expressions are those of RE2 and must fit the whole value. */
const OPERATORS = ['=', '!=', '=~', '!~'] as const;
type Operator = (typeof OPERATORS)[number];

const isPattern = (op: Operator): boolean => op === '=~' || op === '!~';

const FIELD = /^[a-zA-Z_][a-zA-Z0-9_.-]{0,127}$/;
const NO_FIELD = "must be the name of an event's field, such as input, cribl_notification or severity";

/** Name of a field that matchers compare; those of Headgate itself never leave, so nobody can match them. */
export const matchedField = z
  .string()
  .regex(FIELD, NO_FIELD)
  .refine(name => !name.startsWith('__'), { error: NO_FIELD });

export const matcherSchema = z
  .strictObject({
    name: matchedField.describe(
      'A field of the event; `pipeline` and `group` are known of every event of a component.',
    ),
    op: z
      .enum(OPERATORS)
      .default('=')
      .describe('`=` and `!=` compare; `=~` and `!~` match a regular expression (RE2) with the whole value.'),
    value: z.string().max(1024).describe('A field that the event lacks has the value "".'),
  })
  .superRefine(({ op, value }, context) => {
    const fault = isPattern(op) ? patternFault(value) : undefined;
    if (fault !== undefined) context.addIssue({ code: 'custom', path: ['value'], message: fault });
  });

export type Matcher = z.output<typeof matcherSchema>;

/** All must fit. */
export const matchersSchema = z.array(matcherSchema).min(1).max(20);

/** At least one must ask for something, as a silence that fits every event is an accident. */
export const askingMatchers = matchersSchema.refine(matchers => matchers.some(asksForSomething), {
  error: 'at least one matcher must not fit an empty value: as it is, every event would be silenced',
});

/** One that is refused for its expression is not asked. */
const asksForSomething = (matcher: Matcher): boolean =>
  (isPattern(matcher.op) && patternFault(matcher.value) !== undefined) || !compileMatcher(matcher)('');

type Test = (value: string) => boolean;

/** An expression is compiled when a value first holds the text that it needs. Throws then for one that is refused. */
function compileMatcher({ op, value }: Matcher): Test {
  if (op === '=') return text => text === value;
  if (op === '!=') return text => text !== value;
  const literal = requiredLiteral(value);
  let pattern: NamePattern | undefined;
  const fits: Test = text => {
    if (!text.includes(literal)) return false;
    pattern ??= compilePattern(`^(?:${value})$`);
    return pattern.test(text);
  };
  return op === '=~' ? fits : text => !fits(text);
}

/** Parts of an expression: an escape, a class, a quantifier, or any character. */
const PART = /\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|\{[^}]*\}|[\s\S]/gu;

/**
 * The longest text that whatever fits the expression must contain, '' where none is easy to find: to look for it costs a
 * tenth of the automaton. What stands in groups is left out.
 */
export function requiredLiteral(expression: string): string {
  let [longest, run, depth] = ['', '', 0];
  const end = (): void => {
    if (run.length > longest.length) longest = run;
    run = '';
  };
  for (const [part] of expression.matchAll(PART)) {
    if (part === '|' && depth === 0) return '';
    if (part === '(') depth++;
    else if (part === ')') depth--;
    const isText = part.length === 1 ? !/[.^$|()*+?]/.test(part) : /^\\[^\p{L}\p{N}]$/u.test(part);
    if (depth > 0 || part === ')') end();
    else if (isText) run += part.at(-1);
    else {
      // What may be repeated may be missing.
      if (/^[*?{]/.test(part)) run = run.slice(0, -1);
      end();
    }
  }
  end();
  return longest;
}

/** Gives the value of a field of one event, as `fieldOf` does. */
export type FieldValue = (name: string) => string;

/** True for an event that all matchers fit. */
export function compileMatchers(matchers: readonly Matcher[]): (value: FieldValue) => boolean {
  const tests = matchers.map(matcher => ({ name: matcher.name, test: compileMatcher(matcher) }));
  return value => tests.every(({ name, test }) => test(value(name)));
}

/** Looks each field up once. */
export function fieldsOf(event: HeadgateEvent): FieldValue {
  const values = new Map<string, string>();
  return name => {
    const known = values.get(name);
    if (known !== undefined) return known;
    const value = fieldOf(event, name);
    values.set(name, value);
    return value;
  };
}

/** The value of a field as text: what is no text as JSON, what is not there as ''. */
export function fieldOf(event: HeadgateEvent, name: string): string {
  const value = Object.hasOwn(event, name) ? event[name] : ALWAYS_KNOWN.get(name)?.(event);
  if (typeof value === 'string') return value;
  return value === undefined || value === null ? '' : (JSON.stringify(value) ?? '');
}

/** What every event of a component has, though under names that do not leave. */
const ALWAYS_KNOWN: ReadonlyMap<string, (event: HeadgateEvent) => unknown> = new Map([
  ['pipeline', event => event.__pipeline],
  ['group', event => event.__worker_group],
]);
