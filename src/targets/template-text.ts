import * as z from 'zod';
import { compileTemplate, type Template } from '../expressions/template.ts';
import { reasonOf } from '../lib/errors.ts';

const MAX_TEXT = 64 * 1024;

/** A text with `${field}` places; it shows as it was written. */
export const templateText = z
  .string()
  .max(MAX_TEXT)
  .transform((text, context): Template => {
    try {
      return compileTemplate(text);
    } catch (error) {
      context.addIssue({ code: 'custom', message: reasonOf(error), input: text });
      return z.NEVER;
    }
  });
