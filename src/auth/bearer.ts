/**
 * `/auth/login` answers a token that begins with `Bearer`, so documented callers send the word twice, which RFC 6750
 * does not know. One repeat is allowed, never more.
 */
const BEARER = /^Bearer[ \t]+(?:Bearer[ \t]+)?([A-Za-z0-9_.-]{16,4096})$/i;

/** The bare token of an Authorization header, undefined when the header does not carry one. */
export function bearerToken(authorization: string): string | undefined {
  return BEARER.exec(authorization)?.[1];
}
