import { domainToASCII } from 'node:url';
import { deliveryHintsOf } from '../../events/delivery-hints.ts';
import type { HeadgateEvent } from '../../events/event.ts';
import { factLines, reminderNote, utcTime } from '../../events/facts.ts';
import { SYSTEM_FIELDS } from '../../events/system-fields.ts';
import { renderTemplate, type Template } from '../../expressions/template.ts';
import { truncateToBytes } from '../../lib/text.ts';
import { type Mailbox, type MailConf, mailboxesOf } from '../recipients.ts';
import type { TemplateReporter } from '../template-warnings.ts';

/** A mail as the library takes it. Recipients are only in the envelope, so that blind copies stay blind. */
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

interface MailMessageContext extends MailContext {
  readonly from: string;
  readonly deliveryId: string;
}

export function composeMail(events: readonly HeadgateEvent[], context: MailMessageContext): MailMessage {
  const { from, conf, deliveryId, now } = context;
  const [sender = { name: '', address: '' }] = mailboxList(from);
  const { to, cc, bcc } = conf.emailRecipient;
  const shown = { to: mailboxList(to), cc: mailboxList(cc) };
  const all = [...shown.to, ...shown.cc, ...mailboxList(bcc)].map(({ address }) => address);
  const thread = `<${threadOf(events)}@${hostOf(sender.address)}>`;
  return {
    from: sender,
    ...shown,
    envelope: { from: sender.address, to: [...new Set(all)] },
    ...mailText(events, context),
    date: new Date(now),
    // The same on every attempt: many servers drop the second mail of one id.
    messageId: `<${deliveryId}@${hostOf(sender.address)}>`,
    inReplyTo: thread,
    references: thread,
    headers: {
      // RFC 3834 section 5, and the header that Exchange reads instead: no absence notice answers.
      'Auto-Submitted': 'auto-generated',
      'X-Auto-Response-Suppress': 'All',
    },
  };
}

const mailboxList = (list: string | undefined): Mailbox[] =>
  list === undefined
    ? []
    : mailboxesOf(list).map(({ name, address }) => ({ name: oneLine(name), address: oneLine(address) }));

/** The id of a mail that was never sent, which all mails of one incident answer: so readers show them together. */
function threadOf(events: readonly HeadgateEvent[]): string {
  const [first] = events;
  if (first === undefined) return 'nothing';
  const isOne = events.every(event => event.incidentId === first.incidentId);
  return isOne ? `incident.${first.incidentId}` : `notification.${first.cribl_notification}`;
}

/** Takes the host of an address, for the ids of mails. */
function hostOf(address: string): string {
  const host = domainToASCII(address.slice(address.lastIndexOf('@') + 1));
  return host === '' ? 'headgate.invalid' : host;
}

/** The texts of a mail. */
export interface MailText {
  /** One line without control characters. */
  readonly subject: string;
  readonly text: string;
  readonly html: string;
}

/** Longer subjects are not read, and some servers refuse them. */
const MAX_SUBJECT = 250;
/** Limit for the texts of events that share a mail. */
const MAX_TEXT_BYTES = 256 * 1024;
/** A template's output of this length has been cut, perhaps inside a tag. */
const TRUNCATED_BYTES = 64 * 1024 - 8;

/** The input of a mail beside its events. */
export interface MailContext {
  readonly conf: MailConf;
  /** Epoch ms. */
  readonly now: number;
  /** False where system fields are left out of our own text. */
  readonly showsSystemFields?: boolean | undefined;
  /** Reports the warnings of `subject` and `body`. */
  readonly report: TemplateReporter;
}

/** Makes the texts of a mail, by the notification's `conf` or else by default. */
export function mailText(events: readonly HeadgateEvent[], context: MailContext): MailText {
  const { conf } = context;
  const links = events.flatMap(({ incidentUrl, runbookUrl, silenceUrl }) =>
    [incidentUrl, runbookUrl, silenceUrl].filter(isWebAddress),
  );
  const ownBody = conf.body?.text.trimStart() ?? '';
  const isHtml = /^<[a-z!]/i.test(ownBody);
  const text = joinEvents(events, event => (isHtml ? defaultText(event, context) : ownText(event, context)));
  const markup = conf.body !== undefined && isHtml ? renderMarkup(events, conf.body, context) : undefined;
  return { subject: subjectOf(events, context), text, html: markup ?? wrapInPage(withLinks(text, links)) };
}

/** Falls back to our own text when a body is empty, as one whose places all fail: it alerts nobody. */
function ownText(event: HeadgateEvent, context: MailContext): string {
  const { body } = context.conf;
  const own = body === undefined ? '' : renderSetting('body', body, event, context);
  return /\S/u.test(own) ? own : defaultText(event, context);
}

function renderSetting(
  setting: string,
  template: Template,
  event: HeadgateEvent,
  { now, report, asText }: MailContext & { readonly asText?: (value: string) => string },
): string {
  const { text, ...rest } = renderTemplate(template, mailFields(event, now), asText);
  report(setting, rest);
  return text;
}

function subjectOf(events: readonly HeadgateEvent[], context: MailContext): string {
  const { subject } = context.conf;
  const [first] = events;
  if (first === undefined) return '';
  const own = subject === undefined ? '' : oneLine(renderSetting('subject', subject, first, context));
  const line =
    own === ''
      ? oneLine(`[${first.status}] ${first.cribl_notification}: ${first._raw}${reminderNote(first)}`)
      : own;
  const more = events.length > 1 ? ` (and ${events.length - 1} more)` : '';
  const characters = [...line];
  const maxLength = MAX_SUBJECT - more.length;
  return `${characters.length > maxLength ? `${characters.slice(0, maxLength - 1).join('')}…` : line}${more}`;
}

