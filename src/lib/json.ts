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
/** Characters of one string, as it is written: it is made in one go. */
const LONGEST_STRING = 8 * 1024 * 1024;
/** Characters of one number: a measurement has some 20. */
const LONGEST_NUMBER = 1024;
/** Characters between two pauses, whatever they hold. */
const CHARACTERS_A_SLICE = 1024 * 1024;
/** Characters of which values are made in one go. */
const CHARACTERS_A_PIECE = 256 * 1024;

/** How a text of JSON is read. */
export interface JsonOptions {
  /** Values that it may hold; 1,000,000 where omitted. */
  readonly mostValues?: number;
  /**
   * `exact`, which counts where omitted, keeps a number that `isExactNumber` refuses as the text of its digits. `nearest`
   * is for measurements and tokens, where a number must be one.
   */
  readonly numbers?: 'exact' | 'nearest' | undefined;
  /** Characters of which values are made in one go; 256 KB where omitted. What comes of it is the same. */
  readonly pieceCharacters?: number;
}

/**
 * Reads a JSON text (RFC 8259) more strictly than `JSON.parse`: duplicate keys are refused, since two readers of one
 * body must not see two values, so are the two ways to a prototype, `__proto__` and `prototype` in `constructor`, and
 * nesting ends at 32. So are texts of more than `mostValues` values, objects of more than 100,000 keys, strings of more
 * than 8 MB and numbers of more than 1 KB, before any of it is made. Throws `invalid-request`.
 */
export const parseJson = (text: string, options?: JsonOptions): unknown =>
  atOnce(parseJsonInSlices(text, options));

/** The same for texts of megabytes: no slice looks at more than a megabyte, or makes the values of more than a piece. */
export function* parseJsonInSlices(
  text: string,
  { mostValues = MAX_VALUES, numbers = 'exact', pieceCharacters = CHARACTERS_A_PIECE }: JsonOptions = {},
): Slices<unknown> {
  const budget = new ReadingBudget({ values: mostValues });
  const scan = new JsonScan(text, { budget, isExact: numbers === 'exact', pieceCharacters });
  yield* scan.run();
  if (scan.fault !== undefined) throw new AppError('invalid-request', scan.fault);
  return yield* parsePieces(scan.pieces());
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
const [PLUS, MINUS, POINT, ZERO, NINE, SMALL_E] = [43, 45, 46, 48, 57, 101];
/** A number of JSON: what looks like one and is none makes no JSON of the whole. */
const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][-+]?\d+)?$/;
/** A shorter number without an exponent is always exact. */
const MOST_EXACT_DIGITS = 15;
const [OPEN_OBJECT, CLOSE_OBJECT, OPEN_LIST, CLOSE_LIST] = [123, 125, 91, 93];

/** An object or a list that goes on from one piece of a text to the next. */
interface OpenScope {
  readonly isObject: boolean;
  /** Of an object the key that was read last: where another scope is open in it, that is its value. */
  readonly owner: string;
}

/** Values between two commas, with all that stands between: the commas are part of neither piece. */
interface JsonPiece {
  readonly text: string;
  /** What is open where it begins and where it ends, the outermost first. */
  readonly before: readonly OpenScope[];
  readonly after: readonly OpenScope[];
}

/** Object or list that is open. */
interface Scope extends OpenScope {
  /** Of an object, once it has one. */
  keys: Set<string> | undefined;
  owner: string;
}

/** A comma at which the text is cut, and what is open there. */
interface JsonCut {
  readonly at: number;
  readonly open: readonly OpenScope[];
}

interface Range {
  readonly start: number;
  readonly end: number;
}

interface ScanOptions {
  readonly budget: ReadingBudget;
  readonly isExact: boolean;
  readonly pieceCharacters: number;
}

/**
 * Looks at brackets, strings, colons and commas, and at the length of numbers: what is no JSON at all is left to the parser
 * to find.
 */
class JsonScan {
  /** What is refused though it is JSON. */
  fault: string | undefined;
  readonly #text: string;
  readonly #options: ScanOptions;
  readonly #scopes: Scope[] = [];
  /** Numbers that become texts, in their order. */
  readonly #inexact: Range[] = [];
  /** Where the text is cut into pieces: at commas. */
  readonly #cuts: JsonCut[] = [];
  /** Where the string that is being read began; -1 outside of strings. */
  #stringStart = -1;

