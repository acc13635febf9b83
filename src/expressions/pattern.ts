import { RE2JS } from 're2js';
import type { Budget } from './budget.ts';

/** A regular expression of RE2's syntax, whose time grows with the text only. */
export interface Pattern {
  matches(text: string, budget: Budget): boolean;
  /** The first group, or all that fits where there is none; null when nothing does. */
  extract(text: string, budget: Budget): string | null;
}

const MOST_CHARACTERS = 1000;
/** Instructions it may be compiled to; repetitions of repetitions multiply. */
const MOST_INSTRUCTIONS = 2000;
const CHARACTERS_PER_STEP = 16;

/** The pattern, or what is wrong with it. */
export function compilePattern(text: string): Pattern | string {
  if (text.length > MOST_CHARACTERS) return `the pattern has more than ${MOST_CHARACTERS} characters`;
  const compiled = parse(text);
  if (typeof compiled === 'string') return compiled;
  const size = compiled.programSize();
  if (size > MOST_INSTRUCTIONS) return 'the pattern repeats too much';
  const pay = (length: number, budget: Budget): void =>
    budget.step(1 + (length * Math.max(size, CHARACTERS_PER_STEP)) / CHARACTERS_PER_STEP ** 2);
  return {
    matches(subject, budget) {
      pay(subject.length, budget);
      return compiled.matcher(subject).find();
    },
    extract(subject, budget) {
      pay(subject.length, budget);
      const matcher = compiled.matcher(subject);
      if (!matcher.find()) return null;
      return matcher.group(matcher.groupCount() > 0 ? 1 : 0);
    },
  };
}

function parse(text: string): RE2JS | string {
  try {
    return RE2JS.compile(text);
  } catch {
    return 'the pattern is no regular expression of RE2; it knows neither look-around nor back references';
  }
}
