import * as z from 'zod';
import { sslModeProblem } from './database-tls.ts';
import { Duration, parseDuration } from './duration.ts';
import { DatabaseUrl, Secret, SecretUrl } from './secret.ts';

/** The id of a resource. */
export const identifier = z
  .string()
  .regex(/^[a-zA-Z0-9_-]{1,512}$/, 'must be 1 to 512 letters, digits, "_" or "-"');

/** Thousands of notifications have the same few durations. */
const MAX_CACHED = 1000;

const isoTime = z.iso.datetime({ offset: true });

/**
 * A duration as people write it: its value holds the text and the milliseconds. Defaults go in as text, by `prefault`.
 * The mark `format` is for documents and forms.
 */
export function duration(limits: { readonly min?: string; readonly max?: string } = {}) {
  const minMs = limits.min === undefined ? 0 : new Duration(limits.min).ms;
  const maxMs = limits.max === undefined ? Number.POSITIVE_INFINITY : new Duration(limits.max).ms;
  const known = new Map<string, Duration>();
  const read = z.string().transform((text, context): Duration => {
    const seen = known.get(text);
    if (seen !== undefined) return seen;
    const ms = parseDuration(text);
    if (ms !== undefined && ms >= minMs && ms <= maxMs) {
      const duration = new Duration(text);
      if (known.size < MAX_CACHED) known.set(text, duration);
      return duration;
    }
    const message =
      ms === undefined
        ? 'must be a duration such as 30s, 5m or 1h30m'
        : ms < minMs
          ? `must be at least ${limits.min}`
          : `must be at most ${limits.max}`;
    context.addIssue({ code: 'custom', message, input: text });
    return z.NEVER;
  });
  return read.meta({ format: 'duration' });
}

/**
 * A time, or how long ago one was, with a `-` or without: its value gives the epoch ms once it is told the present.
 * Defaults go in as text, by `prefault`. The mark `format` is for documents and forms.
 */
export const pointInTime = z
  .string()
  .min(1)
  .max(64)
  .transform((text, context): ((now: number) => number) => {
    const ago = parseDuration(text.replace(/^-/, ''));
    if (ago !== undefined) return now => now - ago;
    if (isoTime.safeParse(text).success) return () => Date.parse(text);
    const message = 'must be how long ago, as in 7d, or a time such as 2026-01-31T08:00:00Z';
    context.addIssue({ code: 'custom', message, input: text });
    return z.NEVER;
  })
  .meta({ format: 'point-in-time' });

/** A text that no read shows again. The mark `secret` is for code that quotes or documents values. */
export const secretText = z
  .string()
  .transform(text => new Secret(text))
  .meta({ secret: true });

/**
 * An absolute http or https address without user name and password, which would show wherever it is shown. Readers of
 * addresses drop blanks and line breaks in silence: the address that is shown would be another one than the one that is requested.
 */
export const httpUrl = z.string().superRefine((text, context) => {
  const message = httpUrlProblem(text);
  if (message !== undefined) context.addIssue({ code: 'custom', message });
});

/** Why a text is no such address; undefined for one that is. */
export function httpUrlProblem(text: string): string | undefined {
  const url = parseUrl(text);
  if (/[\s\p{Cc}]/u.test(text)) return 'must not hold blanks, line breaks or control characters';
  if (url === null || (url.protocol !== 'http:' && url.protocol !== 'https:'))
    return 'must be an address that begins with http:// or https://';
  return url.username === '' && url.password === ''
    ? undefined
    : 'must not hold a user name or password; use the authentication settings';
}

/** An address whose path is the key to it, as chat services hand them out: reads show its host only. */
export const secretUrl = httpUrl.transform(text => new SecretUrl(text)).meta({ secret: true });

const SQLITE_URL = /^sqlite:[\w-][\w.-]*\.db$/;
/** Options that may follow the `?`: how to reach the server and trust it, no limits and no second password. */
const DATABASE_OPTIONS = new Set([
  'application_name',
  'host',
  'port',
  'sslcert',
  'sslkey',
  'sslmode',
  'sslnegotiation',
  'sslrootcert',
  'user',
]);

function databaseUrlProblem(text: string): string | undefined {
  const url = parseUrl(text);
  if (url === null || !/^postgres(ql)?:$/.test(url.protocol) || !text.startsWith(`${url.protocol}//`))
    return 'must be sqlite: and the name of a file that ends with .db, or postgres://user:password@host:port/database';
  if (!/^\/[^/@]+$/.test(url.pathname)) return 'must name one database, as in postgres://host/headgate';
  const unknown = [...url.searchParams.keys()].find(key => !DATABASE_OPTIONS.has(key));
  return unknown === undefined
    ? sslModeProblem(url)
    : `must not have the option '${unknown}'; allowed are ${[...DATABASE_OPTIONS].join(', ')}`;
}

/**
 * Where state is kept: a file, or a database whose address may hold a password. The mark `secretWhen` is a pattern of
 * the texts that are a secret: those with a password, and the mask of one.
 */
export const storeUrl = z
  .string()
  .transform((text, context): string | DatabaseUrl => {
    if (SQLITE_URL.test(text)) return text;
    const message = databaseUrlProblem(text);
    if (message === undefined) return new DatabaseUrl(text);
    context.addIssue({ code: 'custom', message, input: text });
    return z.NEVER;
  })
  .meta({ secretWhen: '^[^@]*:[^/@][^@]*@|^\\*{8}$' });

const PROXY_PROTOCOLS = ['http:', 'https:'];

/** The address of a forward proxy, which may hold a name and a password. */
export const proxyUrl = z
  .string()
  .refine(text => {
    const url = /[\s\p{Cc}]/u.test(text) ? null : parseUrl(text);
    return (
      url !== null &&
      PROXY_PROTOCOLS.includes(url.protocol) &&
      url.pathname === '/' &&
      `${url.search}${url.hash}` === ''
    );
  }, 'must be the address of a proxy such as http://proxy.example:3128 or http://name:password@proxy.example:3128')
  .transform(text => new Secret(text))
  .meta({ secret: true });

function parseUrl(text: string): URL | null {
  try {
    return new URL(text);
  } catch {
    return null;
  }
}

/** The items of a list whose key an earlier one has, with the index of the first that has it. */
export function repeatedItems<Item>(
  items: readonly Item[],
  keyOf: (item: Item) => string,
): { readonly index: number; readonly first: number }[] {
  const seen = new Map<string, number>();
  return items.flatMap((item, index) => {
    const first = seen.get(keyOf(item));
    if (first !== undefined) return [{ index, first }];
    seen.set(keyOf(item), index);
    return [];
  });
}

/** A rule between settings also holds when one of them is wrong, so that all errors show at once. */
export const EVEN_WHEN_INVALID = {
  when: ({ value }: { readonly value: unknown }): boolean => typeof value === 'object' && value !== null,
};
