import { domainToASCII } from 'node:url';
import type { HeadgateEvent } from '../events/event.ts';
import { type Mailbox, mailboxesOf } from './mail-address.ts';
import { type MailFacts, mailText, oneLine } from './mail-text.ts';

/** A mail as the library takes it. Who gets it is the envelope's alone, so that blind copies stay blind. */
export interface MailMessage {
  readonly from: Mailbox;
  readonly to: Mailbox[];
  readonly cc: Mailbox[];
  readonly envelope: { readonly from: string; readonly to: string[] };
  readonly subject: string;
  readonly text: string;
  readonly html: string;
  readonly date: Date;
  readonly messageId: string;
  readonly inReplyTo: string;
  readonly references: string;
  readonly headers: Readonly<Record<string, string>>;
}

interface Facts extends MailFacts {
  readonly from: string;
  readonly deliveryId: string;
}

export function mailMessage(events: readonly HeadgateEvent[], facts: Facts): MailMessage {
  const { from, conf, deliveryId, now } = facts;
  const [sender = { name: '', address: '' }] = boxes(from);
  const { to, cc, bcc } = conf.emailRecipient;
  const shown = { to: boxes(to), cc: boxes(cc) };
  const all = [...shown.to, ...shown.cc, ...boxes(bcc)].map(({ address }) => address);
  const thread = `<${threadOf(events)}@${hostOf(sender.address)}>`;
  return {
    from: sender,
    ...shown,
    envelope: { from: sender.address, to: [...new Set(all)] },
    ...mailText(events, facts),
    date: new Date(now),
    // The same on every attempt: many servers drop the second mail of one id.
    messageId: `<${deliveryId}@${hostOf(sender.address)}>`,
    inReplyTo: thread,
    references: thread,
    headers: {
      // RFC 3834 section 5, and what Exchange reads in its place: nobody's absence answers.
      'Auto-Submitted': 'auto-generated',
      'X-Auto-Response-Suppress': 'All',
    },
  };
}

const boxes = (list: string | undefined): Mailbox[] =>
  list === undefined
    ? []
    : mailboxesOf(list).map(({ name, address }) => ({ name: oneLine(name), address: oneLine(address) }));

/** A mail that never was, which all of one incident answer: so readers show them together. */
function threadOf(events: readonly HeadgateEvent[]): string {
  const [first] = events;
  if (first === undefined) return 'nothing';
  const isOne = events.every(event => event.incidentId === first.incidentId);
  return isOne ? `incident.${first.incidentId}` : `notification.${first.cribl_notification}`;
}

/** Of an address, for the ids of mails. */
function hostOf(address: string): string {
  const host = domainToASCII(address.slice(address.lastIndexOf('@') + 1));
  return host === '' ? 'headgate.invalid' : host;
}
