import * as z from 'zod';

/** What a mailbox must have to be sent to; the rest is the server's to judge (RFC 5321 section 4.1.2). */
const ADDRESS = /^[^\s@<>(),;:"\\\p{Cc}]{1,64}@[^\s@<>(),;:"\\\p{Cc}]{1,255}$/u;
/** `Name <address>`, the name without what would begin another address or a header. */
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

/** Of a text that `mailAddresses` or `mailAddress` has let pass. */
export const mailboxesOf = (text: string): readonly Mailbox[] =>
  text.split(',').map(part => {
    const named = NAMED.exec(part.trim());
    if (named === null) return { name: '', address: part.trim() };
    const name = part.slice(0, part.indexOf('<')).trim();
    return { name: name.replace(/^"(.*)"$/, '$1'), address: named[1] ?? '' };
  });
