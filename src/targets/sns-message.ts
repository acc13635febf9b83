import type { HeadgateEvent } from '../events/event.ts';
import { SYSTEM_FIELDS } from '../events/system-fields.ts';
import { cutToBytes } from '../lib/bytes.ts';

/** What SNS is given, whoever it goes to. */
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
const MOST_BYTES = 262_144;
const MOST_SUBJECT = 99;
const MOST_SHORT = 1600;
const MOST_ATTRIBUTE_BYTES = 1024;

/** Of several events that go as one, the attributes are the first's. */
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
    text: shortened(text === '' ? NOTHING : text, MOST_BYTES - taken),
    subject: event === undefined ? '' : subjectOf(event, more),
    attributes,
  };
}

const textOf = (event: HeadgateEvent): string =>
  [event._raw, ...['description', 'runbookUrl', 'incidentUrl'].flatMap(field => event[field] ?? [])]
    .map(part => readable(String(part)))
    .filter(part => part !== '')
    .join('\n\n');

/** For a phone: what happened, within what a number of short messages may hold. */
export function shortText({ _raw, status }: HeadgateEvent): string {
  const characters = [...`${status}: ${readable(_raw.slice(0, 2 * MOST_SHORT))}`];
  // Counted in UTF-16 units, of which a character may take two.
  let units = 0;
  const end = characters.findIndex(character => {
    units += character.length;
    return units > MOST_SHORT - 1;
  });
  return end < 0 ? characters.join('') : `${characters.slice(0, end).join('')}…`;
}

const NOTHING = '(no text)';
const CUT = '\n[cut]';

const shortened = (text: string, most: number): string =>
  Buffer.byteLength(text) <= most ? text : cutToBytes(text, most - CUT.length) + CUT;

/** Characters that XML 1.0 has, in which SNS and its subscribers speak. */
const readable = (text: string): string =>
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
function subjectOf({ _raw, cribl_notification: id, status }: HeadgateEvent, more: string): string {
  const ascii = `[${status}] ${id}: ${_raw}`
    .replace(/[ßæÆøØłŁđĐœŒ–—…]/g, letter => LETTERS[letter] ?? '?')
    .normalize('NFKD')
    .replace(/\p{Mark}/gu, '')
    .replace(/[\s\p{Cc}]+/gu, ' ')
    .replace(/[^\x20-\x7e]/gu, '?')
    .trim();
  return `${ascii.slice(0, MOST_SUBJECT - more.length).trimEnd()}${more}`;
}

/** At most ten: raw delivery to a queue drops messages that have more. */
function attributesOf(event: HeadgateEvent): Readonly<Record<string, Attribute>> {
  const own = ['status', 'severity', 'condition', 'cribl_notification', 'incidentId', 'id'];
  const system = SYSTEM_FIELDS.filter(field => Object.hasOwn(event, field));
  return Object.fromEntries(
    [...own, ...system].slice(0, MOST_ATTRIBUTES).flatMap(name => {
      const value = cutToBytes(readable(String(event[name] ?? '')), MOST_ATTRIBUTE_BYTES);
      // SNS refuses what is empty.
      return value === '' ? [] : [[name, { DataType: 'String', StringValue: value } as const] as const];
    }),
  );
}

const MOST_ATTRIBUTES = 10;
