import * as z from 'zod';
import { templateText } from '../expressions/schema.ts';

/** The form of a mailbox that is sent to; the server judges the rest (RFC 5321 section 4.1.2). */
const ADDRESS = /^[^\s@<>(),;:"\\\p{Cc}]{1,64}@[^\s@<>(),;:"\\\p{Cc}]{1,255}$/u;
/** `Name <address>`, the name without characters that would begin another address or a header. */
const NAMED = /^[^<>,;\p{Cc}]{1,255}<([^<>]+)>$/u;

function isMailbox(text: string): boolean {
  const trimmed = text.trim();
  if (trimmed !== text.replace(/^ +| +$/g, '')) return false;
  return ADDRESS.test(trimmed) || ADDRESS.test(NAMED.exec(trimmed)?.[1] ?? '');
}

/** `ops@example.com` or `Ops <ops@example.com>`. */
export const mailAddress = z
  .string()
  .max(1024)
  .refine(isMailbox, { error: "must be an e-mail address such as 'ops@example.com'" });

/** One or more addresses with commas between. */
export const mailAddresses = z
  .string()
  .min(1)
  .max(65_536)
  .superRefine((text, context) => {
    const wrong = text.split(',').find(part => !isMailbox(part));
    if (wrong === undefined) return;
    const message = `must be e-mail addresses with commas between; '${wrong
      .replace(/\p{Cc}/gu, ' ')
      .trim()
      .slice(0, 60)}' is none`;
    context.addIssue({ code: 'custom', message });
  });

export interface Mailbox {
  readonly name: string;
  readonly address: string;
}

/** Reads a text that `mailAddresses` or `mailAddress` has accepted. */
export const mailboxesOf = (text: string): readonly Mailbox[] =>
  text.split(',').map(part => {
    const named = NAMED.exec(part.trim());
    if (named === null) return { name: '', address: part.trim() };
    const name = part.slice(0, part.indexOf('<')).trim();
    return { name: name.replace(/^"(.*)"$/, '$1'), address: named[1] ?? '' };
  });

const emailRecipient = z.strictObject({
  to: mailAddresses.describe('Addresses of the recipients, with commas between.'),
  cc: mailAddresses.optional().describe('Addresses that get a copy.'),
  bcc: mailAddresses.optional().describe('Addresses that get a copy nobody else sees.'),
});

/** Recipients and texts that a notification gives a target that needs recipients. */
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
