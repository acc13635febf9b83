import { AppError } from './errors.ts';
import { isExactNumber } from './exact-numbers.ts';
import { ReadingBudget } from './reading-budget.ts';
import { atOnce, type Slices } from './slices.ts';

/** Deeper than any body we define, shallow enough that no recursion can fail on it. */
const MAX_DEPTH = 32;
/** Values of one text: one costs up to 64 bytes of memory, however short it is. */
const MAX_VALUES = 1_000_000;
/** Keys of one object. */
const MAX_KEYS = 100_000;

/** How a text of JSON is read. */
export interface JsonOptions {
  /** Values that it may hold; 1,000,000 where omitted. */
  readonly mostValues?: number;
  /**
   * `exact`, which counts where omitted, keeps a number that `isExactNumber` refuses as the text of its digits. `nearest`
   * is for measurements and tokens, where a number must be one.
   */
  readonly numbers?: 'exact' | 'nearest' | undefined;
}

/**
 * Reads a JSON text (RFC 8259) more strictly than `JSON.parse`: duplicate keys are refused, since two readers of one
 * body must not see two values, so are the two ways to a prototype, `__proto__` and `prototype` in `constructor`, and
 * nesting ends at 32. So are texts of more than `mostValues` values and objects of more than 100,000 keys, before any of it
 * is made. Throws `invalid-request`.
 */
export const parseJson = (text: string, options?: JsonOptions): unknown =>
  atOnce(parseJsonInSlices(text, options));

/** The same for texts of megabytes. */
export function* parseJsonInSlices(
  text: string,
  { mostValues = MAX_VALUES, numbers = 'exact' }: JsonOptions = {},
): Slices<unknown> {
  const scan = new JsonScan(text, new ReadingBudget({ values: mostValues }), numbers === 'exact');
  yield* scan.run();
  if (scan.fault !== undefined) throw new AppError('invalid-request', scan.fault);
  return parse(scan.quoted());
}

const strictUtf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/**
 * Reads a part of a token, or an answer about somebody's identity, as `parseJson` does: UTF-8 without a byte order mark
 * (RFC 8259 section 8.1), each member once (RFC 7519 section 4, RFC 7515 section 4); its numbers are times. Throws
 * `invalid-request`.
 */
export function parseJsonBytes(bytes: Uint8Array): unknown {
  let text: string;
  try {
    text = strictUtf8.decode(bytes);
  } catch {
    throw new AppError('invalid-request', 'The body is not valid UTF-8');
  }
  return parseJson(text, { numbers: 'nearest' });
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new AppError('invalid-request', 'The body is not valid JSON');
  }
}

const [QUOTE, BACKSLASH, COLON, COMMA] = [34, 92, 58, 44];
const [MINUS, ZERO, NINE] = [45, 48, 57];
/** A number of JSON, with what follows it: an end, or something that makes the whole no JSON. */
const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][-+]?\d+)?(?=[\s,\]}]|$)/y;
/** A shorter number without an exponent is always exact. */
const MOST_EXACT_DIGITS = 15;
const [OPEN_OBJECT, CLOSE_OBJECT, OPEN_LIST, CLOSE_LIST] = [123, 125, 91, 93];

/** Object or list that is open. */
interface Scope {
  /** Of an object, once it has one. */
  keys: Set<string> | undefined;
  readonly isObject: boolean;
  /** The key that was read last, whose value may be the next scope. */
  owner: string;
}

interface Range {
  readonly start: number;
  readonly end: number;
}

/**
 * Looks at brackets, strings, colons and commas, and at numbers where they are to be exact: what is no JSON at all is left
 * to the parser to find.
 */
class JsonScan {
  /** What is refused though it is JSON. */
  fault: string | undefined;
  readonly #text: string;
  readonly #budget: ReadingBudget;
  readonly #scopes: Scope[] = [];
  readonly #isExact: boolean;
  /** Numbers that become texts, in their order. */
  readonly #inexact: Range[] = [];

  constructor(text: string, budget: ReadingBudget, isExact: boolean) {
    this.#text = text;
    this.#budget = budget;
    this.#isExact = isExact;
  }

