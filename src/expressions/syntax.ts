import { type Expression, parseExpressionAt } from 'acorn';

/** An error of a text, and where it is. */
export interface SyntaxProblem {
  /** Offset of the character, from 0. */
  readonly at: number;
  readonly message: string;
}

/** Thrown inside of this room while a text is compiled. */
export class CompileError extends Error {
  readonly at: number;

  constructor(at: number, message: string) {
    super(message);
    this.name = 'CompileError';
    this.at = at;
  }
}

/** The expression that begins there; throws `CompileError`. Parentheses are kept, so that its end is its end. */
export function parseExpression(text: string, offset: number): Expression {
  try {
    return parseExpressionAt(text, offset, { ecmaVersion: 2022, preserveParens: true });
  } catch (error) {
    const isTooDeep =
      error instanceof RangeError || (error instanceof SyntaxError && /stack space/i.test(error.message));
    if (isTooDeep) throw new CompileError(offset, 'is nested too deeply');
    if (!(error instanceof SyntaxError)) throw error;
    const at = 'pos' in error && typeof error.pos === 'number' ? error.pos : offset;
    throw new CompileError(at, at >= text.length ? 'ends too early' : lowerFirst(error.message));
  }
}

/** The parser ends its messages with a place of its own counting. */
const lowerFirst = (message: string): string =>
  `${message.charAt(0).toLowerCase()}${message.slice(1)}`.replace(/ \(\d+:\d+\)$/, '');

/**
 * The expressions that must all be true for an expression to be true: its parts between `&&`. One that has no such parts,
 * or cannot be read, is the only one.
 */
export function conjunctsOf(text: string): readonly string[] {
  try {
    return partsOf(parseExpression(text, 0)).map(({ start, end }) => text.slice(start, end));
  } catch (error) {
    if (error instanceof CompileError) return [text];
    throw error;
  }
}

function partsOf(node: Expression): readonly Expression[] {
  if (node.type === 'ParenthesizedExpression') return partsOf(node.expression);
  const isBoth = node.type === 'LogicalExpression' && node.operator === '&&';
  return isBoth ? [...partsOf(node.left), ...partsOf(node.right)] : [node];
}

/** `at character 5: …`, and the line where there are several. */
export function withPosition(text: string, { at, message }: SyntaxProblem): string {
  const before = text.slice(0, at).split('\n');
  const character = `character ${(before.at(-1)?.length ?? 0) + 1}`;
  return `at ${text.includes('\n') ? `line ${before.length}, ` : ''}${character}: ${message}`;
}
