/**
 * Reads Prometheus and OpenMetrics text line by line without building an object per line: a series
 * that was seen before is recognised by its text, and only a new one has its labels parsed.
 * Text format 0.0.4 and OpenMetrics 1.0, with what engines really send: trailing commas, `Nan`,
 * blank and comment lines anywhere, quoted UTF-8 names.
 */

import type { Slices, SliceTimer } from '../../lib/slices.ts';

export const LONGEST_LINE = 64 * 1024;
/** UTF-8 takes at most so many bytes for a unit of UTF-16. */
const LONGEST_LINE_BYTES = 3 * LONGEST_LINE;
const MOST_LABELS = 64;
const LONGEST_TEXT = 4096;
const LONGEST_TAIL = 64;
const SAFE_DIGITS = 15;
/** Series the present page may lack one after the other without losing its place. */
const LOOK_AHEAD = 4;

/** Bytes that are read at a time. */
const PIECE_BYTES = 32 * 1024;
/** Lines that are read before the clock is looked at: rules of users may take a millisecond for the name of each. */
const LINES_A_STEP = 32;

const LINE_FEED = 10;
const QUOTE = 34;
const HASH = 35;
const COMMA = 44;
const ZERO = 48;
const EQUALS = 61;
const BACKSLASH = 92;
const OPEN = 123;
const CLOSE = 125;

export interface PageVisitor {
  /** Called once for each run of lines with the same bare name; a name in quotes is always wanted. */
  wants(name: string): boolean;
  /**
   * `time` is epoch ms, NaN when the line has none. `expectedAt` is where in `expected` the series stands, and `series`
   * is empty then; when it is -1 instead, `series` is a slice of the page: copy it before keeping it.
   */
  sample(series: string, value: number, time: number, expectedAt: number): SampleResult;
  /**
   * Wanted series in the order of the page before. Engines keep their order, and comparing with the
   * text that is likely next costs a fraction of finding out where a series ends.
   */
  readonly expected?: Expected;
  /** Ends slices; without it the page is read in one. */
  readonly timer?: SliceTimer;
}

/** Series in the order of a page. */
interface Expected {
  readonly count: number;
  /** How long the text of the one at `at` is when the page goes on with it at `from`, or -1. */
  lengthAt(at: number, page: string, from: number): number;
}

/** `malformed`: the series' own text cannot be read. */
export type SampleResult = 'taken' | 'malformed';

export interface PageResult {
  /** Lines that hold a sample, wanted or not. */
  readonly samples: number;
  readonly bad: number;
  /** The fault of the page as a whole, if it cannot be trusted. */
  readonly error: string | undefined;
}

/**
 * Reads a page in UTF-8. `openMetrics` follows the answer's content type: there timestamps are seconds and `# EOF` ends
 * the page.
 */
