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
 * rsyslog's impstats lines in any `format` (`json`, `json-elasticsearch`, `cee`, `legacy`, `prometheus`), bracketing on or
 * off. Whatever stands before the object, such as a date or a syslog header, is cut. A round ends where BEGIN stands or
 * where an object comes again. Throws `invalid-request` for more lines than one request may hold.
 */
export function* readImpstats(text: string): Slices<Impstats> {
  const budget = new ReadingBudget({ values: MOST_VALUES, points: MOST_LINES, pointName: 'lines' });
  const rounds: StatsObject[][] = [];
  let round: StatsObject[] = [];
  let seen = new Set<string>();
  let ignored = 0;
  const exposition = createExposition();

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
    const exposed = isTooLong ? undefined : exposition.read(line);
    if (exposed === 'taken') return;
    const object = isTooLong ? undefined : (exposed ?? parseLine(line, budget));
    if (object === undefined) ignored++;
    else add(object);
  }

  function add(object: StatsObject): void {
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

/** The object and the counter that the next value is of. The name of the series shows them too, but not where each ends. */
const HELP = /# HELP .* rsyslog stats: origin="([^"]*)" object="(.*)", counter="([^"]*)"$/;
/** rsyslog itself writes the three lines of a counter into 512 bytes. */
const LONGEST_HELP = 2048;
const COMMENT = /^# (?:HELP|TYPE) /;
const VALUE = / (\d+)$/;

/**
 * Puts the objects of the format `prometheus` together again, of which each counter is three lines: help, type and value
 * (`emitPrometheusForObject` in rsyslog's `runtime/statsobj.c`, 8.2508 and later). An object is answered with its first
 * value, and gets the others as they come; `taken` means that the line is a part of what was or will be answered.
 */
function createExposition() {
  let help: readonly string[] | undefined;
  let object: (StatsObject & { readonly values: Record<string, number> }) | undefined;

  return {
    read(line: string): StatsObject | 'taken' | undefined {
      const found = line.length > LONGEST_HELP ? null : HELP.exec(line);
      if (found !== null) {
        help = found;
        return 'taken';
      }
      if (COMMENT.test(line)) return 'taken';
      const value = VALUE.exec(line)?.[1];
      if (help === undefined || value === undefined) return undefined;
      const [, origin = '', name = '', counter = ''] = help;
      help = undefined;
      const goesOn =
        object?.name === name && object.origin === origin && object.values[counter] === undefined;
      if (object !== undefined && goesOn) {
        if (Object.keys(object.values).length < MOST_COUNTERS) object.values[counter] = Number(value);
        return 'taken';
      }
      if (!isName(name) || !isName(origin)) return undefined;
      object = { name, origin, values: Object.assign(Object.create(null), { [counter]: Number(value) }) };
      return object;
    },
  };
}

/** An object as its line says it; names of counters may be written with `!` for a dot, as Elasticsearch requires. */
interface RawObject {
  readonly name: unknown;
  readonly origin: unknown;
  readonly counters: readonly (readonly [string, number])[];
}

function parseLine(line: string, budget: ReadingBudget): StatsObject | undefined {
  const start = line.indexOf('{');
  const raw = start === -1 ? parseLegacy(line) : parseJson(line.slice(start, line.lastIndexOf('}') + 1));
  if (raw === undefined || raw.counters.length > MOST_COUNTERS) return undefined;
  const values = Object.fromEntries(raw.counters.map(([key, value]) => [key.replaceAll('!', '.'), value]));
  const { name, origin = originOf(name, values) } = raw;
  if (!isName(name) || !isName(origin)) return undefined;
  for (const _ of raw.counters) budget.takeValue();
  return { name, origin, values };
}

/** Old versions of rsyslog do not say what an object is: its counters do, and the names that inputs have by themselves. */
function originOf(name: unknown, values: StatsObject['values']): string | undefined {
  if ('processed' in values && 'failed' in values) return 'core.action';
  if ('enqueued' in values && 'size' in values) return 'core.queue';
  return 'submitted' in values ? /^im[a-z]+/.exec(String(name))?.[0] : undefined;
}

const isName = (value: unknown): value is string =>
  typeof value === 'string' && value !== '' && value.length <= LONGEST_NAME;

function parseJson(text: string): RawObject | undefined {
  const { name, origin, ...rest } = parseObject(text) ?? {};
  const counters = Object.entries(rest).filter(
    (entry): entry is [string, number] => typeof entry[1] === 'number' && Number.isFinite(entry[1]),
  );
  return { name, origin, counters };
}

function parseObject(text: string): { readonly [key: string]: unknown } | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? { ...value } : undefined;
  } catch {
    return undefined;
  }
}

const COUNTER = /^([\w.]+)=(\d+)$/;
const ORIGIN = /^origin=(\S+)$/;

/** `<name>: origin=<module> <counter>=<number> …`, read from its end, as names may hold blanks. */
function parseLegacy(line: string): RawObject | undefined {
  const words = line.trim().split(' ');
  const counters: (readonly [string, number])[] = [];
  let origin: string | undefined;
  while (words.length > 0 && origin === undefined && counters.length <= MOST_COUNTERS) {
    const word = words.at(-1) ?? '';
    const [, key, value] = COUNTER.exec(word) ?? [];
    origin = ORIGIN.exec(word)?.[1];
    if (key !== undefined) counters.unshift([key, Number(value)]);
    else if (origin === undefined) break;
    words.pop();
  }
  const before = words.join(' ');
  if (!before.endsWith(':') || (origin === undefined && counters.length === 0)) return undefined;
  const name = before.slice(0, -1);
  return { name: name.slice(name.lastIndexOf(': ') + 1).trim(), origin, counters };
}
