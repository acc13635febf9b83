import { createHash } from 'node:crypto';
import { AppError } from '../lib/errors.ts';

/** Enough of a hash that two states of one object never share it by accident. */
const TAG_LENGTH = 22;

/** The tag of a configuration object by what reads answer of it, quotes included (RFC 9110 section 8.8.3). */
export function etagOf(settings: object): string {
  const hash = createHash('sha256').update(canonicalJson(JSON.parse(JSON.stringify(settings))));
  return `"${hash.digest('base64url').slice(0, TAG_LENGTH)}"`;
}

/** The same text for the same content, in whatever order its keys stand. */
function canonicalJson(value: unknown): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`;
  const entries = Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1));
  return `{${entries.map(([key, entry]) => `${JSON.stringify(key)}:${canonicalJson(entry)}`).join(',')}}`;
}

const TAG = '(?:W/)?"[\\x21\\x23-\\x7e]*"';
const TAGS = new RegExp(`^\\s*${TAG}(?:\\s*,\\s*${TAG})*\\s*$`);

/**
 * Throws `precondition-failed` unless `If-Match` allows what is there. `*` means whatever is there, and a weak tag
 * matches nothing (RFC 9110 section 13.1.1).
 */
export function assertMatches(ifMatch: string | undefined, settings: object): void {
  if (ifMatch === undefined || ifMatch.trim() === '*') return;
  if (!TAGS.test(ifMatch))
    throw new AppError('invalid-request', 'If-Match must be *, or entity tags in double quotes');
  const tags: readonly string[] = ifMatch.match(new RegExp(TAG, 'g')) ?? [];
  const present = etagOf(settings);
  if (!tags.includes(present))
    throw new AppError('precondition-failed', `If-Match does not hold: the object's ETag is now ${present}`);
}
