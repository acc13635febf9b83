import * as z from 'zod';
import {
  type CompiledExpression,
  compileExpression,
  compileExpressionOrText,
  type Expression,
} from './expression.ts';
import { compileTemplate, type Template } from './template.ts';

const MAX_EXPRESSION_LENGTH = 65_536;

const compiledBy = (compile: (text: string) => CompiledExpression) =>
  z
    .string()
    .min(1)
    .max(MAX_EXPRESSION_LENGTH)
    .transform((text, context): Expression => {
      const compiled = compile(text);
      if (compiled.ok) return compiled.expression;
      context.addIssue({ code: 'custom', message: compiled.problem, input: text });
      return z.NEVER;
    });

/** An expression; it shows as it was written. */
export const expressionText = compiledBy(compileExpression);
/** The same, or a bare text with `${…}` places. */
export const expressionOrText = compiledBy(compileExpressionOrText);

const MAX_TEMPLATE_LENGTH = 64 * 1024;

/** A text with `${expression}` places; it shows as it was written. */
export const templateText = z
  .string()
  .max(MAX_TEMPLATE_LENGTH)
  .transform((text, context): Template => {
    const compiled = compileTemplate(text);
    if (compiled.ok) return compiled.template;
    context.addIssue({ code: 'custom', message: compiled.problem, input: text });
    return z.NEVER;
  });
