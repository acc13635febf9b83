import { wellFormedJson } from '../lib/text.ts';

/** Bounds of one evaluation. */
export interface EvaluationLimits {
  /** Parts evaluated, a long text or list counting for more. */
  readonly steps: number;
  /** Characters of any one text; all texts made on the way may hold sixteen times as many. */
  readonly characters: number;
  /** Counts what this evaluation takes beside that of others. */
  readonly meter?: EvaluationMeter | undefined;
}

/** What several evaluations took together. */
export interface EvaluationMeter {
  /** Steps; sixteen characters of a text that is made count as one. */
  spent: number;
}

export const DEFAULT_LIMITS: EvaluationLimits = { steps: 100_000, characters: 64 * 1024 };

const INTERMEDIATE_TEXT_FACTOR = 16;
const CHARACTERS_A_STEP = 16;

/** Thrown by an evaluation that cannot go on. Its message is for the author of the expression and quotes no value. */
export class ExpressionFailure extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'ExpressionFailure';
  }
}

/**
 * Runs compiled code. Every evaluation of an expression or of a place in a template passes here: whatever is thrown,
 * such as a full stack or a text that is too long for the engine, is thrown as an `ExpressionFailure`.
 */
export function evaluateSafely<Value>(work: () => Value): Value {
  try {
    return work();
  } catch (error) {
    if (error instanceof ExpressionFailure) throw error;
    throw new ExpressionFailure(
      error instanceof Error ? lowerFirst(error.message) : 'it cannot be evaluated',
    );
  }
}

const lowerFirst = (text: string): string => `${text.charAt(0).toLowerCase()}${text.slice(1)}`;

/** Counts what an evaluation takes; throws `ExpressionFailure` when it is too much. */
export interface Budget {
  /** So many parts are about to be evaluated. */
  chargeSteps(count: number): void;
  /** A text of that length is about to be made. */
  chargeText(length: number): void;
}

export function createBudget({ steps, characters, meter }: EvaluationLimits): Budget {
  let stepsLeft = steps;
  let charactersLeft = characters * INTERMEDIATE_TEXT_FACTOR;
  return {
    chargeSteps(count) {
      stepsLeft -= count;
      if (meter !== undefined) meter.spent += Math.min(count, steps);
      if (stepsLeft < 0) throw new ExpressionFailure(`it takes more than ${steps} steps`);
    },
    chargeText(length) {
      charactersLeft -= length;
      if (meter !== undefined) meter.spent += Math.min(length, characters) / CHARACTERS_A_STEP;
      if (length > characters || charactersLeft < 0)
        throw new ExpressionFailure(`it makes a text of more than ${characters} characters`);
    },
  };
}

/** The data of one evaluation. */
export interface EvaluationContext {
  readonly fields: FieldValues;
  /** Parameters of arrows, each at its own index. */
  readonly locals: unknown[];
  readonly budget: Budget;
}

export type Evaluate = (frame: EvaluationContext) => unknown;

/** The fields that expressions read. */
export type FieldValues = Readonly<Record<string, unknown>>;

/** An object that was made by nobody's class: all that an event holds. */
export function isRecord(value: unknown): value is FieldValues {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}

/** Nothing for functions, symbols and instances of classes. */
function plain(value: unknown): unknown {
  if (typeof value === 'object')
    return value === null || Array.isArray(value) || isRecord(value) ? value : undefined;
  return typeof value === 'function' || typeof value === 'symbol' ? undefined : value;
}

/** A property of the value's own; nothing for what is inherited, for getters, and of what has no properties. */
export function ownValue(value: unknown, key: unknown): unknown {
  if (typeof key !== 'string' && typeof key !== 'number') return undefined;
  if (typeof value === 'string' || Array.isArray(value)) {
    if (key === 'length') return value.length;
    const index = typeof key === 'number' ? key : /^\d{1,15}$/.test(key) ? Number(key) : -1;
    return plain(value[index]);
  }
  if (!isRecord(value)) return undefined;
  return plain(Object.getOwnPropertyDescriptor(value, key)?.value);
}

/** A copy that holds plain data only, each part of it counted. */
export function plainCopy(value: unknown, budget: Budget, depth = 0): unknown {
  budget.chargeSteps(depth > MAX_DEPTH ? Infinity : 1);
  const data = plain(value);
  if (typeof data === 'string') budget.chargeText(data.length);
  if (typeof data === 'bigint') return String(data);
  if (typeof data !== 'object' || data === null) return data;
  if (Array.isArray(data)) return data.map(item => plainCopy(item, budget, depth + 1));
  const entries = Object.keys(data).map((key): [string, unknown] => {
    budget.chargeText(key.length);
    return [key, plainCopy(ownValue(data, key), budget, depth + 1)];
  });
  return Object.fromEntries(entries);
}

const MAX_DEPTH = 64;

/** Nothing for what is missing, JSON for lists and objects. */
export function textOf(value: unknown, budget: Budget): string {
  if (value === undefined || value === null) return '';
  if (typeof value === 'object') return jsonOf(value, budget);
  return String(plain(value) ?? '');
}

export function jsonOf(value: unknown, budget: Budget): string {
  const text = wellFormedJson(plainCopy(value, budget)) ?? 'null';
  budget.chargeText(text.length);
  return text;
}

/** Lists and objects are no numbers. */
export const numberOf = (value: unknown): number =>
  typeof value === 'object' && value !== null ? Number.NaN : Number(value);
