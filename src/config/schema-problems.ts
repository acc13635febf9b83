import type * as z from 'zod';
import { aliasesOf } from '../lib/aliases.ts';
import { isInexactNumber } from '../lib/exact-numbers.ts';
import { MASK } from '../lib/secret.ts';
import type { Override } from './overrides.ts';
import {
  didYouMean,
  FindingList,
  finding,
  formatPath,
  type ProblemPlace,
  quote,
  quoteAddress,
} from './problems.ts';
import {
  asWritten,
  fixedValues,
  isDestination,
  isSecretAt,
  mapsFor,
  type Schema,
  schemasAt,
  valueAt,
} from './schema-walk.ts';
import type { Path, TextPositions } from './yaml/places.ts';

type Issue = z.core.$ZodIssue;

/** Where a value came from, so that its problem can be shown there. */
export interface ValueOrigin {
  readonly place: (path: Path) => ProblemPlace;
  keyPlace(path: Path): ProblemPlace;
  /** `${env:NAME}` where the value at the path was fetched by it. */
  reference(path: Path): string | undefined;
}

export interface SchemaReading {
  readonly schema: Schema;
  readonly value: unknown;
  readonly origin: ValueOrigin;
}

/** The problems a schema found, in words of our own. */
export function problemsOf(error: z.core.$ZodError, reading: SchemaReading): FindingList {
  const found = new FindingList();
  for (const issue of error.issues) addProblems(found, issue, reading);
  return found;
}

function addProblems(found: FindingList, issue: Issue, reading: SchemaReading): void {
  if (issue.code === 'invalid_union' && issue.errors.length > 0) {
    for (const inner of nearestOption(issue.errors))
      addProblems(found, { ...inner, path: [...issue.path, ...inner.path] }, reading);
    return;
  }
  const { schema, value, origin } = reading;
  const written = (): Path => asWritten(schema, issue.path, value);
  if (issue.code === 'unrecognized_keys')
    for (const key of issue.keys)
      found.add(
        finding(
          () => origin.keyPlace([...written(), key]),
          () => unknownKey(key, written(), reading),
        ),
      );
  else
    found.add(
      finding(
        () => origin.place(written()),
        () => messageOf({ ...issue, path: [...written()] }, reading),
      ),
    );
}

/** The option that the value comes nearest to: the one with the fewest complaints. */
const nearestOption = (options: readonly (readonly Issue[])[]): readonly Issue[] =>
  options.reduce((best, option) => (option.length < best.length ? option : best));

function unknownKey(key: string, path: Path, { schema, value }: SchemaReading): string {
  const here = valueAt(value, path);
  const maps = schemasAt(schema, path, value).flatMap(candidate => mapsFor(candidate, here));
  const aliases = new Map(maps.flatMap(map => [...aliasesOf(map)]));
  const name = aliases.get(key);
  if (name !== undefined)
    return `${quote(key)} is another name of '${name}', which is given as well; keep one of them`;
  const known = new Set(maps.flatMap(map => Object.keys(map.shape)));
  return unknownKeyText(key, [...known], [...aliases.keys()]);
}

/** `others` are names that also count, but are not worth listing. */
export function unknownKeyText(
  key: string,
  known: readonly string[],
  others: readonly string[] = [],
): string {
  const list = known.length === 0 ? '' : ` Allowed: ${known.join(', ')}`;
  return `unknown key ${quote(key)}${didYouMean(key, [...known, ...others]) || '.'}${list}`;
}

function messageOf(issue: Issue, reading: SchemaReading): string {
  const value = valueAt(reading.value, issue.path);
  const own = ownMessage(issue);
  if (value === undefined) return missing(issue, own);
  const found = foundText(value, issue.path, reading);
  const near = nearValue(value, issue, reading);
  if (own !== undefined) return `${own}${/^must be [^;]*$/.test(own) ? ', not' : '; found'} ${found}${near}`;
  switch (issue.code) {
    case 'invalid_type':
      return wrongType(issue, value, found, reading);
    case 'invalid_value':
      return `must be ${oneOf(issue.values)}, not ${found}${near}`;
    case 'too_small':
      return tooSmall(issue, found);
    case 'too_big':
      return tooBig(issue, found);
    default:
      return `must be valid, not ${found}`;
  }
}

/** Messages of our own schemas begin in lower case, the schema library's own with a capital letter. */
const ownMessage = (issue: Issue): string | undefined =>
  /^[A-Z]/.test(issue.message) ? undefined : issue.message;

function missing(issue: Issue, own: string | undefined): string {
  if (issue.code === 'custom' && own !== undefined) return own;
  const text = `'${formatPath(issue.path.slice(-1))}' is required`;
  return own === undefined ? text : `${text}; it ${own}`;
}

