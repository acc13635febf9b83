import * as z from 'zod';
import { compileTemplate, type Template } from '../expressions/template.ts';

const MAX_TEXT = 64 * 1024;

/** A text with `${expression}` places; it shows as it was written. */
export const templateText = z
  .string()
  .max(MAX_TEXT)
  .transform((text, context): Template => {
    const compiled = compileTemplate(text);
    if (compiled.ok) return compiled.template;
    context.addIssue({ code: 'custom', message: compiled.problem, input: text });
    return z.NEVER;
  });
