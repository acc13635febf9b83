import { formatDuration } from '../lib/duration.ts';
import { truncate } from '../lib/text.ts';
import { deliveryHintsOf } from './delivery-hints.ts';
import type { HeadgateEvent } from './event.ts';

/**
 * Fields with which a message stands alone: where it happened, what was there before, and since when it lasts. Metadata
 * of a notification and senders of external events may have fields of these names, which replace them.
 */
export const FACT_FIELDS = [
  'pipeline',
  'host',
  'lastDataAt',
  'usualEventsPerSecond',
  'usualBytesPerSecond',
  'since',
  'reminder',
] as const;

export type EventFacts = { readonly [field in (typeof FACT_FIELDS)[number]]?: string | number };

/** What an event says of one of them, for people. */
interface Fact {
  readonly label: string;
  readonly text: string;
  /** The time that `text` is, in epoch seconds, for readers that are shown times in their own zone. */
  readonly at?: number;
  readonly note?: string;
}

/** ` – still, for 25s (reminder 2)` behind the text of a reminder; empty for every other event. */
export function reminderNote({ _time: time, reminder, since }: HeadgateEvent): string {
  if (typeof reminder !== 'number' || typeof since !== 'number' || !Number.isSafeInteger(reminder)) return '';
  return ` – still, for ${lasting(since, time)} (reminder ${reminder})`;
}

/** The facts that an event has, in the order in which people ask for them. What is no text or no time is omitted. */
export function factsOf(event: HeadgateEvent): readonly Fact[] {
  const { _time: now, host, lastDataAt, since, status } = event;
  const pipeline = isText(event.pipeline) ? event.pipeline : deliveryHintsOf(event).__pipeline;
  const rates = usualRates(event);
  return [
    ...(isText(pipeline) ? [{ label: 'Pipeline', text: truncate(pipeline, MAX_NAME) }] : []),
    ...(isText(host) ? [{ label: 'Host', text: truncate(host, MAX_NAME) }] : []),
    ...timeFact('Last data', lastDataAt, at => `${lasting(at, now)} before`),
    ...(rates === '' ? [] : [{ label: 'Usual rate', text: rates, note: 'mean of 24h' }]),
    ...timeFact(status === 'OK' ? 'Alarm since' : 'Since', since, at =>
      at < now ? `for ${lasting(at, now)}` : undefined,
    ),
  ];
}

/** Metadata may make them of any length. */
const MAX_NAME = 300;

const isText = (value: unknown): value is string => typeof value === 'string' && /\S/u.test(value);

function timeFact(label: string, at: unknown, noteOf: (at: number) => string | undefined): readonly Fact[] {
  if (typeof at !== 'number' || !Number.isSafeInteger(at)) return [];
  const text = utcTime(at * 1000);
  if (text === '') return [];
  const note = noteOf(at);
  return [{ label, text, at, ...(note !== undefined && { note }) }];
}

const lasting = (from: number, to: number): string => formatDuration(Math.max(0, to - from) * 1000);

/** `2019-08-04 18:22:24 UTC`; empty for an invalid time, in epoch ms. */
export function utcTime(ms: number): string {
  const time = new Date(ms);
  return Number.isNaN(time.getTime()) ? '' : `${time.toISOString().slice(0, 19).replace('T', ' ')} UTC`;
}

const usualRates = ({ usualEventsPerSecond: events, usualBytesPerSecond: bytes }: HeadgateEvent): string =>
  [perTime(events, 'events'), perTime(bytes, 'B')].filter(text => text !== '').join(', ');

/** In the time in which at least one comes. */
function perTime(perSecond: unknown, unit: string): string {
  if (typeof perSecond !== 'number' || !Number.isFinite(perSecond) || perSecond < 0) return '';
  if (perSecond === 0 || perSecond >= 1) return `${scaled(perSecond, unit)}/s`;
  return perSecond * 60 >= 1 ? `${scaled(perSecond * 60, unit)}/min` : `${scaled(perSecond * 3600, unit)}/h`;
}

const SCALES = ['', 'k', 'M', 'G', 'T'] as const;

function scaled(value: number, unit: string): string {
  const exponent = Math.min(SCALES.length - 1, Math.max(0, Math.floor(Math.log10(Math.max(value, 1)) / 3)));
  const number = Number((value / 1000 ** exponent).toPrecision(3));
  return unit === 'B' ? `${number} ${SCALES[exponent] ?? ''}B` : `${number}${SCALES[exponent] ?? ''} ${unit}`;
}

const withNote = ({ text, note }: Fact): string => (note === undefined ? text : `${text} (${note})`);

/** `Host: edge-1:9598`, one line for each fact. */
export const factLines = (event: HeadgateEvent): readonly string[] =>
  factsOf(event).map(fact => `${fact.label}: ${withNote(fact)}`);

/** `pipeline edge · host edge-1:9598`: all facts in one line; empty when there are none. */
export const factLine = (event: HeadgateEvent): string =>
  factsOf(event)
    .map(fact => `${fact.label.charAt(0).toLowerCase()}${fact.label.slice(1)} ${withNote(fact)}`)
    .join(' · ');

/** The text of an event, with what makes it stand alone in a line below. */
export const standaloneText = (event: HeadgateEvent): string =>
  [`${event._raw}${reminderNote(event)}`, factLine(event)].filter(text => text !== '').join('\n');