/** The value as the file's writer knows it: by its reference, masked when it is a secret. */
function foundText(value: unknown, path: Path, { schema, value: whole, origin }: SchemaReading): string {
  const reference = origin.reference(path);
  if (reference !== undefined) return `the value of ${reference}`;
  if (typeof value !== 'object' && isSecretAt(schema, path, whole)) return `'${MASK}'`;
  const leads = typeof value === 'string' && schemasAt(schema, path, whole).some(isDestination);
  return leads ? quoteAddress(value) : quote(value);
}

const TYPES: Readonly<Record<string, string>> = {
  string: 'a text',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  array: 'a list',
  object: 'a map',
  record: 'a map',
};

function wrongType(
  issue: z.core.$ZodIssueInvalidType,
  value: unknown,
  found: string,
  reading: SchemaReading,
): string {
  if (value === null) return `must be ${TYPES[issue.expected] ?? issue.expected}, but nothing is given`;
  if (issue.expected !== 'string' || typeof value === 'object') {
    const which = isInexactNumber(value) ? ', which is out of range' : '';
    return `must be ${TYPES[issue.expected] ?? issue.expected}, not ${found}${which}`;
  }
  const asked = askedOf(String(value), issue.path, reading);
  return `${asked ?? 'must be a text'}, not the ${typeof value} ${found}${asked === undefined ? '; put it in quotes' : ''}`;
}

/** The schema's message for a text in place of a number: it distinguishes a missing unit from missing quotes. */
function askedOf(text: string, path: Path, { schema, value }: SchemaReading): string | undefined {
  for (const candidate of schemasAt(schema, path, value)) {
    const answer = candidate['~standard'].validate(text);
    const message = answer instanceof Promise ? undefined : answer.issues?.[0]?.message;
    if (message !== undefined && /^[a-z]/.test(message)) return message;
  }
  return undefined;
}

function oneOf(values: readonly unknown[]): string {
  const texts = values.map(value => (typeof value === 'string' ? value : String(value)));
  return texts.length === 1 ? `'${texts[0]}'` : `one of ${texts.join(', ')}`;
}

/** The allowed value that is most like the value; a secret is compared with nothing. */
function nearValue(value: unknown, { path }: Issue, { schema, value: whole, origin }: SchemaReading): string {
  if (typeof value !== 'string' || origin.reference(path) !== undefined) return '';
  const allowed = schemasAt(schema, path, whole).flatMap(fixedValues);
  // What is refused for another reason is nearest to itself.
  if (allowed.includes(value)) return '';
  return didYouMean(
    value,
    allowed.filter(candidate => typeof candidate === 'string'),
  );
}

function tooSmall(issue: z.core.$ZodIssueTooSmall, found: string): string {
  if (issue.origin === 'string')
    return issue.minimum === 1 ? 'must not be empty' : `must have at least ${issue.minimum} characters`;
  if (issue.origin === 'array') return `must have at least ${issue.minimum} items`;
  return `must be ${issue.inclusive === false ? 'more than' : 'at least'} ${issue.minimum}, not ${found}`;
}

function tooBig(issue: z.core.$ZodIssueTooBig, found: string): string {
  if (issue.origin === 'string') return `must have at most ${issue.maximum} characters`;
  if (issue.origin === 'array') return `must have at most ${issue.maximum} items`;
  return `must be ${issue.inclusive === false ? 'less than' : 'at most'} ${issue.maximum}, not ${found}`;
}

interface FileOrigin {
  readonly file: string;
  readonly places: TextPositions;
  /** Where in the file the value stands that paths are relative to. */
  readonly base: Path;
  /** By path relative to `base`. */
  readonly references?: ReadonlyMap<string, string>;
  readonly overrides?: readonly Override[];
}

/** Places of values that a file holds, but for those that flags or the environment set. */
export function fileOrigin({ file, places, base, references, overrides = [] }: FileOrigin): ValueOrigin {
  const overridden = new Map(overrides.map(override => [formatPath(override.path), override]));
  return {
    place(path) {
      const override = overridden.size === 0 ? undefined : overridden.get(formatPath(path));
      if (override !== undefined) return { file: override.source, path: override.name, line: 0, column: 0 };
      const full = [...base, ...path];
      return { file, path: formatPath(full), ...places.of(full) };
    },
    keyPlace(path) {
      const full = [...base, ...path];
      return { file, path: formatPath(full), ...places.ofKey(full) };
    },
    reference: path => references?.get(formatPath(path)),
  };
}
