import type { HeadgateEvent } from '../../events/event.ts';
import { factLines, reminderNote } from '../../events/facts.ts';
import { DEFAULT_LIMITS } from '../../expressions/evaluation.ts';
import type { Expression } from '../../expressions/expression.ts';
import { reasonOf } from '../../lib/errors.ts';
import { wellFormedJson } from '../../lib/text.ts';
import {
  DEFAULT_PAYLOAD,
  FACTS_FIELD,
  OPTIONS_FIELD,
  REMINDER_FIELD,
  type WebhookSettings,
} from './settings.ts';

type BodySettings = Pick<
  WebhookSettings,
  | 'options'
  | 'format'
  | 'srcExpression'
  | 'resolveExpression'
  | 'customDropWhenNull'
  | 'customEventDelimiter'
  | 'customPayloadExpression'
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
  const { format, srcExpression, resolveExpression } = settings;
  if (srcExpression === undefined && resolveExpression === undefined)
    return frameTexts(events.map(wholeEvent), settings, warn);
  const texts = events.flatMap(event => renderEvent(event, settings, warn) ?? []);
  if (texts.length === 0 && events.length > 0) return undefined;
  return frameTexts(format === 'json_array' ? texts.map(asJson) : texts.map(asText), settings, warn);
}

/** True when the event is not sent, because its expression gives nothing. */
export function isDropped(event: HeadgateEvent, settings: ExpressionSettings): boolean {
  const { expression } = expressionFor(event, settings);
  if (!settings.customDropWhenNull || expression === undefined) return false;
  try {
    return (expression.evaluate(forExpression(expression, event, settings)) ?? null) === null;
  } catch {
    // The whole event is sent, and then the warning.
    return false;
  }
}

type ExpressionSettings = Pick<
  BodySettings,
  'options' | 'customDropWhenNull' | 'srcExpression' | 'resolveExpression'
>;

/** The event with what only expressions read, which is no part of it where all of it is sent. */
const forExpression = (
  { names }: Expression,
  event: HeadgateEvent,
  { options }: Pick<BodySettings, 'options'>,
): HeadgateEvent =>
  Object.defineProperties(
    { ...event },
    {
      ...(options !== undefined && { [OPTIONS_FIELD]: { value: options } }),
      ...(names.includes(FACTS_FIELD) && { [FACTS_FIELD]: { value: factLines(event).join('\n') } }),
      ...(names.includes(REMINDER_FIELD) && { [REMINDER_FIELD]: { value: reminderNote(event) } }),
    },
  );

/** What an event is made into by, and the name of the setting. */
function expressionFor(
  { status }: HeadgateEvent,
  { srcExpression, resolveExpression }: Pick<ExpressionSettings, 'srcExpression' | 'resolveExpression'>,
): { readonly name: string; readonly expression: Expression | undefined } {
  return status === 'OK' && resolveExpression !== undefined
    ? { name: 'resolveExpression', expression: resolveExpression }
    : { name: 'srcExpression', expression: srcExpression };
}

/** Why an event is not sent whose expression gives nothing. */
export const droppedBy = (event: HeadgateEvent, settings: ExpressionSettings): string =>
  `dropped by ${expressionFor(event, settings).name}`;

const wholeEvent = (event: HeadgateEvent): string => wellFormedJson(event);
const asJson = (value: unknown): string => wellFormedJson(value);
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
  settings: ExpressionSettings,
  warn: (reason: string) => void,
): unknown {
  const { name, expression } = expressionFor(event, settings);
  if (expression === undefined) return event;
  try {
    const value = expression.evaluate(forExpression(expression, event, settings));
    if (value !== undefined && value !== null) return value;
    return settings.customDropWhenNull ? undefined : event;
  } catch (error) {
    warn(`${name}: ${reasonOf(error)}; the whole event is sent`);
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

/** Adds the members that no expression reads, such as keys, to a body that is one JSON object. */
export function withMembers(text: string, all: Readonly<Record<string, string>>): string {
  const members = Object.entries(all).map(
    ([name, value]) => `${JSON.stringify(name)}:${JSON.stringify(value)}`,
  );
  if (members.length === 0 || !/^\{\s*"/.test(text)) return text;
  return `{${members.join(',')},${text.slice(1)}`;
}
