import * as z from 'zod';
import { type Compiled, compileExpressionOrText, type Expression } from '../expressions/expression.ts';
import { type Fields, ownValue } from '../expressions/values.ts';
import { reasonOf } from '../lib/errors.ts';

const LONGEST = 2048;

/** An ARN or an address is itself, and nothing is nothing; all else is an expression, as a text in quotes is. */
export function compileTopic(text: string): Compiled {
  const isPlain = text === '' || (/^(arn:|https?:\/\/)/.test(text) && !text.includes('${'));
  return isPlain ? reading(text, () => text) : hinted(compileExpressionOrText(text));
}

/**
 * A word is the field of that name where the event has one, and itself where it has none, as other words such as
 * `team-a` are; all else is an expression.
 */
export function compileGroup(text: string): Compiled {
  if (!/^[\w:@=+/-]*$/.test(text)) return hinted(compileExpressionOrText(text));
  return reading(text, fields => (Object.hasOwn(fields, text) ? ownValue(fields, text) : text));
}

const reading = (text: string, evaluate: Expression['evaluate']): Compiled => ({
  ok: true,
  expression: { text, names: [], evaluate, toJSON: () => text },
});

const hinted = (compiled: Compiled): Compiled =>
  compiled.ok ? compiled : { ok: false, problem: `${compiled.problem}; a text stands in quotes of its own` };

const readBy = (compile: (text: string) => Compiled) =>
  z
    .string()
    .max(LONGEST)
    .transform((text, context): Expression => {
      const compiled = compile(text);
      if (compiled.ok) return compiled.expression;
      context.addIssue({ code: 'custom', message: compiled.problem, input: text });
      return z.NEVER;
    });

export const topicName = readBy(compileTopic);
export const groupName = readBy(compileGroup);

/** Raised for an event of which an expression gives no name; the message says why. */
export class NameMissing extends Error {}

/** What the setting `name` gives for the event. Throws `NameMissing`. */
export function nameFor(name: string, expression: Expression, event: Fields): string {
  const value = resultOf(name, expression, event);
  const isName = typeof value === 'string' || (typeof value === 'number' && Number.isFinite(value));
  const text = isName ? String(value).trim() : '';
  if (text === '') throw new NameMissing(`${name}: ${expression.text} gives no text for this event`);
  return text;
}

/** An ARN, or how a service that only speaks as SNS does calls its topics. */
const TOPIC = /^(arn:[\w:.+=@/-]+|https?:\/\/[\x21-\x7e]+)$/;
const MOST_SHOWN = 200;

/** The topic that the setting gives for the event, where `wanted` names none. Throws `NameMissing`. */
export function topicFor(expression: Expression, event: Fields, wanted?: unknown): string {
  const isWanted = typeof wanted === 'string' && wanted !== '';
  const topic = isWanted ? wanted : nameFor('topicArn', expression, event);
  if (TOPIC.test(topic)) return topic;
  throw new NameMissing(`topicArn: '${topic.slice(0, MOST_SHOWN)}' is no ARN of a topic`);
}

function resultOf(name: string, expression: Expression, event: Fields): unknown {
  try {
    return expression.evaluate(event);
  } catch (error) {
    throw new NameMissing(`${name}: ${reasonOf(error)}`);
  }
}
