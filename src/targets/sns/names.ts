import * as z from 'zod';
import type { HeadgateEvent } from '../../events/event.ts';
import { type FieldValues, ownValue } from '../../expressions/evaluation.ts';
import {
  type CompiledExpression,
  compileExpressionOrText,
  type Expression,
} from '../../expressions/expression.ts';
import { reasonOf } from '../../lib/errors.ts';
import { expressionSetting, type TemplateSetting } from '../declarations.ts';

const MAX_LENGTH = 2048;

/** Keeps an ARN, an address or an empty text as it is; all else is an expression, such as a text in quotes. */
function compileTopic(text: string): CompiledExpression {
  const isPlain = text === '' || (/^(arn:|https?:\/\/)/.test(text) && !text.includes('${'));
  return isPlain ? reading(text, () => text) : withQuoteHint(compileExpressionOrText(text));
}

/**
 * Reads a word as the field of that name where the event has one, and otherwise as itself, as words such as `team-a`
 * are; all else is an expression.
 */
function compileGroup(text: string): CompiledExpression {
  if (!/^[\w:@=+/-]*$/.test(text)) return withQuoteHint(compileExpressionOrText(text));
  return reading(text, fields => (Object.hasOwn(fields, text) ? ownValue(fields, text) : text));
}

const reading = (text: string, evaluate: Expression['evaluate']): CompiledExpression => ({
  ok: true,
  expression: { text, names: [], evaluate, toJSON: () => text },
});

const withQuoteHint = (compiled: CompiledExpression): CompiledExpression =>
  compiled.ok ? compiled : { ok: false, problem: `${compiled.problem}; a text stands in quotes of its own` };

const readBy = (compile: (text: string) => CompiledExpression) =>
  z
    .string()
    .max(MAX_LENGTH)
    .transform((text, context): Expression => {
      const compiled = compile(text);
      if (compiled.ok) return compiled.expression;
      context.addIssue({ code: 'custom', message: compiled.problem, input: text });
      return z.NEVER;
    });

export const topicName = readBy(compileTopic);
export const groupName = readBy(compileGroup);

/** Raised for an event for which an expression gives no name; the message gives the reason. */
export class NameMissing extends Error {}

/** Evaluates the setting `name` for the event. Throws `NameMissing`. */
function evaluateName(name: string, expression: Expression, event: FieldValues): string {
  const value = resultOf(name, expression, event);
  const isName = typeof value === 'string' || (typeof value === 'number' && Number.isFinite(value));
  const text = isName ? String(value).trim() : '';
  if (text === '') throw new NameMissing(`${name}: ${expression.text} gives no text for this event`);
  return text;
}

/** The group of the event's message: its notification's, where the setting is empty or gives no text for the event. */
export function evaluateGroup(
  event: HeadgateEvent,
  setting: Expression,
  warn: (reason: string) => void,
): string {
  if (setting.text === '') return event.cribl_notification;
  try {
    return evaluateName('messageGroupId', setting, event);
  } catch (error) {
    if (!(error instanceof NameMissing)) throw error;
    warn(`${error.message}; the group is the notification's id`);
    return event.cribl_notification;
  }
}

/** An ARN, or the form of a topic in services compatible with SNS. */
const TOPIC = /^(arn:[\w:.+=@/-]+|https?:\/\/[\x21-\x7e]+)$/;
const MAX_SHOWN = 200;

/** The topic that the setting gives for the event, where `wanted` names none. Throws `NameMissing`. */
export function evaluateTopic(expression: Expression, event: FieldValues, wanted?: unknown): string {
  const isWanted = typeof wanted === 'string' && wanted !== '';
  const topic = isWanted ? wanted : evaluateName('topicArn', expression, event);
  if (TOPIC.test(topic)) return topic;
  throw new NameMissing(`topicArn: '${topic.slice(0, MAX_SHOWN)}' is no ARN of a topic`);
}

function resultOf(name: string, expression: Expression, event: FieldValues): unknown {
  try {
    return expression.evaluate(event);
  } catch (error) {
    throw new NameMissing(`${name}: ${reasonOf(error)}`);
  }
}

/** An empty text names nothing, which the schema reports. */
export const snsTemplates: readonly TemplateSetting[] = [
  expressionSetting({
    path: ['topicArn'],
    fields: 'outgoing-event',
    compile: compileTopic,
    evaluate: (topic, event) => topic.text && evaluateTopic(topic, event),
  }),
  expressionSetting({
    path: ['messageGroupId'],
    fields: 'outgoing-event',
    compile: compileGroup,
    evaluate: (group, event) => group.text && evaluateName('messageGroupId', group, event),
  }),
];
