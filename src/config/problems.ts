import { MASK } from '../lib/secret.ts';
import type { Path } from './yaml/places.ts';

/** One thing wrong, and where. `line` and `column` count from 1, and are 0 for what stands in no file. */
export interface ConfigProblem {
  /** A file, or `environment` or `flags`. */
  readonly file: string;
  readonly line: number;
  readonly column: number;
  /** As in `targets[2].url`; for the environment and flags the name that was set. Empty for a whole file. */
  readonly path: string;
  /** For a person; a secret in it is masked. */
  readonly message: string;
}

/** `file:line:column: message (path)` */
export function formatProblem(problem: ConfigProblem): string {
  const { file, line, column, path, message } = problem;
  const place = line === 0 ? file : `${file}:${line}:${column}`;
  return `${place}: ${message}${path === '' ? '' : ` (${path})`}`;
}

/** `targets[2].url`; a key that is no plain word stands in quotes: `targets["a b"]`. */
export function formatPath(path: Path): string {
  let text = '';
  for (const step of path) {
    if (typeof step === 'number') text += `[${step}]`;
    else if (/^[\w-]+$/.test(String(step))) text += `${text === '' ? '' : '.'}${String(step)}`;
    else text += `[${JSON.stringify(String(step))}]`;
  }
  return text;
}

/** Where a problem is. */
export type ProblemPlace = Omit<ConfigProblem, 'message'>;

/**
 * One thing wrong that was found. Its place and its text are worked out when they are asked for: of very many only the
 * first are ever shown, and a text may take long to find, as one that compares a name with all others.
 */
export interface Finding {
  readonly place: () => ProblemPlace;
  readonly message: () => string;
}

export const finding = (place: () => ProblemPlace, message: string | (() => string)): Finding => ({
  place,
  message: typeof message === 'string' ? () => message : message,
});

/** Problems that are shown: as many as a person mends at a time. */
const MOST_SHOWN = 200;
/** Of the first so many found those are shown that stand first in the files. */
const MOST_PLACED = 1000;

/** Problems after which no further item is looked at: nobody mends so many by hand. */
const MOST_COUNTED = 20_000;

/** Findings of a text that may have hundreds of thousands: all of them are counted, and the first thousand are kept. */
export class FindingList implements Iterable<Finding> {
  readonly #kept: Finding[] = [];
  #length = 0;

  /** How many there are, kept or not. */
  get length(): number {
    return this.#length;
  }

  /** True when so many were found that it is not worth to look for more. */
  get isFull(): boolean {
    return this.#length >= MOST_COUNTED;
  }

