import type { Frame, Run } from './frame.ts';
import { jsonOf, textOf } from './values.ts';

type Write = (value: unknown, frame: Frame) => string;

const asText: Write = (value, { budget }) => textOf(value, budget);
/** Between the quotes of a JSON text. */
const inJsonText: Write = (value, { budget }) => JSON.stringify(textOf(value, budget)).slice(1, -1);
/** Where JSON has a value: a text stands as it is, since it is taken to be JSON. */
const asJsonValue: Write = (value, { budget }) => (typeof value === 'string' ? value : jsonOf(value, budget));

/**
 * A text with places. Where it is JSON around its places, values in quotes are escaped as JSON has it, and others are
 * written as JSON.
 */
export function templateLiteral(texts: readonly string[], values: readonly Run[]): Run {
  const writes = writesOf(texts);
  return frame => {
    let output = texts[0] ?? '';
    for (const [index, value] of values.entries()) {
      output += (writes[index] ?? asText)(value(frame), frame) + (texts[index + 1] ?? '');
      frame.budget.text(output.length);
    }
    return output;
  };
}

/** Whether a text is JSON around its places. */
export const isJsonAround = (texts: readonly string[]): boolean => writesOf(texts).length > 0;

function writesOf(texts: readonly string[]): readonly Write[] {
  const first = texts.join('').trimStart().charAt(0);
  if (first !== '{' && first !== '[') return [];
  let isInText = false;
  let skeleton = '';
  const writes: Write[] = [];
  for (const [index, text] of texts.entries()) {
    if (index > 0) skeleton += isInText ? '' : '0';
    skeleton += text;
    isInText = endsInText(text, isInText);
    writes.push(isInText ? inJsonText : asJsonValue);
  }
  return isJson(skeleton) ? writes : [];
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
