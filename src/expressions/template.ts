import { reasonOf } from '../lib/errors.ts';
import { truncateToBytes } from '../lib/text.ts';
import { compileNode, emptyScope, type Scope } from './compile.ts';
import {
  createBudget,
  DEFAULT_LIMITS,
  type Evaluate,
  evaluateSafely,
  type FieldValues,
  textOf,
} from './evaluation.ts';
import { CompileError, parseExpression, withPosition } from './syntax.ts';
import { isJsonTemplate, joinTemplate } from './template-literal.ts';

/** A text with `${expression}` places, parsed once. It shows as its text wherever it is serialised. */
export interface Template extends TemplatePlaceholders {
  readonly text: string;
  /** Fields it reads by their names, each once. */
  readonly names: readonly string[];
  toJSON(): string;
}

/** `problem` begins with the place in the text. */
export type CompiledTemplate =
  | { readonly ok: true; readonly template: Template }
  | { readonly ok: false; readonly problem: string };

const MAX_OUTPUT_BYTES = 64 * 1024;
const MAX_LENGTH = 65_536;

export function compileTemplate(text: string): CompiledTemplate {
  const scope = emptyScope();
  try {
    if (text.length > MAX_LENGTH) throw new CompileError(0, `has more than ${MAX_LENGTH} characters`);
    const placeholders = parsePlaceholders(text, scope);
    return { ok: true, template: { text, ...placeholders, names: [...scope.names], toJSON: () => text } };
  } catch (error) {
    if (error instanceof CompileError) return { ok: false, problem: withPosition(text, error) };
    throw error;
  }
}

/** A template rendered for an event. */
export interface RenderedTemplate {
  readonly text: string;
  /** Why a place is empty; the first of several. */
  readonly failure: string | undefined;
  /** Names in places that are empty, of which there is no such field; each once. */
  readonly missing: readonly string[];
}

/**
 * A missing field gives nothing, an object its JSON. What is over 64 KB is cut. `escaped` makes of a value what stands
 * for it in this kind of text.
 */
export function renderTemplate(
  { texts, values, fieldNames }: Template,
  fields: FieldValues,
  encode: (value: string) => string = value => value,
): RenderedTemplate {
  const context = { fields, locals: [], budget: createBudget(DEFAULT_LIMITS) };
  const missing = new Set<string>();
  let failure: string | undefined;
  let text = texts[0] ?? '';
  for (const [index, value] of values.entries()) {
    try {
      const written = evaluateSafely(() => textOf(value(context), context.budget));
      text += encode(written);
      const absent = written === '' ? (fieldNames[index] ?? []) : [];
      for (const name of absent) if (!Object.hasOwn(fields, name)) missing.add(name);
    } catch (error) {
      failure ??= `at place ${index + 1}: ${reasonOf(error)}`;
    }
    text += texts[index + 1] ?? '';
    if (text.length >= MAX_OUTPUT_BYTES) break;
  }
  return { text: truncateToBytes(text, MAX_OUTPUT_BYTES), failure, missing: [...missing] };
}

/** A parsed text: `values[i]` stands between `texts[i]` and `texts[i + 1]`. */
interface TemplatePlaceholders {
  readonly texts: readonly string[];
  readonly values: readonly Evaluate[];
  /** The fields that each of `values` reads by their names. */
  readonly fieldNames: readonly (readonly string[])[];
}

/** Finds the `${…}` places of a text; all else in it is itself. Throws `CompileError`. */
function parsePlaceholders(text: string, scope: Scope): TemplatePlaceholders {
  const texts: string[] = [];
  const values: Evaluate[] = [];
  const fieldNames: (readonly string[])[] = [];
  let at = 0;
  for (let open = text.indexOf('${'); open !== -1; open = text.indexOf('${', at)) {
    if (/^\$\{\s*\}/.test(text.slice(open))) throw new CompileError(open, 'nothing stands in ${}');
    if (!text.includes('}', open)) throw new CompileError(open, "'${' is not closed by '}'");
    const node = parseExpression(text, open + 2);
    const close = node.end + (text.slice(node.end).length - text.slice(node.end).trimStart().length);
    if (text[close] !== '}') throw new CompileError(open, "'${' is not closed by '}'");
    texts.push(text.slice(at, open));
    const names = new Set<string>();
    values.push(compileNode(node, { ...scope, names }));
    fieldNames.push([...names]);
    for (const name of names) scope.names.add(name);
    at = close + 1;
  }
  return { texts: [...texts, text.slice(at)], values, fieldNames };
}

export function compileTemplateText(text: string, scope: Scope): Evaluate {
  const { texts, values } = parsePlaceholders(text, scope);
  return joinTemplate(texts, values);
}

/** The same of a text that is JSON around its places; throws `CompileError` for any other. */
export function compileJsonTemplate(text: string, scope: Scope): Evaluate {
  const { texts, values } = parsePlaceholders(text, scope);
  if (!isJsonTemplate(texts)) throw new CompileError(0, 'is no JSON around its places');
  return joinTemplate(texts, values);
}
