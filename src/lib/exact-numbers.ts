const WHOLE = /^[-+]?\d+$/;
const NUMBER = /^[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?$/;

/**
 * True when a number, as JSON or YAML writes it, stays what it is in binary64, which has 53 bits for its digits: a whole
 * number of at most 2^53 - 1 (RFC 7493 section 2.2), or one with decimal places or an exponent that is neither beyond all
 * numbers nor so small that only zero is left. Readers keep the text of any other: an id of 20 digits is no measurement.
 */
export function isExactNumber(text: string): boolean {
  const value = Number(text);
  if (WHOLE.test(text)) return Number.isSafeInteger(value);
  return Number.isFinite(value) && (value !== 0 || !/^[^eE]*[1-9]/.test(text));
}

/** True for what a reader kept as a text though a number was written. */
export const isInexactNumber = (value: unknown): boolean =>
  typeof value === 'string' && NUMBER.test(value) && !isExactNumber(value);
