import type { HeadgateEvent } from '../events/event.ts';
import { steeringOf } from '../events/steering.ts';
import { SYSTEM_FIELDS } from '../events/system-fields.ts';
import { rendered, type Template } from '../expressions/template.ts';
import { cutToBytes } from '../lib/bytes.ts';
import type { MailConf } from './mail-conf.ts';
import type { Note } from './template-notes.ts';

/** What a mail says. */
export interface MailText {
  /** One line without control characters. */
  readonly subject: string;
  readonly text: string;
  readonly html: string;
}

/** Beyond it nobody reads, and some servers refuse. */
const MOST_SUBJECT = 250;
/** Of the texts of events that share a mail. */
const MOST_TEXT_BYTES = 256 * 1024;
/** A template's output that is as long as that has been cut, perhaps inside a tag. */
const CUT_BYTES = 64 * 1024 - 8;

/** What a mail is made of beside its events. */
export interface MailFacts {
  readonly conf: MailConf;
  /** Epoch ms. */
  readonly now: number;
  /** Told what came of `subject` and `body`. */
  readonly note: Note;
}

/** What stands in the mail, by the notification's `conf` or else by ourselves. */
export function mailText(events: readonly HeadgateEvent[], facts: MailFacts): MailText {
  const { conf } = facts;
  const links = events.flatMap(({ incidentUrl, runbookUrl }) =>
    [incidentUrl, runbookUrl].filter(isWebAddress),
  );
  const ownBody = conf.body?.text.trimStart() ?? '';
  const isHtml = /^<[a-z!]/i.test(ownBody);
  const text = joined(events, event => (isHtml ? builtIn(event) : ownText(event, facts)));
  const markup = conf.body !== undefined && isHtml ? markupOf(events, conf.body, facts) : undefined;
  return { subject: subjectOf(events, facts), text, html: markup ?? page(linked(text, links)) };
}

/** A body that says nothing of an event, as one whose places all fail, tells nobody of an alarm. */
function ownText(event: HeadgateEvent, facts: MailFacts): string {
  const { body } = facts.conf;
  const own = body === undefined ? '' : written('body', body, event, facts);
  return /\S/u.test(own) ? own : builtIn(event);
}

function written(
  setting: string,
  template: Template,
  event: HeadgateEvent,
  { now, note, asText }: MailFacts & { readonly asText?: (value: string) => string },
): string {
  const { text, ...rest } = rendered(template, mailFields(event, now), asText);
  note(setting, rest);
  return text;
}

function subjectOf(events: readonly HeadgateEvent[], facts: MailFacts): string {
  const { subject } = facts.conf;
  const [first] = events;
  if (first === undefined) return '';
  const own = subject === undefined ? '' : oneLine(written('subject', subject, first, facts));
  const line = own === '' ? oneLine(`[${first.status}] ${first.cribl_notification}: ${first._raw}`) : own;
  const more = events.length > 1 ? ` (and ${events.length - 1} more)` : '';
  const characters = [...line];
  const room = MOST_SUBJECT - more.length;
  return `${characters.length > room ? `${characters.slice(0, room - 1).join('')}…` : line}${more}`;
}

/** For a header: nothing that ends it or begins another, and nothing that is no Unicode. */
export const oneLine = (text: string): string =>
  text
    .replace(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, ' ')
    .replace(/\p{Surrogate}/gu, '\ufffd')
    .trim();

const joined = (events: readonly HeadgateEvent[], write: (event: HeadgateEvent) => string): string =>
  withoutControls(cutToBytes(events.map(write).join('\n\n----\n\n'), MOST_TEXT_BYTES));

/** A line of a mail may not hold half an end of a line. */
const withoutControls = (text: string): string => text.replace(/(?![\n\t])\p{Cc}/gu, ' ');

/** The body is markup and the values in it are text. Undefined when it is too long to be whole, or says nothing. */
function markupOf(events: readonly HeadgateEvent[], body: Template, facts: MailFacts): string | undefined {
  const pages = events.map(event => written('body', body, event, { ...facts, asText: inMarkup }));
  const isWhole = pages.every(one => Buffer.byteLength(one) < CUT_BYTES && /\S/u.test(withoutTags(one)));
  const all = withoutControls(pages.join('<hr>'));
  return isWhole && Buffer.byteLength(all) <= MOST_TEXT_BYTES ? all : undefined;
}

/** A picture may say all there is to say. */
const withoutTags = (markup: string): string => markup.replace(/<(?!img\b)[^<>]*>/gi, '');

const FACTS: readonly (readonly [field: string, label: string])[] = [
  ['bytes', 'Bytes'],
  ['dataVolume', 'Limit'],
  ['usage', 'Usage'],
  ['usageThreshold', 'Threshold'],
  ['health', 'Health'],
  ['timeWindow', 'Window'],
];

function builtIn(event: HeadgateEvent): string {
  const line = (label: string, value: unknown): string[] =>
    value === undefined || value === null || value === '' ? [] : [`${label}: ${String(value)}`];
  const facts = [
    ...line('Status', event.status),
    ...line('Severity', event.severity),
    ...line('Notification', event.cribl_notification),
    ...line('Since', event.status === 'ALARM' ? utc(event.starttime * 1000) : undefined),
    ...line('Time', utc(event._time * 1000)),
    ...FACTS.flatMap(([field, label]) => line(label, event[field])),
    ...line('Pipeline', steeringOf(event).__pipeline),
    ...SYSTEM_FIELDS.flatMap(field => line(field, event[field])),
  ];
  const rest = [
    ...line('Description', event.description),
    ...line('Runbook', event.runbookUrl),
    ...line('Incident', event.incidentUrl),
  ];
  return [event._raw, facts.join('\n'), ...(rest.length > 0 ? [rest.join('\n')] : [])].join('\n\n');
}

/** `2019-08-04 18:22:24 UTC`; empty for what is no time. */
function utc(ms: number): string {
  const time = new Date(ms);
  return Number.isNaN(time.getTime()) ? '' : `${time.toISOString().slice(0, 19).replace('T', ' ')} UTC`;
}

/** Of backpressure, in the words of the family. */
function statusWord({ backpressure_type: type, status }: HeadgateEvent): string {
  if (type === undefined) return status;
  if (status === 'OK') return 'DISENGAGED';
  return Number(type) === 2 ? 'DROPPING' : 'BLOCKING';
}

/** What subject and body may name: the event's fields, and the family's variables that only mail has. */
function mailFields(event: HeadgateEvent, now: number): Readonly<Record<string, unknown>> {
  const { __pipeline: pipeline, __worker_group: group } = steeringOf(event);
  return {
    // One workspace has no name to tell.
    workspace: '',
    organization: '',
    worker_group: group,
    __worker_group: group,
    __pipeline: pipeline,
    timestamp: utc(now),
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

/** Where the template makes a value an address, it must be none that runs. Blanks in a scheme do not count. */
const inMarkup = (value: string): string =>
  escaped(
    /^(javascript|vbscript|data):/i.test(value.replace(/[\s\p{Cc}]/gu, '')) ? `unsafe:${value}` : value,
  );

const isWebAddress = (value: unknown): value is string =>
  typeof value === 'string' && /^https?:\/\/[^\s\p{Cc}]+$/u.test(value);

/** The text as markup, the addresses in it that are ours to vouch for as links. */
function linked(text: string, links: readonly string[]): string {
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

const page = (body: string): string =>
  `<!DOCTYPE html><html><head><meta charset="utf-8"></head><body><div style="font-family:sans-serif;white-space:pre-wrap">${body}</div></body></html>`;
