import { RE2JS } from 're2js';

/** Longer metric names are never matched. */
export const LONGEST_NAME = 200;
const LONGEST_PATTERN = 300;
/** All counts in braces together: each repeats a part of the compiled pattern. */
const MOST_COUNTED = 400;

/** Compiled patterns that are shared. */
const MOST_SHARED = 256;

/** What tells whether a name fits. */
export interface NamePattern {
  /** As it was written. */
  readonly source: string;
  test(name: string): boolean;
}

/** Says what is wrong with a pattern for metric names; undefined when `compilePattern` takes it. */
export function patternFault(pattern: string): string | undefined {
  if (pattern.length > LONGEST_PATTERN) return `must be at most ${LONGEST_PATTERN} characters`;
  if (!isRegularExpression(pattern)) return 'is not a regular expression';
  if (/\\[1-9k]/.test(pattern)) return 'must not refer back to a group';
  if (/\(\?(?!:)/.test(pattern)) return 'must not look ahead or behind, nor name a group';
  if (countedIn(pattern) > MOST_COUNTED)
    return `must not repeat by more than ${MOST_COUNTED} in braces altogether`;
  try {
    compilePattern(pattern);
  } catch {
    return 'is a regular expression that is not known here; use the syntax of RE2';
  }
  return undefined;
}

/** By their text, as pipelines of one kind have the same rules, and a compiled pattern takes 12 KB and more. */
const shared = new Map<string, NamePattern>();

/** Compiles for an automaton, as the time of a match must grow with the length of the name only. Throws for what it does not know. */
export function compilePattern(pattern: string): NamePattern {
  const known = shared.get(pattern);
  if (known !== undefined) return known;
  const compiled = RE2JS.compile(RE2JS.translateRegExp(pattern));
  const found: NamePattern = { source: pattern, test: name => compiled.test(name) };
  if (shared.size === MOST_SHARED) shared.clear();
  shared.set(pattern, found);
  return found;
}

function isRegularExpression(pattern: string): boolean {
  try {
    new RegExp(pattern, 'u');
    return true;
  } catch {
    return false;
  }
}

const countedIn = (pattern: string): number =>
  [...pattern.matchAll(/\{(\d+)(?:,(\d*))?\}/g)].reduce(
    (sum, [, least, most]) => sum + Math.max(Number(least), Number(most ?? 0)),
    0,
  );