  /** The text with quotes around the numbers that a number would not be exact for. */
  quoted(): string {
    if (this.#inexact.length === 0) return this.#text;
    const parts: string[] = [];
    let from = 0;
    for (const { start, end } of this.#inexact) {
      parts.push(this.#text.slice(from, start), '"', this.#text.slice(start, end), '"');
      from = end;
    }
    return parts.join('') + this.#text.slice(from);
  }

  /** Throws `invalid-request` for too much of it. */
  *run(): Slices {
    const text = this.#text;
    for (let at = 0; at < text.length && this.fault === undefined; ) {
      const code = text.charCodeAt(at);
      if (code === QUOTE) {
        const end = endOfString(text, at);
        this.#takeString(at, end);
        at = end;
        continue;
      }
      if (this.#isExact && (code === MINUS || (code >= ZERO && code <= NINE))) {
        at = this.#takeNumber(at);
        continue;
      }
      at += 1;
      if (code === COMMA) this.#budget.takeValue();
      else if (code === OPEN_OBJECT || code === OPEN_LIST) this.#open(code === OPEN_OBJECT);
      else if (code === CLOSE_OBJECT || code === CLOSE_LIST) this.#scopes.pop();
      else continue;
      if (this.#budget.isPauseDue()) yield;
    }
  }

  #open(isObject: boolean): void {
    this.#budget.takeValue();
    const depth = this.#scopes.push({ keys: undefined, isObject, owner: '' });
    if (depth > MAX_DEPTH) this.fault = `The body is nested deeper than ${MAX_DEPTH} levels`;
  }

  #takeString(at: number, end: number): void {
    const scope = this.#scopes.at(-1);
    if (scope?.isObject !== true || !isKey(this.#text, end)) return;
    const key = keyIn(this.#text.slice(at, end));
    this.fault = this.#faultOf(key, scope);
    scope.keys ??= new Set();
    scope.keys.add(key);
    scope.owner = key;
  }

  /** Answers where the number ends, or the next character where it is none. */
  #takeNumber(start: number): number {
    NUMBER.lastIndex = start;
    const [number] = NUMBER.exec(this.#text) ?? [];
    if (number === undefined) return start + 1;
    const end = start + number.length;
    if (number.length <= MOST_EXACT_DIGITS && !/[eE]/.test(number)) return end;
    if (!isExactNumber(number) && isValue(this.#text, start) && !isKey(this.#text, end))
      this.#inexact.push({ start, end });
    return end;
  }

  #faultOf(key: string, { keys }: Scope): string | undefined {
    if (key === '__proto__') return "The body has the forbidden key '__proto__'";
    if (key === 'prototype' && this.#scopes.at(-2)?.owner === 'constructor')
      return "The body has the forbidden key 'prototype' in 'constructor'";
    if (keys?.has(key)) return `The body has the key '${key.slice(0, 100)}' twice in one object`;
    if (keys?.size === MAX_KEYS) return `The body has an object of more than ${MAX_KEYS} keys`;
    return undefined;
  }
}

const keyIn = (quoted: string): string =>
  quoted.includes('\\') ? String(parse(quoted)) : quoted.slice(1, -1);

function endOfString(text: string, start: number): number {
  let at = start + 1;
  while (at < text.length) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) return at + 1;
    at += code === BACKSLASH ? 2 : 1;
  }
  return at;
}

function isKey(text: string, end: number): boolean {
  let at = end;
  while (isBlank(text.charCodeAt(at))) at += 1;
  return text.charCodeAt(at) === COLON;
}

/** True where a value may begin: a key in quotes that were none before would make JSON of what is none. */
function isValue(text: string, start: number): boolean {
  let at = start - 1;
  while (isBlank(text.charCodeAt(at))) at -= 1;
  const code = text.charCodeAt(at);
  return at < 0 || code === COLON || code === COMMA || code === OPEN_LIST;
}

const isBlank = (code: number): boolean => code === 32 || (code >= 9 && code <= 13);