export function* readPrometheus(
  page: Buffer,
  openMetrics: boolean,
  visitor: PageVisitor,
): Slices<PageResult> {
  // A page that was cut must not be read at all: what it lacks would seem to have vanished.
  if (openMetrics && !/(?:^|\n)[ \t]*# EOF\s*$/.test(page.toString('utf8', page.length - LONGEST_TAIL)))
    return { samples: 0, bad: 0, error: 'cut short: OpenMetrics text without # EOF at its end' };
  return yield* new PageScan(openMetrics, visitor).read(page);
}

class PageScan {
  readonly #openMetrics: boolean;
  readonly #visitor: PageVisitor;
  readonly #expected: Expected | undefined;
  /** Where in `expected` the next series is likely to stand. */
  #cursor = 0;
  /** The present piece of the page, and where its next line begins. */
  #text = '';
  #next = 0;
  /** It is the beginning of a line that is too long. */
  #isCut = false;
  #lineNumber = 0;
  #samples = 0;
  #bad = 0;
  #firstBadLine = 0;
  /** The bare name of the line before, and whether its series are wanted. */
  #name = '';
  #wanted = false;
  /** The value and the time of the present line. */
  #value = 0;
  #time = Number.NaN;

  constructor(openMetrics: boolean, visitor: PageVisitor) {
    this.#openMetrics = openMetrics;
    this.#visitor = visitor;
    this.#expected = visitor.expected;
  }

  *read(page: Buffer): Slices<PageResult> {
    const { timer } = this.#visitor;
    for (const { text, isCut } of piecesOf(page)) {
      this.#text = text;
      this.#isCut = isCut;
      for (this.#next = 0; this.#next < text.length; ) {
        this.#readLines();
        if (timer?.isPauseDue()) yield* timer.pause();
      }
    }
    const error =
      this.#samples === 0 && this.#bad > 0
        ? `not Prometheus text: line ${this.#firstBadLine} is not a metric name and a value`
        : undefined;
    return { samples: this.#samples, bad: this.#bad, error };
  }

  #readLines(): void {
    const text = this.#text;
    let start = this.#next;
    for (let count = 0; count < LINES_A_STEP && start < text.length; count++) {
      let end = text.indexOf('\n', start);
      if (end === -1) end = text.length;
      this.#lineNumber++;
      const from = skipBlanks(text, start, end);
      start = end + 1;
      if (text.charCodeAt(from) === HASH || (from === end && !this.#isCut)) continue;
      if (!this.#isCut && this.#readLine(from, end)) this.#samples++;
      else {
        this.#bad++;
        this.#firstBadLine ||= this.#lineNumber;
      }
    }
    this.#next = start;
  }

  #readLine(from: number, end: number): boolean {
    if (end - from > LONGEST_LINE) return false;
    const expectedLength = this.#matchExpected(from);
    if (expectedLength !== -1)
      return (
        this.#readTail(from + expectedLength, end) &&
        this.#visitor.sample('', this.#value, this.#time, this.#cursor - 1) === 'taken'
      );
    const text = this.#text;
    const nameEnd = endOfName(text, from, end);
    const seriesEnd = endOfSeries(text, nameEnd, end);
    if (seriesEnd === -1 || (nameEnd === from && text.charCodeAt(from) !== OPEN)) return false;
    if (!this.#readTail(seriesEnd, end)) return false;
    if (nameEnd > from && (nameEnd - from !== this.#name.length || !text.startsWith(this.#name, from))) {
      this.#name = text.slice(from, nameEnd);
      this.#wanted = this.#visitor.wants(this.#name);
    }
    if (nameEnd > from && !this.#wanted) return true;
    return this.#visitor.sample(text.slice(from, seriesEnd), this.#value, this.#time, -1) === 'taken';
  }

  /** The length of the series that was expected here, or -1: without labels it may be the beginning of another. */
  #matchExpected(from: number): number {
    const expected = this.#expected;
    if (expected === undefined) return -1;
    for (let at = this.#cursor; at < this.#cursor + LOOK_AHEAD && at < expected.count; at++) {
      const length = expected.lengthAt(at, this.#text, from);
      if (length === -1 || this.#text.charCodeAt(from + length - 1) !== CLOSE) continue;
      this.#cursor = at + 1;
      return length;
    }
    return -1;
  }

  /** Reads the value and the time that follow a series; false when something else does. */
  #readTail(seriesEnd: number, end: number): boolean {
    const text = this.#text;
    const valueAt = skipBlanks(text, seriesEnd, end);
    const valueEnd = endOfToken(text, valueAt, end);
    const value = numberAt(text, valueAt, valueEnd);
    const time = timeAfter(text, valueEnd, end, this.#openMetrics);
    if (value === undefined || time === undefined) return false;
    this.#value = value;
    this.#time = time;
    return valueAt > seriesEnd || text.charCodeAt(seriesEnd - 1) === CLOSE;
  }
}

/**
 * The text of a page, piece by piece of whole lines: as one text it would outlive the collection of what is young, again
 * and again, and fill the heap. Of a line that is too long only the beginning.
 */
function* piecesOf(page: Buffer): Iterable<{ readonly text: string; readonly isCut: boolean }> {
  for (let start = 0; start < page.length; ) {
    let end = Math.min(start + PIECE_BYTES, page.length);
    if (end < page.length) {
      end = page.lastIndexOf(LINE_FEED, end - 1) + 1;
      if (end <= start) end = page.indexOf(LINE_FEED, start) + 1 || page.length;
    }
    const isCut = end - start > LONGEST_LINE_BYTES;
    yield { text: page.toString('utf8', start, isCut ? start + LONGEST_LINE : end), isCut };
    start = end;
  }
}

export interface ParsedSeries {
  readonly name: string;
  readonly labels: ReadonlyMap<string, string>;
}

/** `name{a="b"}` or `{"name",a="b"}` in parts; undefined when malformed or over a limit. */
export function parseSeries(text: string): ParsedSeries | undefined {
  let name = text.slice(0, endOfName(text, 0, text.length));
  const labels = new Map<string, string>();
  let at = skipBlanks(text, name.length, text.length);
  if (at === text.length) return name === '' ? undefined : { name, labels };
  if (text.charCodeAt(at) !== OPEN) return undefined;
  at++;
  for (;;) {
    at = skipBlanks(text, at, text.length);
    if (text.charCodeAt(at) === CLOSE) break;
    const key = readKey(text, at);
    if (key === undefined) return undefined;
    at = skipBlanks(text, key.end, text.length);
    if (text.charCodeAt(at) === EQUALS) {
      const value = readQuoted(text, skipBlanks(text, at + 1, text.length));
      if (value === undefined || labels.has(key.text) || labels.size === MOST_LABELS) return undefined;
      labels.set(key.text, value.text);
      at = skipBlanks(text, value.end, text.length);
    } else if (name === '' && key.quoted) name = key.text;
    else return undefined;
    const after = text.charCodeAt(at);
    if (after === COMMA) at++;
    else if (after !== CLOSE) return undefined;
  }
  return name === '' || skipBlanks(text, at + 1, text.length) !== text.length ? undefined : { name, labels };
}

interface Piece {
  readonly text: string;
  readonly end: number;
  readonly quoted: boolean;
}

function readKey(text: string, at: number): Piece | undefined {
  if (text.charCodeAt(at) === QUOTE) return readQuoted(text, at);
  const end = endOfName(text, at, text.length);
  return end === at ? undefined : { text: text.slice(at, end), end, quoted: false };
}

/** An escape other than `\n`, `\"` and `\\` stands for itself, backslash included. */
function readQuoted(text: string, at: number): Piece | undefined {
  if (text.charCodeAt(at) !== QUOTE) return undefined;
  const close = endOfQuoted(text, at + 1, text.length);
  if (close === -1 || close - at > LONGEST_TEXT) return undefined;
  const raw = text.slice(at + 1, close);
  const plain = raw.includes('\\')
    ? raw.replace(/\\([\\"n])/g, (_, escaped: string) => (escaped === 'n' ? '\n' : escaped))
    : raw;
  return { text: plain, end: close + 1, quoted: true };
}

const isBlank = (code: number): boolean => code === 32 || code === 9 || code === 13;

function skipBlanks(text: string, from: number, end: number): number {
  let at = from;
  while (at < end && isBlank(text.charCodeAt(at))) at++;
  return at;
}

function endOfToken(text: string, from: number, end: number): number {
  let at = from;
  while (at < end && !isBlank(text.charCodeAt(at))) at++;
  return at;
}

const NAME_FIRST = charTable(/[a-zA-Z_:]/);
const NAME_REST = charTable(/[a-zA-Z0-9_:]/);

function charTable(pattern: RegExp): Uint8Array {
  return Uint8Array.from({ length: 128 }, (_, code) => (pattern.test(String.fromCharCode(code)) ? 1 : 0));
}

function endOfName(text: string, from: number, end: number): number {
  if (from >= end || NAME_FIRST[text.charCodeAt(from)] !== 1) return from;
  let at = from + 1;
  while (at < end && NAME_REST[text.charCodeAt(at)] === 1) at++;
  return at;
}

/** Index of the quote that closes a text whose first character is at `from`, or -1. */
function endOfQuoted(text: string, from: number, end: number): number {
  for (let at = from; at < end; at++) {
    const code = text.charCodeAt(at);
    if (code === BACKSLASH) at++;
    else if (code === QUOTE) return at;
  }
  return -1;
}

/** One past the labels, or the end of the name where there are none; -1 when the braces never close. */
function endOfSeries(text: string, nameEnd: number, end: number): number {
  let at = skipBlanks(text, nameEnd, end);
  if (text.charCodeAt(at) !== OPEN || at >= end) return nameEnd;
  for (at++; at < end; at++) {
    const code = text.charCodeAt(at);
    if (code === CLOSE) return at + 1;
    if (code !== QUOTE) continue;
    at = endOfQuoted(text, at + 1, end);
    if (at === -1) return -1;
  }
  return -1;
}

const SPECIAL = new Map([
  ['nan', Number.NaN],
  ['inf', Number.POSITIVE_INFINITY],
  ['+inf', Number.POSITIVE_INFINITY],
  ['-inf', Number.NEGATIVE_INFINITY],
]);

/** Undefined when the text there is no number. Most are plain digits, and need no text of their own. */
function numberAt(text: string, from: number, end: number): number | undefined {
  if (from === end) return undefined;
  let whole = 0;
  let at = end - from <= SAFE_DIGITS ? from : end;
  for (; at < end; at++) {
    const digit = text.charCodeAt(at) - ZERO;
    if (digit < 0 || digit > 9) break;
    whole = whole * 10 + digit;
  }
  if (at === end && end - from <= SAFE_DIGITS) return whole;
  const token = text.slice(from, end);
  const value = Number(token);
  return Number.isNaN(value) ? SPECIAL.get(token.toLowerCase()) : value;
}

/** Epoch ms of the timestamp that follows the value; NaN when there is none, undefined when something else follows. */
function timeAfter(text: string, from: number, end: number, openMetrics: boolean): number | undefined {
  const at = skipBlanks(text, from, end);
  if (at === end || text.charCodeAt(at) === HASH) return Number.NaN;
  const tokenEnd = endOfToken(text, at, end);
  const time = numberAt(text, at, tokenEnd);
  const rest = skipBlanks(text, tokenEnd, end);
  if (time === undefined || !Number.isFinite(time)) return undefined;
  if (rest !== end && text.charCodeAt(rest) !== HASH) return undefined;
  return openMetrics ? time * 1000 : time;
}
