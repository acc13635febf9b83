import type { Budget } from './budget.ts';
import { isRecord, numberOf, ownValue, textOf } from './values.ts';

type Operator = (left: unknown, right: unknown, budget: Budget) => unknown;

const isText = (value: unknown): boolean =>
  typeof value === 'string' || (typeof value === 'object' && value !== null);

function sum(left: unknown, right: unknown, budget: Budget): unknown {
  if (!isText(left) && !isText(right)) return numberOf(left) + numberOf(right);
  const text = textOf(left, budget) + textOf(right, budget);
  budget.text(text.length);
  return text;
}

/** Texts by their characters, all else by its number. */
const compared =
  (
    text: (left: string, right: string) => boolean,
    number: (left: number, right: number) => boolean,
  ): Operator =>
  (left, right) =>
    typeof left === 'string' && typeof right === 'string'
      ? text(left, right)
      : number(numberOf(left), numberOf(right));

const arithmetic =
  (work: (left: number, right: number) => number): Operator =>
  (left, right) =>
    work(numberOf(left), numberOf(right));

/** Whether the one has a property of its own of that name. */
const hasOwn: Operator = (left, right) =>
  (isRecord(right) || Array.isArray(right)) && ownValue(right, left) !== undefined;

const isNothing = (value: unknown): boolean => value === undefined || value === null;

/** As `==`, but a list or an object is equal to itself only: nothing of it is called. */
function loose(left: unknown, right: unknown): boolean {
  if (isNothing(left) || isNothing(right)) return isNothing(left) && isNothing(right);
  if (typeof left === typeof right || typeof left === 'object' || typeof right === 'object')
    return left === right;
  return numberOf(left) === numberOf(right);
}

export const BINARY: Readonly<Record<string, Operator>> = {
  '+': sum,
  '-': arithmetic((left, right) => left - right),
  '*': arithmetic((left, right) => left * right),
  '/': arithmetic((left, right) => left / right),
  '%': arithmetic((left, right) => left % right),
  '===': (left, right) => left === right,
  '!==': (left, right) => left !== right,
  '==': loose,
  '!=': (left, right) => !loose(left, right),
  '<': compared(
    (left, right) => left < right,
    (left, right) => left < right,
  ),
  '<=': compared(
    (left, right) => left <= right,
    (left, right) => left <= right,
  ),
  '>': compared(
    (left, right) => left > right,
    (left, right) => left > right,
  ),
  '>=': compared(
    (left, right) => left >= right,
    (left, right) => left >= right,
  ),
  in: hasOwn,
};

export const UNARY: Readonly<Record<string, (value: unknown) => unknown>> = {
  '!': value => !value,
  '-': value => -numberOf(value),
  '+': numberOf,
  typeof: value => typeof value,
};
