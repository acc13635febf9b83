import * as z from 'zod';
import { mailAddresses } from './mail-address.ts';
import { templateText } from './template-text.ts';

const emailRecipient = z.strictObject({
  to: mailAddresses.describe('Addresses of the recipients, with commas between.'),
  cc: mailAddresses.optional().describe('Addresses that get a copy.'),
  bcc: mailAddresses.optional().describe('Addresses that get a copy nobody else sees.'),
});

/** What a notification tells an smtp target. */
export const mailConf = z.strictObject({
  subject: templateText
    .refine(({ text }) => text.length <= 998 && !/\p{Cc}/u.test(text), {
      error: 'must be at most 998 characters on one line',
    })
    .optional()
    .describe('Subject of the mail; a field of the event stands as `${field}`.'),
  body: templateText.optional().describe('Text of the mail; a field of the event stands as `${field}`.'),
  emailRecipient: emailRecipient.describe('Who gets the mail.'),
});

export type MailConf = z.infer<typeof mailConf>;
