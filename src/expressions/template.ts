import { cutToBytes } from '../lib/bytes.ts';
import { AppError } from '../lib/errors.ts';

/** A text with `${field}` places, taken apart once. It shows as its text wherever it is serialised. */
export interface Template {
  readonly text: string;
  readonly parts: readonly Part[];
  toJSON(): string;
}

type Part = { readonly literal: string } | { readonly field: string };

const MAX_OUTPUT_BYTES = 64 * 1024;
const FIELD = /^[A-Za-z_][A-Za-z0-9_]*$/;
const MAX_QUOTE = 40;

/** Throws `invalid-request`, naming the character (from 1), for a place that is not closed or holds no field name. */
export function compileTemplate(text: string): Template {
  const parts: Part[] = [];
  let at = 0;
  for (let open = text.indexOf('${'); open !== -1; open = text.indexOf('${', at)) {
    const close = text.indexOf('}', open);
    if (close === -1) throw broken(open, "'${' is not closed by '}'");
    const field = text.slice(open + 2, close).trim();
    if (!FIELD.test(field))
      throw broken(open, `'${field.slice(0, MAX_QUOTE)}' is not a field name; write a name such as \${_raw}`);
    if (open > at) parts.push({ literal: text.slice(at, open) });
    parts.push({ field });
    at = close + 1;
  }
  if (at < text.length) parts.push({ literal: text.slice(at) });
  return { text, parts, toJSON: () => text };
}

const broken = (place: number, what: string): AppError =>
  new AppError('invalid-request', `at character ${place + 1}: ${what}`);

/**
 * A missing field gives nothing, an object its JSON. What is over 64 KB is cut. `written` puts a value as its place wants
 * it, such as escaped; the template's own text stays as it is.
 */
export function render(
  template: Template,
  fields: Readonly<Record<string, unknown>>,
  written: (value: string) => string = same,
): string {
  let output = '';
  for (const part of template.parts) {
    output += 'literal' in part ? part.literal : written(textOf(fields, part.field));
    if (output.length >= MAX_OUTPUT_BYTES) break;
  }
  return cutToBytes(output, MAX_OUTPUT_BYTES);
}

const same = (value: string): string => value;

function textOf(fields: Readonly<Record<string, unknown>>, field: string): string {
  const value = Object.hasOwn(fields, field) ? fields[field] : undefined;
  if (value === undefined || value === null) return '';
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}

/** Names of the fields a template reads, each once. */
export const fieldsOf = (template: Template): readonly string[] => [
  ...new Set(template.parts.flatMap(part => ('field' in part ? [part.field] : []))),
];