  add(found: Finding): void {
    this.#length++;
    if (this.#kept.length < MOST_PLACED) this.#kept.push(found);
  }

  addAll(found: FindingList | readonly Finding[]): void {
    const length = this.#length + found.length;
    for (const one of found) this.add(one);
    this.#length = length;
  }

  [Symbol.iterator](): Iterator<Finding> {
    return this.#kept[Symbol.iterator]();
  }
}

/** All of these, in their order. */
export function findingList(...parts: readonly (FindingList | readonly Finding[])[]): FindingList {
  const all = new FindingList();
  for (const part of parts) all.addAll(part);
  return all;
}

/** Those at other places than these: a value that cannot be looked up is reported as that and no more. */
export function elsewhere(found: FindingList, reported: readonly Finding[]): FindingList {
  if (reported.length === 0) return found;
  const paths = new Set(reported.map(({ place }) => place().path));
  const kept = [...found];
  const others = new FindingList();
  others.addAll(kept.filter(({ place }) => !paths.has(place().path)));
  return others;
}

/** The first 200 in the order they stand in the files, and how many more there are. */
export function firstProblems(
  what: 'problems' | 'warnings',
  found: FindingList | readonly Finding[],
  files: readonly string[],
): ConfigProblem[] {
  const placed = [...found].slice(0, MOST_PLACED).map(({ place, message }) => ({ at: place(), message }));
  const rank = ({ file }: ProblemPlace): number => files.indexOf(file);
  placed.sort(({ at: a }, { at: b }) => rank(a) - rank(b) || a.line - b.line || a.column - b.column);
  const shown = placed.slice(0, MOST_SHOWN).map(({ at, message }) => ({ ...at, message: message() }));
  const rest = found.length - shown.length;
  const last = shown.at(-1);
  if (rest === 0 || last === undefined) return shown;
  const count = found instanceof FindingList && found.isFull ? `at least ${rest}` : String(rest);
  return [...shown, { ...last, path: '', message: `${count} more ${what} are not listed; mend these first` }];
}

/** One thing wrong between items of notifications.yml, and where. */
export interface ItemFinding {
  readonly path: Path;
  readonly message: string | (() => string);
}

export interface ItemFindings {
  readonly problems: readonly ItemFinding[];
  readonly warnings: readonly ItemFinding[];
}

const LONGEST_QUOTE = 60;

/** A value as an error quotes it: short, on one line, without the password an address may hold. */
export function quote(value: unknown): string {
  switch (typeof value) {
    case 'string':
      return `'${shorten(oneLine(withoutUser(value)))}'`;
    case 'number':
    case 'boolean':
      return String(value);
    default:
      if (value === null || value === undefined) return 'nothing';
      return Array.isArray(value) ? 'a list' : 'a map';
  }
}

/** An address, of which the path and the query may be keys that readers of problems may not see. */
export function quoteAddress(address: string): string {
  const text = withoutUser(address);
  const [lead = ''] = /^(?:[a-z][a-z0-9+.-]*:)?\/{0,2}/i.exec(text) ?? [];
  const rest = text.slice(lead.length);
  const end = rest.search(/[/?#]./s);
  return quote(end === -1 ? text : `${lead}${rest.slice(0, end)}/${MASK}`);
}

/** Whatever stands between `//` and the last `@` may be a password, however long and odd it is. */
function withoutUser(text: string): string {
  const start = text.indexOf('//');
  const end = text.lastIndexOf('@');
  return start === -1 || end < start ? text : `${text.slice(0, start)}//${MASK}${text.slice(end)}`;
}

const oneLine = (text: string): string =>
  text
    .slice(0, 4 * LONGEST_QUOTE)
    .replace(/[\p{Cc}\u2028\u2029]/gu, character => JSON.stringify(character).slice(1, -1));

function shorten(text: string): string {
  const characters = [...text];
  return characters.length <= LONGEST_QUOTE ? text : `${characters.slice(0, LONGEST_QUOTE).join('')}…`;
}

const LONGEST_SUGGESTION = 64;
const SHORTEST_START = 3;
/** Pairs of letters that are compared for one suggestion; names beyond that are not looked at. */
const MOST_COMPARED = 50_000;

/** The candidate a person most likely meant by `text`, or undefined when none is near. */
export function suggest(text: string, candidates: Iterable<string>): string | undefined {
  if (text.length > LONGEST_SUGGESTION) return undefined;
  const wanted = text.toLowerCase();
  let best: string | undefined;
  let bestDistance = Math.max(1, Math.floor(text.length / 3)) + 1;
  let compared = 0;
  for (const candidate of candidates) {
    compared += 1 + wanted.length;
    if (compared > MOST_COMPARED) break;
    // A name is never nearer than its length is.
    const isFar = Math.abs(candidate.length - text.length) >= bestDistance;
    if (candidate.length > LONGEST_SUGGESTION || (isFar && !isAbbreviation(wanted, candidate.toLowerCase())))
      continue;
    compared += wanted.length * candidate.length;
    const distance = distanceOf(wanted, candidate.toLowerCase());
    if (distance < bestDistance) {
      best = candidate;
      bestDistance = distance;
    }
  }
  return best;
}

/** `; did you mean 'x'?`, or nothing. */
export function didYouMean(text: string, candidates: Iterable<string>): string {
  const candidate = suggest(text, candidates);
  return candidate === undefined ? '' : `; did you mean '${candidate}'?`;
}

/** Another case is nearest of all. An abbreviation, or what one stands for, is as near as one wrong letter. */
function distanceOf(wanted: string, candidate: string): number {
  if (wanted === candidate) return 0;
  return isAbbreviation(wanted, candidate) ? 1 : editDistance(wanted, candidate);
}

function isAbbreviation(wanted: string, candidate: string): boolean {
  const [short, long] = wanted.length < candidate.length ? [wanted, candidate] : [candidate, wanted];
  return short.length >= SHORTEST_START && long.startsWith(short);
}

/** Insertions, deletions, replacements and swaps of neighbours (optimal string alignment). */
function editDistance(from: string, to: string): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: to.length + 1 }, (_, index) => index);
  for (let row = 1; row <= from.length; row++) {
    const current = [row];
    for (let column = 1; column <= to.length; column++) {
      const same = from[row - 1] === to[column - 1];
      let cost = Math.min(
        cell(last, column) + 1,
        cell(current, column - 1) + 1,
        cell(last, column - 1) + (same ? 0 : 1),
      );
      if (row > 1 && column > 1 && from[row - 1] === to[column - 2] && from[row - 2] === to[column - 1])
        cost = Math.min(cost, cell(beforeLast, column - 2) + 1);
      current.push(cost);
    }
    beforeLast = last;
    last = current;
  }
  return cell(last, to.length);
}

const cell = (row: readonly number[], column: number): number => row[column] ?? Number.POSITIVE_INFINITY;
