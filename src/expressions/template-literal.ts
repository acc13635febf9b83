import { wellFormedJson } from '../lib/text.ts';
import { type Evaluate, type EvaluationContext, jsonOf, textOf } from './evaluation.ts';

type WriteValue = (value: unknown, context: EvaluationContext) => string;

const asText: WriteValue = (value, { budget }) => textOf(value, budget);
/** Between the quotes of a JSON text. */
const inJsonText: WriteValue = (value, { budget }) => wellFormedJson(textOf(value, budget)).slice(1, -1);
/** Where JSON has a value: a text stands as it is, since it is taken to be JSON. */
const asJsonValue: WriteValue = (value, { budget }) =>
  typeof value === 'string' ? value : jsonOf(value, budget);

/**
 * A text with places. Where it is JSON around its places, values in quotes are escaped as JSON has it, and others are
 * written as JSON.
 */
export function joinTemplate(texts: readonly string[], values: readonly Evaluate[]): Evaluate {
  const writers = placeholderWriters(texts);
  return context => {
    let output = texts[0] ?? '';
    for (const [index, value] of values.entries()) {
      output += (writers[index] ?? asText)(value(context), context) + (texts[index + 1] ?? '');
      context.budget.chargeText(output.length);
    }
    return output;
  };
}

export const isJsonTemplate = (texts: readonly string[]): boolean => placeholderWriters(texts).length > 0;

function placeholderWriters(texts: readonly string[]): readonly WriteValue[] {
  const first = texts.join('').trimStart().charAt(0);
  if (first !== '{' && first !== '[') return [];
  let isInText = false;
  let skeleton = '';
  const writers: WriteValue[] = [];
  for (const [index, text] of texts.entries()) {
    if (index > 0) skeleton += isInText ? '' : '0';
    skeleton += text;
    isInText = endsInText(text, isInText);
    writers.push(isInText ? inJsonText : asJsonValue);
  }
  return isJson(skeleton) ? writers : [];
}

function endsInText(text: string, startsIn: boolean): boolean {
  const quotes = text.replace(/\\./gs, '').split('"').length - 1;
  return quotes % 2 === 0 ? startsIn : !startsIn;
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
