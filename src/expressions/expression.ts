import { compileNode, emptyScope, type Scope } from './compile.ts';
import {
  createBudget,
  DEFAULT_LIMITS,
  type Evaluate,
  type EvaluationLimits,
  evaluateSafely,
  type FieldValues,
  plainCopy,
} from './evaluation.ts';
import { CompileError, parseExpression, withPosition } from './syntax.ts';
import { compileJsonTemplate, compileTemplateText } from './template.ts';

/** An expression over the fields of an event, parsed once. It shows as its text wherever it is serialised. */
export interface Expression {
  readonly text: string;
  /** Fields it reads by their names. */
  readonly names: readonly string[];
  /** Plain data. Throws `ExpressionFailure` when it cannot be evaluated for these fields or within the bounds. */
  evaluate(fields: FieldValues, limits?: EvaluationLimits): unknown;
  toJSON(): string;
}

/** `problem` begins with the place in the text. */
export type CompiledExpression =
  | { readonly ok: true; readonly expression: Expression }
  | { readonly ok: false; readonly problem: string };

const MAX_LENGTH = 65_536;

/** Reads a JavaScript expression of the closed kind that docs/guide/expressions.md describes. */
export const compileExpression = (text: string): CompiledExpression => compileWith(text, compileWhole);

/**
 * Reads an expression, or a bare text with `${…}` places, as Cribl's documents write both. JSON with places between
 * its quotes is both: as an expression it would say the places themselves, which nobody means.
 */
export function compileExpressionOrText(text: string): CompiledExpression {
  if (text.includes('${')) {
    const asJson = compileWith(text, compileJsonTemplate);
    if (asJson.ok) return asJson;
  }
  const asExpression = compileExpression(text);
  if (asExpression.ok || !text.includes('${') || text.trimStart().startsWith('`')) return asExpression;
  return compileWith(text, compileTemplateText);
}

function compileWith(text: string, read: (text: string, scope: Scope) => Evaluate): CompiledExpression {
  const scope = emptyScope();
  try {
    if (text.length > MAX_LENGTH) throw new CompileError(0, `has more than ${MAX_LENGTH} characters`);
    const run = read(text, scope);
    return { ok: true, expression: createExpression(text, run, [...scope.names]) };
  } catch (error) {
    if (error instanceof CompileError) return { ok: false, problem: withPosition(text, error) };
    throw error;
  }
}

function compileWhole(text: string, scope: Scope): Evaluate {
  const node = parseExpression(text, 0);
  const rest = text.slice(node.end);
  if (rest.trim() !== '')
    throw new CompileError(
      node.end + rest.length - rest.trimStart().length,
      'only one expression is expected',
    );
  return compileNode(node, scope);
}

const createExpression = (text: string, run: Evaluate, names: readonly string[]): Expression => ({
  text,
  names,
  evaluate(fields, limits = DEFAULT_LIMITS) {
    return evaluateSafely(() => {
      const budget = createBudget(limits);
      const value = run({ fields, locals: [], budget });
      return typeof value === 'object' && value !== null ? plainCopy(value, budget) : value;
    });
  },
  toJSON: () => text,
});
