const SENTINEL = 'http://headgate.invalid';
const LONGEST = 1024;
/** Control characters, which browsers drop, and backslashes, which they read as slashes. */
const MISREAD = /[\p{Cc}\\]/u;

/** A path of this very server that was asked for, `/` for anything else: nobody may be led elsewhere by a sign-in. */
export function returnPath(text: string | undefined): string {
  if (text === undefined || text.length > LONGEST || MISREAD.test(text)) return '/';
  if (!text.startsWith('/') || text.startsWith('//') || !URL.canParse(text, SENTINEL)) return '/';
  const url = new URL(text, SENTINEL);
  const path = url.pathname + url.search + url.hash;
  // What the parser resolves may begin with two slashes again.
  return url.origin === SENTINEL && !path.startsWith('//') ? path : '/';
}
