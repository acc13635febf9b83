import * as z from 'zod';
import { type Compiled, compileExpression, type Expression } from '../expressions/expression.ts';

const LONGEST = 65_536;

const readBy = (compile: (text: string) => Compiled) =>
  z
    .string()
    .min(1)
    .max(LONGEST)
    .transform((text, context): Expression => {
      const compiled = compile(text);
      if (compiled.ok) return compiled.expression;
      context.addIssue({ code: 'custom', message: compiled.problem, input: text });
      return z.NEVER;
    });

/** An expression; it shows as it was written. */
export const expressionText = readBy(compileExpression);
