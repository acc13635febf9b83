/** The text with what is no Unicode, such as half a character, replaced: strict receivers refuse it. */
export const wellFormed = (text: string): string => text.replace(/\p{Surrogate}/gu, '\ufffd');

/** JSON writes half a character as this (ECMA-262 section 25.5.4.3), and nothing else. */
const HALF = /\\ud[89a-f]/;
/** How it begins: a text is found in less time than a pattern. */
const HALF_BEGINNING = '\\ud';

/** JSON whose texts and names are Unicode throughout (RFC 7493 section 2.1). */
export function wellFormedJson(value: unknown): string {
  const text = JSON.stringify(value);
  // Of what is no JSON at all, such as undefined, nothing is made either.
  if (text === undefined || !text.includes(HALF_BEGINNING) || !HALF.test(text)) return text;
  return JSON.stringify(value, (_, inner: unknown) => {
    if (typeof inner === 'string') return wellFormed(inner);
    if (typeof inner !== 'object' || inner === null || Array.isArray(inner)) return inner;
    return Object.fromEntries(Object.entries(inner).map(([name, held]) => [wellFormed(name), held]));
  });
}

/**
 * The longest beginning of a text that takes at most `most` UTF-16 units, counted after `written` has put each
 * character as the receiver wants it. What is cut ends with an ellipsis, and no character is cut in two.
 */
export function truncate(
  text: string,
  maxLength: number,
  encode: (character: string) => string = identity,
): string {
  const characters = wellFormed(text);
  let whole = '';
  let cut = '';
  for (const character of characters) {
    whole += encode(character);
    if (whole.length > maxLength) return `${cut}${ELLIPSIS}`;
    if (whole.length <= maxLength - ELLIPSIS.length) cut = whole;
  }
  return whole;
}

const identity = (character: string): string => character;
const ELLIPSIS = '…';

/** The longest beginning of a text that takes at most `most` bytes as UTF-8, no character cut in two. */
export function truncateToBytes(text: string, maxBytes: number): string {
  const bytes = Buffer.from(text, 'utf8');
  if (bytes.length <= maxBytes) return text;
  let end = maxBytes;
  while (end > 0 && isContinuation(bytes[end])) end--;
  return bytes.toString('utf8', 0, end);
}

/** Bytes of a character behind its first look like 10xxxxxx. */
const isContinuation = (byte: number | undefined): boolean => byte !== undefined && (byte & 0xc0) === 0x80;

/** The text without control characters but for tabs and line feeds, which is how each of its lines ends. */
export const plainText = (text: string): string =>
  text.replace(/\r\n?/g, '\n').replace(/(?![\t\n])\p{Cc}/gu, '');

/**
 * A copy in one piece of a text that may be a slice of a larger one, or put together of others. V8 keeps the larger one
 * for as long as the slice lives, so what outlives the page or the body it was read from must be a copy; and it keeps
 * the parts' frame beside the whole, which counts where there are very many.
 */
export const copyText = (text: string): string => Buffer.from(text).toString();

/**
 * Control characters but for tabs and line feeds, what turns the direction of text or has no width, and line separators:
 * a terminal obeys them, or shows another text than the one that is there.
 */
const UNSAFE_ON_TERMINAL = /(?![\t\n])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;

/** The text with such characters as `\uXXXX`, so that JSON stays the same JSON. */
export const terminalText = (text: string): string =>
  text.replace(UNSAFE_ON_TERMINAL, character =>
    character
      .split('')
      .map(unit => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
      .join(''),
  );
