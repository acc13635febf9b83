import type { EvaluationMeter, FieldValues } from '../../expressions/evaluation.ts';
import { quote } from '../problems.ts';
import { areTrialsOver } from './trials.ts';

type Evaluate = (event: FieldValues, meter: EvaluationMeter) => unknown;

/** Texts that add members where they are not escaped: within quotes, and without. */
const HOSTILE = ['","x":"', '0,"x":0'];
const PLAIN = 'text';
/** A text that is JSON with quotes around it and without. */
const HARMLESS = '0';

/**
 * Finds the text fields whose values can add members to a text that is JSON otherwise, because they stand outside of
 * quotes or are put together with `+`. Each is tried with a plain and with hostile texts: numbers, objects and texts in
 * quotes make the same JSON of them.
 */
export function unescapedFields(
  evaluate: Evaluate,
  names: readonly string[],
  sample: FieldValues,
  meter: EvaluationMeter,
): string[] {
  const texts = names.filter(name => typeof sample[name] === 'string');
  const harmless = { ...sample, ...Object.fromEntries(texts.map(name => [name, HARMLESS])) };
  return texts.filter(name => {
    if (areTrialsOver(meter)) return false;
    const shapeWith = (text: string): string | undefined =>
      jsonShape(resultOf(evaluate, { ...harmless, [name]: text }, meter));
    const plain = shapeWith(PLAIN);
    if (plain === undefined) return shapeWith(HARMLESS) !== undefined;
    return HOSTILE.some(text => shapeWith(text) !== plain);
  });
}

export const unescapedMessage = (name: string): string =>
  `the text of ${quote(name)} is not escaped in this JSON, so that an event can add members to it or break it: ` +
  `put its place between quotes, or write \${json(${name})}`;

function resultOf(evaluate: Evaluate, event: FieldValues, meter: EvaluationMeter): unknown {
  // To make the event takes a step for each of its fields.
  meter.spent += Object.keys(event).length;
  try {
    return evaluate(event, meter);
  } catch {
    return undefined;
  }
}

/** Names and kinds of everything in an object or a list that a text holds; undefined for every other value. */
function jsonShape(text: unknown): string | undefined {
  if (typeof text !== 'string' || !/^\s*[[{]/.test(text)) return undefined;
  try {
    return JSON.stringify(shapeOf(JSON.parse(text)));
  } catch {
    return undefined;
  }
}

/** How long a list is may depend on the text. */
function shapeOf(value: unknown): unknown {
  if (Array.isArray(value)) return [...new Set(value.map(item => JSON.stringify(shapeOf(item))))].sort();
  if (typeof value !== 'object' || value === null) return typeof value;
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, shapeOf(item)]));
}
