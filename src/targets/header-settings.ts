import * as z from 'zod';
import { secretText } from '../lib/schemas.ts';

/**
 * Set by the product or the connection itself: framing and hop-by-hop fields (RFC 9110 section 7.6.1, RFC 9112), what
 * would speak for a proxy or a browser, and the fields of Standard Webhooks.
 */
const REFUSED = [
  'accept-encoding',
  'connection',
  'content-encoding',
  'content-length',
  'cookie',
  'cookie2',
  'expect',
  'forwarded',
  'host',
  'keep-alive',
  'origin',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'referer',
  'set-cookie',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'via',
  'webhook-id',
  'webhook-signature',
  'webhook-timestamp',
  'x-real-ip',
];
const isRefused = (name: string): boolean =>
  REFUSED.includes(name.toLowerCase()) || name.toLowerCase().startsWith('x-forwarded-');

/** A token of RFC 9110 section 5.6.2. */
const headerName = z
  .string()
  .max(256)
  .regex(/^[\w!#$%&'*+.^`|~-]+$/, 'must be the name of a header: letters, digits and "-"')
  .refine(name => !isRefused(name), {
    error: 'is a header that cannot be set; the connection or Headgate itself sets it',
  });

/** RFC 9110 section 5.5: no line breaks, no control characters but the tab, nothing that takes more than a byte. */
const headerValue = secretText.refine(
  secret => secret.reveal().length <= 16_384 && /^[\t\x20-\x7e\xa0-\xff]*$/.test(secret.reveal()),
  {
    error: 'must be at most 16384 characters of Latin-1, without line breaks and other control characters',
  },
);

/** Headers of the user's own. Their values may be keys, so that no read shows them. */
export const extraHttpHeaders = z
  .array(
    z.strictObject({
      name: headerName.describe('Name of the header.'),
      value: headerValue.describe('Value of the header.'),
    }),
  )
  .max(64)
  .superRefine((headers, context) => {
    for (const [index, { name }] of headers.entries()) {
      const first = headers.findIndex(header => header.name.toLowerCase() === name.toLowerCase());
      if (first < index)
        context.addIssue({
          code: 'custom',
          path: [index, 'name'],
          message: `must be given once; item ${first} of the list is the same header`,
        });
    }
  });
