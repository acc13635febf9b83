import * as z from 'zod';
import { identifier } from '../lib/schemas.ts';
import { mailAddresses } from '../targets/mail-address.ts';
import { templateText } from '../targets/template-text.ts';

const emailRecipient = z.strictObject({
  to: mailAddresses.describe('Addresses of the recipients, with commas between.'),
  cc: mailAddresses.optional().describe('Addresses that get a copy.'),
  bcc: mailAddresses.optional().describe('Addresses that get a copy nobody else sees.'),
});

const mail = z.strictObject({
  subject: templateText
    .refine(({ text }) => text.length <= 998 && !/\p{Cc}/u.test(text), {
      error: 'must be at most 998 characters on one line',
    })
    .optional()
    .describe('Subject of the mail; a field of the event stands as `${field}`.'),
  body: templateText.optional().describe('Text of the mail; a field of the event stands as `${field}`.'),
  emailRecipient: emailRecipient.describe('Who gets the mail.'),
});

const targetConfig = z.strictObject({
  id: identifier.describe('Id of the target.'),
  conf: mail.optional().describe('What an smtp target needs to know; for no other type.'),
});

/** What single targets need to know of a notification. */
export const targetConfigs = z
  .array(targetConfig)
  .max(1000)
  .superRefine((configs, context) => {
    for (const [index, { id }] of configs.entries())
      if (configs.findIndex(config => config.id === id) < index)
        context.addIssue({
          code: 'custom',
          path: [index, 'id'],
          message: 'must be listed once; an earlier item has the same id',
        });
  });
