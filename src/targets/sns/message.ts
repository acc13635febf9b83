import type { HeadgateEvent } from '../../events/event.ts';
import { factLine, factLines, reminderNote } from '../../events/facts.ts';
import { SYSTEM_FIELDS } from '../../events/system-fields.ts';
import { truncateToBytes } from '../../lib/text.ts';

/** The input of SNS, for every kind of destination. */
export interface SnsMessage {
  readonly text: string;
  readonly subject: string;
  readonly attributes: Readonly<Record<string, Attribute>>;
}

interface Attribute {
  readonly DataType: 'String';
  readonly StringValue: string;
}

/** Limits of Publish: the message with its attributes in bytes, a subject in characters, a short message in characters. */
const MAX_BYTES = 262_144;
const MAX_SUBJECT = 99;
const MAX_SHORT_TEXT = 1600;
const MAX_ATTRIBUTE_BYTES = 1024;

/** Makes one message of the events, with the attributes of the first. */
export function snsMessage(events: readonly HeadgateEvent[]): SnsMessage {
  const [event] = events;
  const attributes = event === undefined ? {} : attributesOf(event);
  const more = events.length > 1 ? ` (and ${events.length - 1} more)` : '';
  const taken = Object.entries(attributes).reduce(
    (sum, [name, { DataType, StringValue }]) => sum + Buffer.byteLength(name + DataType + StringValue),
    0,
  );
  const text = events.map(textOf).join('\n\n----\n\n');
  return {
    text: truncate(text === '' ? EMPTY_TEXT : text, MAX_BYTES - taken),
    subject: event === undefined ? '' : subjectOf(event, more),
    attributes,
  };
}

const textOf = (event: HeadgateEvent): string =>
  [
    `${event._raw}${reminderNote(event)}`,
    factLines(event).join('\n'),
    ...['description', 'runbookUrl', 'incidentUrl'].flatMap(field => event[field] ?? []),
  ]
    .map(part => toXmlText(String(part)))
    .filter(part => part !== '')
    .join('\n\n');

/** The text for a phone, within what a number of short messages may hold. */
export function shortText(event: HeadgateEvent): string {
  const { _raw: raw, incidentUrl: url } = event;
  // One character beyond the alphabet of phones makes a text cost twice as much.
  const text = `${raw.slice(0, 2 * MAX_SHORT_TEXT)}${reminderNote(event).replace('–', '-')}`;
  const facts = factLine(event).replaceAll(' · ', ', ');
  const parts = [text, facts, ...(typeof url === 'string' ? [url.slice(0, MAX_SHORT_TEXT)] : [])];
  const whole = parts.map(toXmlText).filter(part => part !== '');
  const characters = [...`${event.status}: ${whole.join('\n')}`];
  // Counted in UTF-16 units, of which a character may take two.
  let units = 0;
  const end = characters.findIndex(character => {
    units += character.length;
    return units > MAX_SHORT_TEXT - 1;
  });
  return end < 0 ? characters.join('') : `${characters.slice(0, end).join('')}…`;
}

const EMPTY_TEXT = '(no text)';
const TRUNCATION_MARK = '\n[cut]';

const truncate = (text: string, max: number): string =>
  Buffer.byteLength(text) <= max
    ? text
    : truncateToBytes(text, max - TRUNCATION_MARK.length) + TRUNCATION_MARK;

/** Keeps the characters of XML 1.0, which SNS and its subscribers use. */
const toXmlText = (text: string): string =>
  text
    .replace(/\r\n?/g, '\n')
    .replace(/[\p{Surrogate}\ufffe\uffff]/gu, '\ufffd')
    .replace(/(?![\n\t])\p{Cc}/gu, ' ')
    .trim();

const LETTERS: Readonly<Record<string, string>> = {
  ß: 'ss',
  æ: 'ae',
  Æ: 'AE',
  ø: 'o',
  Ø: 'O',
  ł: 'l',
  Ł: 'L',
  đ: 'd',
  Đ: 'D',
  œ: 'oe',
  Œ: 'OE',
  '–': '-',
  '—': '-',
  '…': '...',
};

/** ASCII on one line, under 100 characters, with a letter, digit or mark first. */
function subjectOf(event: HeadgateEvent, more: string): string {
  const { _raw, cribl_notification: id, status } = event;
  const ascii = `[${status}] ${id}: ${_raw}${reminderNote(event)}`
    .replace(/[ßæÆøØłŁđĐœŒ–—…]/g, letter => LETTERS[letter] ?? '?')
    .normalize('NFKD')
    .replace(/\p{Mark}/gu, '')
    .replace(/[\s\p{Cc}]+/gu, ' ')
    .replace(/[^\x20-\x7e]/gu, '?')
    .trim();
  return `${ascii.slice(0, MAX_SUBJECT - more.length).trimEnd()}${more}`;
}

/** At most ten: raw delivery to a queue drops messages that have more. */
function attributesOf(event: HeadgateEvent): Readonly<Record<string, Attribute>> {
  const own = ['status', 'severity', 'condition', 'cribl_notification', 'incidentId', 'id'];
  const system = SYSTEM_FIELDS.filter(field => Object.hasOwn(event, field));
  return Object.fromEntries(
    [...own, ...system].slice(0, MAX_ATTRIBUTES).flatMap(name => {
      const value = truncateToBytes(toXmlText(String(event[name] ?? '')), MAX_ATTRIBUTE_BYTES);
      // SNS refuses an empty value.
      return value === '' ? [] : [[name, { DataType: 'String', StringValue: value } as const] as const];
    }),
  );
}

const MAX_ATTRIBUTES = 10;
