import * as z from 'zod';
import { AppError, type Problem } from './errors.ts';
import { isInexactNumber } from './exact-numbers.ts';

/** Problems that one answer names. */
const MOST_KEPT = 20;
const LONGEST_MESSAGE = 1000;
const LONGEST_PATH = 500;

/**
 * What is wrong with an input: all of it is counted and the first 20 are kept, each with a short text, so that a large
 * input with a fault in each place costs no more than a good one.
 */
export class ProblemList {
  readonly #kept: Problem[] = [];
  readonly #hidden: string | undefined;
  #count = 0;

  /** `hidden` is a member that paths are shown without. */
  constructor(hidden?: string) {
    this.#hidden = hidden;
  }

  get count(): number {
    return this.#count;
  }

  add(path: string, message: string): void {
    this.#count++;
    if (this.#kept.length < MOST_KEPT)
      this.#kept.push({ path: shorten(path, LONGEST_PATH), message: shorten(message, LONGEST_MESSAGE) });
  }

  /**
   * What the schema makes of a value, or undefined after it added problems, whose paths begin with `base`. Only those
   * that are kept get their texts: the schema library makes them for all, which costs more than finding them.
   */
  read<Output>(
    schema: z.ZodType<Output>,
    value: unknown,
    base: readonly PropertyKey[] = [],
  ): { readonly data: Output } | undefined {
    const read = schema.safeParse(value);
    if (read.success) return { data: read.data };
    const context = { async: false };
    // The error of the first try would hold the texts of all.
    const result = schema._zod.run({ value, issues: [] }, context);
    if (result instanceof Promise) throw new TypeError('The schema of an input must not wait');
    const room = Math.max(0, MOST_KEPT - this.#kept.length);
    for (const raw of result.issues.slice(0, room)) {
      const issue = z.core.util.finalizeIssue(raw, context, z.core.config());
      const path = issue.path[0] === this.#hidden ? issue.path.slice(1) : issue.path;
      this.add(z.core.toDotPath([...base, ...path]), messageOf(issue, raw.input));
    }
    this.#count += Math.max(0, result.issues.length - room);
    return undefined;
  }

  /** The kept ones in order, and how many more there are. */
  list(): readonly Problem[] {
    const more = this.#count - this.#kept.length;
    return more === 0 ? this.#kept : [...this.#kept, { path: '', message: `and ${more} more` }];
  }

  /** The refusal that names them; without a text it begins with the first. */
  refusal(message?: string): AppError {
    const [first] = this.#kept;
    const own =
      first === undefined ? 'The request is not valid' : `${first.path || 'request'}: ${first.message}`;
    return new AppError('invalid-request', message ?? own, { problems: this.list() });
  }
}

/** Throws `invalid-request` naming the first 20 problems; paths below the member `hidden` are shown without it. */
export function readInput<Output>(schema: z.ZodType<Output>, value: unknown, hidden?: string): Output {
  const problems = new ProblemList(hidden);
  const read = problems.read(schema, value);
  if (read === undefined) throw problems.refusal();
  return read.data;
}

/** The schema library's own words for a wrong type are no words of ours. */
function messageOf(issue: z.core.$ZodIssue, input: unknown): string {
  if (issue.code !== 'invalid_type' || !issue.message.startsWith('Invalid input')) return issue.message;
  if (issue.message.endsWith('received undefined')) return 'is required';
  const which = isInexactNumber(input) ? ', and within the range of numbers' : '';
  return `must be a JSON ${issue.expected}${which}`;
}

const shorten = (text: string, most: number): string =>
  text.length <= most ? text : `${text.slice(0, most)}…`;
