import { ReadingBudget } from '../../lib/reading-budget.ts';
import type { Slices } from '../../lib/slices.ts';

/** One object of rsyslog's statistics: its name, the module it comes from, its counters. */
export interface StatsObject {
  readonly name: string;
  readonly origin: string;
  readonly values: Readonly<Record<string, number>>;
}

export interface Impstats {
  /** Objects as they came, cut wherever a new round of statistics begins. */
  readonly rounds: readonly (readonly StatsObject[])[];
  /** Lines that hold no such object. */
  readonly ignored: number;
}

const LONGEST_LINE = 64 * 1024;
const LONGEST_NAME = 512;
const MARK = /\b(BEGIN|END)\s*$/;

/** Lines that one request may hold, those without an object included. */
const MOST_LINES = 200_000;
/** Counters of all objects together. */
const MOST_VALUES = 1_500_000;
/** Counters of one object; rsyslog's own have some ten. */
const MOST_COUNTERS = 256;

/**
 * rsyslog's impstats lines, `format="json"` or `"cee"`, bracketing on or off. Whatever stands before the first brace, such
 * as a date or a syslog header, is cut. A round ends where BEGIN stands or where an object comes again. Throws
 * `invalid-request` for more lines than one request may hold.
 */
export function* readImpstats(text: string): Slices<Impstats> {
  const budget = new ReadingBudget({ values: MOST_VALUES, points: MOST_LINES, pointName: 'lines' });
  const rounds: StatsObject[][] = [];
  let round: StatsObject[] = [];
  let seen = new Set<string>();
  let ignored = 0;

  function beginRound(): void {
    if (round.length > 0) rounds.push(round);
    round = [];
    seen = new Set();
  }

  function take(line: string): void {
    const isTooLong = line.length > LONGEST_LINE;
    const mark = isTooLong || line.includes('{') ? undefined : MARK.exec(line)?.[1];
    if (mark === 'BEGIN') beginRound();
    if (mark !== undefined) return;
    const object = isTooLong ? undefined : parseLine(line, budget);
    if (object === undefined) {
      ignored++;
      return;
    }
    const key = `${object.origin}\n${object.name}`;
    if (seen.has(key)) beginRound();
    seen.add(key);
    round.push(object);
  }

  for (let start = 0; start < text.length; ) {
    const found = text.indexOf('\n', start);
    const end = found === -1 ? text.length : found;
    const line = text.slice(start, end);
    start = end + 1;
    budget.takePoint();
    if (budget.isPauseDue()) yield;
    if (line.trim() !== '') take(line);
  }
  beginRound();
  return { rounds, ignored };
}

function parseLine(line: string, budget: ReadingBudget): StatsObject | undefined {
  const start = line.indexOf('{');
  if (start === -1) return undefined;
  const parsed = parseObject(line.slice(start, line.lastIndexOf('}') + 1));
  if (parsed === undefined) return undefined;
  const { name, origin, ...rest } = parsed;
  if (!isName(name) || !isName(origin)) return undefined;
  const numbers = Object.entries(rest).filter(
    (entry): entry is [string, number] => typeof entry[1] === 'number' && Number.isFinite(entry[1]),
  );
  if (numbers.length > MOST_COUNTERS) return undefined;
  for (const _ of numbers) budget.takeValue();
  return { name, origin, values: Object.fromEntries(numbers) };
}

const isName = (value: unknown): value is string =>
  typeof value === 'string' && value !== '' && value.length <= LONGEST_NAME;

function parseObject(text: string): { readonly [key: string]: unknown } | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? { ...value } : undefined;
  } catch {
    return undefined;
  }
}
