import { cutToBytes } from '../lib/bytes.ts';
import { BOUNDS, createBudget, ExpressionFailure } from './budget.ts';
import { emptyScope } from './compile.ts';
import { placed, Refusal } from './syntax.ts';
import { type Places, placesOf } from './template-places.ts';
import { type Fields, textOf } from './values.ts';

/** A text with `${expression}` places, taken apart once. It shows as its text wherever it is serialised. */
export interface Template extends Places {
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
const LONGEST = 65_536;

export function compileTemplate(text: string): CompiledTemplate {
  const scope = emptyScope();
  try {
    if (text.length > LONGEST) throw new Refusal(0, `has more than ${LONGEST} characters`);
    const places = placesOf(text, scope);
    return { ok: true, template: { text, ...places, names: [...scope.names], toJSON: () => text } };
  } catch (error) {
    if (error instanceof Refusal) return { ok: false, problem: placed(text, error) };
    throw error;
  }
}

/** What came of a template for an event. */
export interface Rendered {
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
export function rendered(
  { texts, values, namesOf }: Template,
  fields: Fields,
  escaped: (value: string) => string = value => value,
): Rendered {
  const frame = { fields, locals: [], budget: createBudget(BOUNDS) };
  const missing = new Set<string>();
  let failure: string | undefined;
  let text = texts[0] ?? '';
  for (const [index, value] of values.entries()) {
    try {
      const written = textOf(value(frame), frame.budget);
      text += escaped(written);
      const absent = written === '' ? (namesOf[index] ?? []) : [];
      for (const name of absent) if (!Object.hasOwn(fields, name)) missing.add(name);
    } catch (error) {
      if (!(error instanceof ExpressionFailure)) throw error;
      failure ??= `at place ${index + 1}: ${error.message}`;
    }
    text += texts[index + 1] ?? '';
    if (text.length >= MAX_OUTPUT_BYTES) break;
  }
  return { text: cutToBytes(text, MAX_OUTPUT_BYTES), failure, missing: [...missing] };
}
