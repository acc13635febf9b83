import * as z from 'zod';

/** What the server itself says, or the connection (RFC 9110 section 7.6.1, RFC 9112). */
const OWN = [
  'allow',
  'cache-control',
  'connection',
  'content-encoding',
  'content-length',
  'content-security-policy',
  'content-type',
  'date',
  'etag',
  'keep-alive',
  'location',
  'proxy-authenticate',
  'referrer-policy',
  'retry-after',
  'set-cookie',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'www-authenticate',
  'x-content-type-options',
  'x-request-id',
];
const MOST_HEADERS = 64;
const MOST_CHARACTERS = 4096;

/** A token of RFC 9110 section 5.6.2. */
const NAME = /^[\w!#$%&'*+.^`|~-]{1,256}$/;
/** RFC 9110 section 5.5, in ASCII: no line breaks and no other control characters, and none of its spaces at an end. */
const VALUE = /^(?:[\x21-\x7e](?:[\t\x20-\x7e]*[\x21-\x7e])?)?$/;

/** Headers by name that every answer carries beside those of the server. */
export const responseHeaders = z.record(z.string(), z.string()).superRefine((headers, context) => {
  const say = (path: string[], message: string): void => context.addIssue({ code: 'custom', path, message });
  const names = Object.keys(headers);
  if (names.length > MOST_HEADERS) say([], `must have at most ${MOST_HEADERS} headers`);
  const seen = new Map<string, string>();
  for (const name of names) {
    const first = seen.get(name.toLowerCase());
    seen.set(name.toLowerCase(), name);
    if (!NAME.test(name)) say([name], 'must have the name of a header: letters, digits and "-"');
    else if (OWN.includes(name.toLowerCase()))
      say([name], `cannot be set, as the server itself sets '${name}'`);
    else if (first !== undefined) say([name], `must be given once; '${first}' is the same header`);
    else if (!VALUE.test(headers[name] ?? '') || (headers[name] ?? '').length > MOST_CHARACTERS)
      say(
        [name],
        `must be at most ${MOST_CHARACTERS} characters of ASCII, without line breaks and spaces around`,
      );
  }
});
