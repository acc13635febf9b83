/** An expression over the fields of an event, taken apart once. It shows as its text wherever it is serialised. */
export interface Expression {
  readonly text: string;
  /** Throws when it cannot be evaluated for these fields. */
  evaluate(fields: Readonly<Record<string, unknown>>): unknown;
  toJSON(): string;
}

export type Compiled =
  | { readonly ok: true; readonly expression: Expression }
  | { readonly ok: false; readonly problem: string };

type Test = (fields: Readonly<Record<string, unknown>>) => boolean;

const COMPARISON =
  /^([A-Za-z_][A-Za-z0-9_]*)\s*(===?|!==?)\s*('[^'\\]*'|"[^"\\]*"|-?\d+(?:\.\d+)?|true|false)$/;

/** Takes `true`, `false` and comparisons of a field with a literal, joined by `&&` and `||`. */
export function compileExpression(text: string): Compiled {
  const ways: Test[][] = [];
  for (const way of text.split('||')) {
    const tests: Test[] = [];
    for (const part of way.split('&&')) {
      const test = testOf(part.trim());
      if (test === undefined) return { ok: false, problem: `'${part.trim().slice(0, 40)}' is no comparison` };
      tests.push(test);
    }
    ways.push(tests);
  }
  const evaluate: Test = fields => ways.some(tests => tests.every(test => test(fields)));
  return { ok: true, expression: { text, evaluate, toJSON: () => text } };
}

function testOf(part: string): Test | undefined {
  if (part === 'true' || part === 'false') return () => part === 'true';
  const [, field = '', operator = '', literal = ''] = COMPARISON.exec(part) ?? [];
  if (field === '') return undefined;
  const value: unknown = /^['"]/.test(literal) ? literal.slice(1, -1) : JSON.parse(literal);
  return fields => (Object.hasOwn(fields, field) && fields[field] === value) === operator.startsWith('=');
}
