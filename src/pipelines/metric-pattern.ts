/** Longer metric names are never matched. */
export const LONGEST_NAME = 200;
const LONGEST_PATTERN = 300;

/**
 * Steps a match may take at the very worst. JavaScript's expressions backtrack, and one that takes
 * minutes on an unlucky name would stop the whole process.
 */
const MOST_STEPS = 1e7;

interface Group {
  /** Ways through the alternatives before the last `|`. */
  others: number;
  /** Ways through the present alternative. */
  ways: number;
}

/** Says what is wrong with a pattern for metric names; undefined when it compiles and cannot run away. */
export function patternFault(pattern: string): string | undefined {
  if (pattern.length > LONGEST_PATTERN) return `must be at most ${LONGEST_PATTERN} characters`;
  try {
    new RegExp(pattern, 'u');
  } catch {
    return 'is not a regular expression';
  }
  if (/\\[1-9k]/.test(pattern)) return 'must not refer back to a group';
  if (/\(\?(?!:)/.test(pattern)) return 'must not look ahead or behind, nor name a group';
  const steps = worstSteps(pattern);
  if (steps === undefined) return 'must not repeat a group that holds a repetition or an alternative';
  return steps > MOST_STEPS
    ? 'could take too long to match: use fewer of * + ? {} and |, and begin with ^'
    : undefined;
}

const TOKEN = /\\.|\[(?:\\.|[^\]\\])*\]|\((?:\?:)?|\)|\||[*+?]\??|\{(\d+)(,?)(\d*)\}\??|./gsu;

/** Upper bound of the ways a match can go: each choice multiplies. Undefined for a repeated choice, which has no useful bound. */
function worstSteps(pattern: string): number | undefined {
  const groups: Group[] = [{ others: 0, ways: pattern.startsWith('^') ? 1 : LONGEST_NAME }];
  let last = 1;
  for (const token of pattern.matchAll(TOKEN)) {
    const text = token[0];
    const group = groups.at(-1);
    if (group === undefined) return undefined;
    if (text.startsWith('(')) groups.push({ others: 0, ways: 1 });
    else if (text === ')') {
      groups.pop();
      last = group.others + group.ways;
      const outer = groups.at(-1);
      if (outer !== undefined) outer.ways *= last;
    } else if (text === '|') {
      group.others += group.ways;
      group.ways = 1;
    } else {
      const repeats = repeatsOf(text, token);
      if (repeats > 2 && last > 1) return undefined;
      group.ways *= repeats;
      last = 1;
    }
  }
  return groups.reduce((steps, group) => steps * (group.others + group.ways), 1);
}

/** How many counts a quantifier allows; 1 for anything else. */
function repeatsOf(text: string, token: RegExpExecArray): number {
  if (/^[*+]/.test(text)) return LONGEST_NAME;
  if (text.startsWith('?')) return 2;
  const [, least, comma, most] = token;
  if (least === undefined || comma === '')
    return least === undefined ? 1 : Math.max(1, Number(least) > 1 ? 3 : 1);
  return most === '' ? LONGEST_NAME : Math.max(3, Number(most) - Number(least) + 1);
}
