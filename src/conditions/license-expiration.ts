import * as z from 'zod';
import { formatDuration } from '../lib/duration.ts';
import { definePosted } from './posted.ts';

/** A license that ends soon or has ended, as whoever watches it posts; the key says which license. */
export const licenseExpiration = definePosted({
  id: 'license-expiration',
  name: 'License Expiration',
  type: 'message',
  category: 'license',
  description: 'Somebody posted that a license expires; the field `expirationDate` says when.',
  adds: [],
  schema: z.strictObject({}),
  topic: () => undefined,
  describe({ key, fields, openMs }) {
    if (openMs !== undefined)
      return { fields, text: `License ${key} is valid again after ${formatDuration(openMs)}` };
    const { expirationDate } = fields;
    const isTold = typeof expirationDate === 'string' || typeof expirationDate === 'number';
    return { fields, text: `License ${key} expires${isTold ? ` on ${expirationDate}` : ''}` };
  },
});
