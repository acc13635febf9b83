import type { HeadgateEvent } from '../../events/event.ts';
import { DEFAULT_LIMITS } from '../../expressions/evaluation.ts';
import type { Expression } from '../../expressions/expression.ts';
import { reasonOf } from '../../lib/errors.ts';
import { DEFAULT_PAYLOAD, type WebhookSettings } from './settings.ts';

type BodySettings = Pick<
  WebhookSettings,
  'format' | 'srcExpression' | 'customDropWhenNull' | 'customEventDelimiter' | 'customPayloadExpression'
>;

/**
 * Renders the body of the events, before compression; undefined when every event was dropped. An expression that fails
 * is reported to `warn`, and the events are sent without it.
 */
export function renderBody(
  events: readonly HeadgateEvent[],
  settings: BodySettings,
  warn: (reason: string) => void,
): string | undefined {
  const { format, srcExpression: source } = settings;
  if (source === undefined) return frameTexts(events.map(wholeEvent), settings, warn);
  const texts = events.flatMap(event => renderEvent(event, source, settings, warn) ?? []);
  if (texts.length === 0 && events.length > 0) return undefined;
  return frameTexts(format === 'json_array' ? texts.map(asJson) : texts.map(asText), settings, warn);
}

/** True when the event is not sent, because its expression gives nothing. */
export function isDropped(
  event: HeadgateEvent,
  { customDropWhenNull, srcExpression }: Pick<BodySettings, 'customDropWhenNull' | 'srcExpression'>,
): boolean {
  if (!customDropWhenNull || srcExpression === undefined) return false;
  try {
    return (srcExpression.evaluate(event) ?? null) === null;
  } catch {
    // The whole event is sent, and then the warning.
    return false;
  }
}

const wholeEvent = (event: HeadgateEvent): string => JSON.stringify(event);
const asJson = (value: unknown): string => JSON.stringify(value);
const asText = (value: unknown): string => (typeof value === 'string' ? value : asJson(value));

function frameTexts(
  texts: readonly string[],
  settings: BodySettings,
  warn: (reason: string) => void,
): string {
  if (settings.format === 'json_array') return `[${texts.join(',')}]`;
  if (settings.format === 'ndjson') return texts.map(text => `${text}\n`).join('');
  const joined = texts.join(settings.customEventDelimiter);
  return settings.customPayloadExpression.text === DEFAULT_PAYLOAD
    ? joined
    : wrapPayload(joined, settings.customPayloadExpression, warn);
}

/** Renders one event; undefined when it is dropped. */
function renderEvent(
  event: HeadgateEvent,
  source: Expression,
  { customDropWhenNull }: BodySettings,
  warn: (reason: string) => void,
): unknown {
  try {
    const value = source.evaluate(event);
    if (value !== undefined && value !== null) return value;
    return customDropWhenNull ? undefined : event;
  } catch (error) {
    warn(`srcExpression: ${reasonOf(error)}; the whole event is sent`);
    return event;
  }
}

/** The expression may repeat the events a few times, however long they are. */
function wrapPayload(events: string, payload: Expression, warn: (reason: string) => void): string {
  try {
    const characters = 2 * events.length + DEFAULT_LIMITS.characters;
    const value = payload.evaluate({ events }, { ...DEFAULT_LIMITS, characters });
    if (value !== undefined && value !== null) return asText(value);
    warn('customPayloadExpression: it gives nothing; the events are sent without it');
  } catch (error) {
    warn(`customPayloadExpression: ${reasonOf(error)}; the events are sent without it`);
  }
  return events;
}
