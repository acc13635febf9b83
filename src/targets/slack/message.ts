import type { HeadgateEvent } from '../../events/event.ts';
import { factsOf, reminderNote } from '../../events/facts.ts';
import { systemFieldLines } from '../../events/system-fields.ts';
import { truncate } from '../../lib/text.ts';

/** The body of an incoming webhook. Limits are Slack's: 50 blocks, 3000 characters a text, 10 elements a context. */
interface SlackMessage {
  /** The text in notifications of the phone and the desktop. */
  readonly text: string;
  readonly blocks: readonly Block[];
}

type Block =
  | { readonly type: 'section'; readonly text: Mrkdwn }
  | { readonly type: 'context'; readonly elements: readonly Mrkdwn[] };

interface Mrkdwn {
  readonly type: 'mrkdwn';
  readonly text: string;
  /** Names of channels and people in an event's text are no links. */
  readonly verbatim: true;
}

const MAX_TEXT = 3000;
/** Limit for an event that shares the message with others. */
const MAX_SHORT_TEXT = 300;
/** Number of events of a batch that are shown; the rest is counted. */
const MAX_SHOWN_EVENTS = 20;
const MAX_NAMED_NOTIFICATIONS = 10;
/** Limit for the address in a link, as it is written. */
const MAX_LINK = 2000;

/** `linesOf` gives the system fields of an event that are shown. */
export function slackMessage(
  events: readonly HeadgateEvent[],
  linesOf: LinesOf = systemFieldLines,
): SlackMessage {
  const [only] = events;
  return events.length === 1 && only !== undefined ? oneEvent(only, linesOf) : severalEvents(events, linesOf);
}

type LinesOf = (event: HeadgateEvent) => readonly string[];

function oneEvent(event: HeadgateEvent, linesOf: LinesOf): SlackMessage {
  const { description } = event;
  const links = [
    linkTo(event.incidentUrl, 'Incident'),
    linkTo(event.runbookUrl, 'Runbook'),
    linkTo(event.silenceUrl, 'Silence'),
  ].filter(isGiven);
  const details = [event.cribl_notification, event.severity].map(detail => escaped(detail, MAX_SHORT_TEXT));
  const inOneText = links.join(' · ');
  const notes = [
    // A context has ten elements at most.
    [[...details, dateOf(event._time)].filter(isGiven).join(' · '), factsText(event)]
      .filter(isGiven)
      .join('\n'),
    ...(inOneText.length <= MAX_TEXT ? [inOneText] : links),
    ...linesOf(event).map(line => escaped(line, MAX_SHORT_TEXT)),
  ].filter(isGiven);
  return {
    text: escaped(textOf(event), MAX_TEXT),
    blocks: [
      section(headline(event, MAX_TEXT)),
      ...(isText(description) ? [section(escaped(description, MAX_TEXT))] : []),
      context(notes),
    ],
  };
}

function severalEvents(events: readonly HeadgateEvent[], linesOf: LinesOf): SlackMessage {
  const alarms = events.filter(({ status }) => status === 'ALARM').length;
  const counts = [`${alarms} ALARM`, `${events.length - alarms} OK`].filter(text => !text.startsWith('0 '));
  const title = `${events.length} messages: ${counts.join(', ')}`;
  const shown = events.slice(0, MAX_SHOWN_EVENTS);
  const rest = events.slice(MAX_SHOWN_EVENTS);
  return {
    text: escaped(`${title}. ${shown.map(textOf).join('; ')}`, MAX_TEXT),
    blocks: [
      section(`*${title}*`),
      ...shown.map(event => section(`${headline(event, MAX_SHORT_TEXT)}\n${notesOf(event, linesOf)}`)),
      ...(rest.length > 0 ? [context([escaped(restOf(rest), MAX_TEXT)])] : []),
    ],
  };
}

function notesOf(event: HeadgateEvent, linesOf: LinesOf): string {
  const own = [event.cribl_notification, event.severity, ...linesOf(event)].join(' · ');
  const texts = [escaped(own, MAX_SHORT_TEXT), factsText(event), linkTo(event.incidentUrl, 'Incident')];
  return texts.filter(isGiven).join(' · ');
}

/** Where it happened, what was there before, and since when it lasts, unless since now. */
const factsText = (event: HeadgateEvent): string =>
  factsOf(event)
    .filter(({ at }) => at !== event._time)
    .map(({ label, text, at, note }) => {
      const value = (at === undefined ? undefined : dateOf(at)) ?? escaped(text, MAX_SHORT_TEXT);
      return `${label}: ${value}${note === undefined ? '' : ` (${note})`}`;
    })
    .join(' · ');

/** Counts the events that are not shown, by notification, so that none is omitted silently. */
function restOf(events: readonly HeadgateEvent[]): string {
  const counts = new Map<string, number>();
  for (const { cribl_notification: id } of events) counts.set(id, (counts.get(id) ?? 0) + 1);
  const named = [...counts]
    .slice(0, MAX_NAMED_NOTIFICATIONS)
    .map(([id, count]) => `${truncate(id, 100)} ${count}`);
  const others = counts.size - named.length;
  return `and ${events.length} more: ${named.join(', ')}${others > 0 ? ` and ${others} other notifications` : ''}`;
}

const headline = (event: HeadgateEvent, max: number): string => {
  const mark = event.status === 'OK' ? '🟢' : (MARKS[event.severity] ?? MARKS.error);
  return `${mark} ${escaped(textOf(event), max - 3)}`;
};

const MARKS = { info: '🔵', warn: '🟠', error: '🔴', fatal: '🔴' } as const;

/** Slack refuses a message without a text. */
const textOf = (event: HeadgateEvent): string =>
  `${isText(event._raw) ? event._raw : `${event.cribl_notification}: ${event.status}`}${reminderNote(event)}`;

const isText = (value: unknown): value is string => typeof value === 'string' && /\S/u.test(value);
const isGiven = (text: string | undefined): text is string => text !== undefined && text !== '';

/** Shows each reader the time in the own time zone; the text behind the bar is for clients that cannot. */
function dateOf(seconds: number): string | undefined {
  const time = new Date(seconds * 1000);
  if (!Number.isSafeInteger(seconds) || Number.isNaN(time.getTime())) return undefined;
  return `<!date^${seconds}^{date_short_pretty} {time_secs}|${time.toISOString()}>`;
}

function linkTo(url: unknown, label: string): string | undefined {
  if (typeof url !== 'string' || !URL.canParse(url)) return undefined;
  const { href, protocol } = new URL(url);
  const written = href.replaceAll('|', '%7C').replaceAll('&', '&amp;');
  return /^https?:$/.test(protocol) && written.length <= MAX_LINK ? `<${written}|${label}>` : undefined;
}

/** The only three characters that have a meaning in Slack. */
const ENTITIES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;' };
const escaped = (text: string, max: number): string =>
  truncate(text, max, character => ENTITIES[character] ?? character);

const mrkdwn = (text: string): Mrkdwn => ({ type: 'mrkdwn', text, verbatim: true });
const section = (text: string): Block => ({ type: 'section', text: mrkdwn(text) });
const context = (texts: readonly string[]): Block => ({ type: 'context', elements: texts.map(mrkdwn) });
