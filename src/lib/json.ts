import { AppError } from './errors.ts';

/** Deeper than any body we define, shallow enough that no recursion can fail on it. */
const MAX_DEPTH = 32;

/**
 * Reads a JSON text (RFC 8259) more strictly than `JSON.parse`: duplicate keys are refused, since two readers of one
 * body must not see two values, so are the two ways to a prototype, `__proto__` and `prototype` in `constructor`, and
 * nesting ends at 32. Throws `invalid-request`.
 */
export function parseJson(text: string): unknown {
  const value = parse(text);
  const fault = findFault(text);
  if (fault !== undefined) throw new AppError('invalid-request', fault);
  return value;
}

const strictUtf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/**
 * Reads a part of a token, or an answer about somebody's identity, as `parseJson` does: UTF-8 without a byte order mark
 * (RFC 8259 section 8.1), each member once (RFC 7519 section 4, RFC 7515 section 4). Throws `invalid-request`.
 */
export function parseJsonBytes(bytes: Uint8Array): unknown {
  let text: string;
  try {
    text = strictUtf8.decode(bytes);
  } catch {
    throw new AppError('invalid-request', 'The body is not valid UTF-8');
  }
  return parseJson(text);
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new AppError('invalid-request', 'The body is not valid JSON');
  }
}

const [QUOTE, BACKSLASH, COLON] = [34, 92, 58];
const [OPEN_OBJECT, CLOSE_OBJECT, OPEN_LIST, CLOSE_LIST] = [123, 125, 91, 93];

/** Walks a text that is known to be valid JSON, so that only brackets, strings and colons matter. */
function findFault(text: string): string | undefined {
  const scopes: (Set<string> | undefined)[] = [];
  /** The key of each open scope that was read last, whose value may be the next scope. */
  const owners: string[] = [''];
  let at = 0;
  while (at < text.length) {
    const code = text.charCodeAt(at);
    if (code === OPEN_OBJECT || code === OPEN_LIST) {
      if (scopes.push(code === OPEN_OBJECT ? new Set() : undefined) > MAX_DEPTH)
        return `The body is nested deeper than ${MAX_DEPTH} levels`;
      owners.push('');
    } else if (code === CLOSE_OBJECT || code === CLOSE_LIST) {
      scopes.pop();
      owners.pop();
    }
    if (code !== QUOTE) {
      at += 1;
      continue;
    }
    const end = endOfString(text, at);
    const keys = scopes.at(-1);
    if (keys !== undefined && isKey(text, end)) {
      const key = keyIn(text.slice(at, end));
      if (key === '__proto__') return "The body has the forbidden key '__proto__'";
      if (key === 'prototype' && owners.at(-2) === 'constructor')
        return "The body has the forbidden key 'prototype' in 'constructor'";
      if (keys.has(key)) return `The body has the key '${key.slice(0, 100)}' twice in one object`;
      keys.add(key);
      owners[owners.length - 1] = key;
    }
    at = end;
  }
  return undefined;
}

const keyIn = (quoted: string): string =>
  quoted.includes('\\') ? String(JSON.parse(quoted)) : quoted.slice(1, -1);

function endOfString(text: string, start: number): number {
  let at = start + 1;
  for (let code = text.charCodeAt(at); code !== QUOTE; code = text.charCodeAt(at))
    at += code === BACKSLASH ? 2 : 1;
  return at + 1;
}

function isKey(text: string, end: number): boolean {
  let at = end;
  while (isBlank(text.charCodeAt(at))) at += 1;
  return text.charCodeAt(at) === COLON;
}

const isBlank = (code: number): boolean => code === 32 || (code >= 9 && code <= 13);