/** Cleans a text for a header: nothing that ends it or begins another, and only valid Unicode. */
const oneLine = (text: string): string =>
  text
    .replace(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, ' ')
    .replace(/\p{Surrogate}/gu, '\ufffd')
    .trim();

const joinEvents = (events: readonly HeadgateEvent[], write: (event: HeadgateEvent) => string): string =>
  withoutControls(truncateToBytes(events.map(write).join('\n\n----\n\n'), MAX_TEXT_BYTES));

/** Removes lone control characters: a line of a mail may not hold half an end of a line. */
const withoutControls = (text: string): string => text.replace(/(?![\n\t])\p{Cc}/gu, ' ');

/** Renders the body as markup and the values in it as text. Undefined when it is too long to be whole, or is empty. */
function renderMarkup(
  events: readonly HeadgateEvent[],
  body: Template,
  context: MailContext,
): string | undefined {
  const pages = events.map(event => renderSetting('body', body, event, { ...context, asText: inMarkup }));
  const isWhole = pages.every(
    one => Buffer.byteLength(one) < TRUNCATED_BYTES && /\S/u.test(withoutTags(one)),
  );
  const all = withoutControls(pages.join('<hr>'));
  return isWhole && Buffer.byteLength(all) <= MAX_TEXT_BYTES ? all : undefined;
}

/** A picture may be all that a mail shows. */
const withoutTags = (markup: string): string => markup.replace(/<(?!img\b)[^<>]*>/gi, '');

const DETAIL_FIELDS: readonly (readonly [field: string, label: string])[] = [
  ['bytes', 'Bytes'],
  ['dataVolume', 'Limit'],
  ['usage', 'Usage'],
  ['usageThreshold', 'Threshold'],
  ['health', 'Health'],
  ['timeWindow', 'Window'],
];

function defaultText(event: HeadgateEvent, { showsSystemFields = true }: MailContext): string {
  const line = (label: string, value: unknown): string[] =>
    value === undefined || value === null || value === '' ? [] : [`${label}: ${String(value)}`];
  const context = [
    ...line('Status', event.status),
    ...line('Severity', event.severity),
    ...line('Notification', event.cribl_notification),
    ...line('Time', utcTime(event._time * 1000)),
    ...factLines(event),
    ...DETAIL_FIELDS.flatMap(([field, label]) => line(label, event[field])),
    ...(showsSystemFields ? SYSTEM_FIELDS.flatMap(field => line(field, event[field])) : []),
  ];
  const rest = [
    ...line('Description', event.description),
    ...line('Runbook', event.runbookUrl),
    ...line('Incident', event.incidentUrl),
    ...line('Silence', event.silenceUrl),
  ];
  return [
    `${event._raw}${reminderNote(event)}`,
    context.join('\n'),
    ...(rest.length > 0 ? [rest.join('\n')] : []),
  ].join('\n\n');
}

/** The state of backpressure, in Cribl's words. */
function statusWord({ backpressure_type: type, status }: HeadgateEvent): string {
  if (type === undefined) return status;
  if (status === 'OK') return 'DISENGAGED';
  return Number(type) === 2 ? 'DROPPING' : 'BLOCKING';
}

/** Fields that subject and body may name: the event's fields, and Cribl's variables that only mail has. */
function mailFields(event: HeadgateEvent, now: number): Readonly<Record<string, unknown>> {
  const { __pipeline: pipeline, __worker_group: group } = deliveryHintsOf(event);
  return {
    // A single workspace needs no name.
    workspace: '',
    organization: '',
    worker_group: group,
    __worker_group: group,
    __pipeline: pipeline,
    timestamp: utcTime(now),
    timewindow: event.timeWindow,
    queue_usage: event.usageThreshold,
    name: event.input ?? event.output ?? event.key,
    ...event,
    status: statusWord(event),
  };
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

const escaped = (text: string): string => text.replace(/[&<>"']/g, character => ENTITIES[character] ?? '');

/** Drops addresses that run code where the template makes a value an address. Blanks in a scheme do not count. */
const inMarkup = (value: string): string =>
  escaped(
    /^(javascript|vbscript|data):/i.test(value.replace(/[\s\p{Cc}]/gu, '')) ? `unsafe:${value}` : value,
  );

const isWebAddress = (value: unknown): value is string =>
  typeof value === 'string' && /^https?:\/\/[^\s\p{Cc}]+$/u.test(value);

/** Renders the text as markup, with links for our own addresses in it. */
function withLinks(text: string, links: readonly string[]): string {
  const known = [...new Set(links)].sort((a, b) => b.length - a.length);
  let html = '';
  let at = 0;
  while (at < text.length) {
    const from = at;
    const [next] = known
      .map(link => ({ link, place: text.indexOf(link, from) }))
      .filter(({ place }) => place >= 0)
      .sort((a, b) => a.place - b.place || b.link.length - a.link.length);
    const end = next?.place ?? text.length;
    html += escaped(text.slice(at, end));
    if (next === undefined) break;
    html += `<a href="${escaped(next.link)}">${escaped(next.link)}</a>`;
    at = end + next.link.length;
  }
  return html;
}

const wrapInPage = (body: string): string =>
  `<!DOCTYPE html><html><head><meta charset="utf-8"></head><body><div style="font-family:sans-serif;white-space:pre-wrap">${body}</div></body></html>`;