  constructor(text: string, options: ScanOptions) {
    this.#text = text;
    this.#options = options;
  }

  /** The pieces of the text with quotes around the numbers that a number would not be exact for. */
  *pieces(): Iterable<JsonPiece> {
    let from = 0;
    let open: JsonCut['open'] = [];
    let inexactAt = 0;
    for (const cut of [...this.#cuts, { at: this.#text.length, open: [] }]) {
      const inexactFrom = inexactAt;
      while ((this.#inexact[inexactAt]?.start ?? cut.at) < cut.at) inexactAt++;
      const text = quoted(
        this.#text,
        { start: from, end: cut.at },
        this.#inexact.slice(inexactFrom, inexactAt),
      );
      yield { text, before: open, after: cut.open };
      from = cut.at + 1;
      open = cut.open;
    }
  }

  /** Throws `invalid-request` for too much of it. */
  *run(): Slices {
    const { length } = this.#text;
    const { budget } = this.#options;
    for (let at = 0; at < length && this.fault === undefined; ) {
      const end = Math.min(length, at + CHARACTERS_A_SLICE);
      while (at < end && this.fault === undefined && !budget.isPauseDue())
        at = this.#stringStart === -1 ? this.#take(at, end) : this.#takeString(at, end);
      if (at < length) yield;
    }
  }

  /** Takes what begins there, and answers where the next begins, or how far blanks were passed over. */
  #take(at: number, most: number): number {
    const code = this.#text.charCodeAt(at);
    if (isBlank(code)) return this.#passBlanks(at, most);
    if (code === QUOTE) this.#stringStart = at;
    else if (code === MINUS || (code >= ZERO && code <= NINE)) return this.#takeNumber(at);
    else if (code === COMMA) this.#takeComma(at);
    else if (code === OPEN_OBJECT || code === OPEN_LIST) this.#open(code === OPEN_OBJECT);
    else if (code === CLOSE_OBJECT || code === CLOSE_LIST) this.#scopes.pop();
    return at + 1;
  }

  #passBlanks(from: number, most: number): number {
    const text = this.#text;
    let at = from + 1;
    while (at < most && isBlank(text.charCodeAt(at))) at++;
    return at;
  }

  #takeComma(at: number): void {
    this.#options.budget.takeValue();
    const last = this.#cuts.at(-1)?.at ?? -1;
    if (at - last <= this.#options.pieceCharacters || this.#scopes.length === 0) return;
    this.#cuts.push({ at, open: this.#scopes.map(({ isObject, owner }) => ({ isObject, owner })) });
  }

  #open(isObject: boolean): void {
    this.#options.budget.takeValue();
    const depth = this.#scopes.push({ keys: undefined, isObject, owner: '' });
    if (depth > MAX_DEPTH) this.fault = `The body is nested deeper than ${MAX_DEPTH} levels`;
  }

  /** Answers where the string ends, or how far it was looked at. */
  #takeString(from: number, most: number): number {
    const text = this.#text;
    const start = this.#stringStart;
    let at = from;
    while (at < most && this.#stringStart !== -1) {
      const code = text.charCodeAt(at);
      if (code === QUOTE) this.#stringStart = -1;
      at += code === BACKSLASH ? 2 : 1;
    }
    if (at - start > LONGEST_STRING)
      this.fault = `The body has a text of more than ${LONGEST_STRING} characters`;
    else if (this.#stringStart === -1) this.#takeKey(start, at);
    return at;
  }

