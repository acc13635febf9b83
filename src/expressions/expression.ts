import { BOUNDS, type Bounds, createBudget } from './budget.ts';
import { compileNode, emptyScope, type Scope } from './compile.ts';
import type { Run } from './frame.ts';
import { parseAt, placed, Refusal } from './syntax.ts';
import { jsonTextRun, templateRun } from './template-places.ts';
import { type Fields, plainCopy } from './values.ts';

/** An expression over the fields of an event, taken apart once. It shows as its text wherever it is serialised. */
export interface Expression {
  readonly text: string;
  /** Fields it reads by their names. */
  readonly names: readonly string[];
  /** Plain data. Throws `ExpressionFailure` when it cannot be evaluated for these fields or within the bounds. */
  evaluate(fields: Fields, bounds?: Bounds): unknown;
  toJSON(): string;
}

/** `problem` begins with the place in the text. */
export type Compiled =
  | { readonly ok: true; readonly expression: Expression }
  | { readonly ok: false; readonly problem: string };

const LONGEST = 65_536;

/** Reads a JavaScript expression of the closed kind that docs/guide/expressions.md describes. */
export const compileExpression = (text: string): Compiled => compiled(text, whole);

/**
 * Reads an expression, or a bare text with `${…}` places, as the family's documents write both. JSON with places between
 * its quotes is both: as an expression it would say the places themselves, which nobody means.
 */
export function compileExpressionOrText(text: string): Compiled {
  if (text.includes('${')) {
    const asJson = compiled(text, jsonTextRun);
    if (asJson.ok) return asJson;
  }
  const asExpression = compileExpression(text);
  if (asExpression.ok || !text.includes('${') || text.trimStart().startsWith('`')) return asExpression;
  return compiled(text, templateRun);
}

function compiled(text: string, read: (text: string, scope: Scope) => Run): Compiled {
  const scope = emptyScope();
  try {
    if (text.length > LONGEST) throw new Refusal(0, `has more than ${LONGEST} characters`);
    const run = read(text, scope);
    return { ok: true, expression: expressionOf(text, run, [...scope.names]) };
  } catch (error) {
    if (error instanceof Refusal) return { ok: false, problem: placed(text, error) };
    throw error;
  }
}

function whole(text: string, scope: Scope): Run {
  const node = parseAt(text, 0);
  const rest = text.slice(node.end);
  if (rest.trim() !== '')
    throw new Refusal(node.end + rest.length - rest.trimStart().length, 'only one expression is expected');
  return compileNode(node, scope);
}

const expressionOf = (text: string, run: Run, names: readonly string[]): Expression => ({
  text,
  names,
  evaluate(fields, bounds = BOUNDS) {
    const budget = createBudget(bounds);
    const value = run({ fields, locals: [], budget });
    return typeof value === 'object' && value !== null ? plainCopy(value, budget) : value;
  },
  toJSON: () => text,
});
