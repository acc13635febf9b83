import * as z from 'zod';
import { parseDuration } from './duration.ts';
import { Secret } from './secret.ts';

/** The id of a resource. */
export const identifier = z
  .string()
  .regex(/^[a-zA-Z0-9_-]{1,512}$/, 'must be 1 to 512 letters, digits, "_" or "-"');

/** A duration as people write it; its value is in milliseconds. */
export function duration(limits: { readonly minMs?: number; readonly maxMs?: number } = {}) {
  return z.string().transform((text, context): number => {
    const ms = parseDuration(text);
    if (ms === undefined)
      context.addIssue({ code: 'custom', message: 'must be a duration such as 30s, 5m or 1h' });
    else if (ms < (limits.minMs ?? 0))
      context.addIssue({ code: 'custom', message: `must be at least ${limits.minMs}ms` });
    else if (ms > (limits.maxMs ?? Number.POSITIVE_INFINITY))
      context.addIssue({ code: 'custom', message: `must be at most ${limits.maxMs}ms` });
    return ms ?? z.NEVER;
  });
}

/** A text that no read shows again. The mark `secret` tells whoever quotes or documents values. */
export const secretText = z
  .string()
  .transform(text => new Secret(text))
  .meta({ secret: true });

/** An absolute http or https address without user name and password, which would show wherever it is shown. */
export const httpUrl = z.string().superRefine((text, context) => {
  const url = parseUrl(text);
  if (url === null || (url.protocol !== 'http:' && url.protocol !== 'https:'))
    context.addIssue({ code: 'custom', message: 'must be an address that begins with http:// or https://' });
  else if (url.username !== '' || url.password !== '')
    context.addIssue({
      code: 'custom',
      message: 'must not hold a user name or password; use the authentication settings',
    });
});

function parseUrl(text: string): URL | null {
  try {
    return new URL(text);
  } catch {
    return null;
  }
}