  #takeKey(at: number, end: number): void {
    const scope = this.#scopes.at(-1);
    if (scope?.isObject !== true || !isKey(this.#text, end)) return;
    const key = keyIn(this.#text.slice(at, end));
    this.fault ??= this.#faultOf(key, scope);
    scope.keys ??= new Set();
    scope.keys.add(key);
    scope.owner = key;
  }

  /** Answers where the number ends. */
  #takeNumber(start: number): number {
    const text = this.#text;
    let end = start + 1;
    while (end - start <= LONGEST_NUMBER && isOfNumber(text.charCodeAt(end))) end++;
    if (end - start > LONGEST_NUMBER)
      this.fault = `The body has a number of more than ${LONGEST_NUMBER} characters`;
    else if (this.#options.isExact && !isSurelyExact(text, start, end)) this.#noteInexact(start, end);
    return end;
  }

  #noteInexact(start: number, end: number): void {
    const number = this.#text.slice(start, end);
    if (
      NUMBER.test(number) &&
      !isExactNumber(number) &&
      isValue(this.#text, start) &&
      !isKey(this.#text, end)
    )
      this.#inexact.push({ start, end });
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

/** Digits, signs, a point and letters of an exponent, whatever their order. */
const isOfNumber = (code: number): boolean =>
  (code >= ZERO && code <= NINE) ||
  code === MINUS ||
  code === PLUS ||
  code === POINT ||
  (code | 32) === SMALL_E;

/** True for few digits without an exponent. */
function isSurelyExact(text: string, start: number, end: number): boolean {
  if (end - start > MOST_EXACT_DIGITS) return false;
  for (let at = start; at < end; at++) if ((text.charCodeAt(at) | 32) === SMALL_E) return false;
  return true;
}

/** A part of the text with quotes around the numbers that a number would not be exact for. */
function quoted(text: string, { start, end }: Range, inexact: readonly Range[]): string {
  const parts: string[] = [];
  let from = start;
  for (const number of inexact) {
    parts.push(text.slice(from, number.start), '"', text.slice(number.start, number.end), '"');
    from = number.end;
  }
  parts.push(text.slice(from, end));
  return parts.join('');
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

/**
 * The value of a text in pieces, of which one is parsed in each slice. A piece is parsed within what is open around it, so
 * that the parser finds whatever is no JSON. Throws `invalid-request`.
 */
function* parsePieces(pieces: Iterable<JsonPiece>): Slices<unknown> {
  let whole: unknown;
  let isFirst = true;
  for (const piece of pieces) {
    if (!isFirst) yield;
    const value = parse(completed(piece));
    if (isFirst) whole = value;
    else append(whole, value, piece.before);
    isFirst = false;
  }
  return whole;
}

/** The piece with what is open around it; where a value is missing beside a comma, a comma makes no JSON of it. */
function completed({ text, before, after }: JsonPiece): string {
  const head = before.map(({ isObject, owner }, depth) => {
    if (!isObject) return '[';
    return depth === before.length - 1 ? '{' : `{${JSON.stringify(owner)}:`;
  });
  const tail = after.map(({ isObject }) => (isObject ? '}' : ']')).reverse();
  const lead = before.length > 0 && /^\s*(?:[\]}]|$)/.test(text) ? ',' : '';
  const end = after.length > 0 && /[[{]$/.test(text.trimEnd()) ? ',' : '';
  return `${head.join('')}${lead}${text}${end}${tail.join('')}`;
}

/** Adds what a piece holds of the scopes that were open before it, the first of which the whole is. */
function append(whole: unknown, value: unknown, open: readonly OpenScope[]): void {
  let [into, from] = [whole, value];
  for (const [depth, { owner }] of open.entries()) {
    const isInnermost = depth === open.length - 1;
    const inner = isInnermost ? [] : [memberOf(into, owner, -1), memberOf(from, owner, 0)];
    if (Array.isArray(into) && Array.isArray(from)) addItems(into, from, isInnermost ? 0 : 1);
    else if (isMap(into) && isMap(from))
      for (const [key, one] of Object.entries(from)) if (isInnermost || key !== owner) into[key] = one;
    [into, from] = inner;
  }
}

function addItems(into: unknown[], items: readonly unknown[], from: number): void {
  for (let at = from; at < items.length; at++) into.push(items[at]);
}

/** The scope that is open in another one: in an object the value of a key, in a list the last item or, of a piece, the first. */
function memberOf(scope: unknown, owner: string, at: number): unknown {
  if (Array.isArray(scope)) return scope.at(at);
  return isMap(scope) ? scope[owner] : undefined;
}

const isMap = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null;
