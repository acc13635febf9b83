import type { Path } from './yaml-places.ts';

/** One thing wrong, and where. `line` and `column` count from 1, and are 0 for what stands in no file. */
export interface ConfigProblem {
  /** A file, or `environment` or `flags`. */
  readonly file: string;
  readonly line: number;
  readonly column: number;
  /** As in `targets[2].url`; for the environment and flags the name that was set. Empty for a whole file. */
  readonly path: string;
  /** For a person; a secret in it is masked. */
  readonly message: string;
}

/** `file:line:column: message (path)` */
export function formatProblem(problem: ConfigProblem): string {
  const { file, line, column, path, message } = problem;
  const place = line === 0 ? file : `${file}:${line}:${column}`;
  return `${place}: ${message}${path === '' ? '' : ` (${path})`}`;
}

/** `targets[2].url`; a key that is no plain word stands in quotes: `targets["a b"]`. */
export function formatPath(path: Path): string {
  let text = '';
  for (const step of path) {
    if (typeof step === 'number') text += `[${step}]`;
    else if (/^[\w-]+$/.test(String(step))) text += `${text === '' ? '' : '.'}${String(step)}`;
    else text += `[${JSON.stringify(String(step))}]`;
  }
  return text;
}

const MAX_PROBLEMS = 1000;

/** Problems of all files in the order they stand there, no more than a person would ever read. */
export function inOrder(problems: readonly ConfigProblem[], files: readonly string[]): ConfigProblem[] {
  const rank = (problem: ConfigProblem): number => files.indexOf(problem.file);
  const sorted = [...problems].sort((a, b) => rank(a) - rank(b) || a.line - b.line || a.column - b.column);
  if (sorted.length <= MAX_PROBLEMS) return sorted;
  const rest = sorted.length - MAX_PROBLEMS;
  const last = sorted[MAX_PROBLEMS - 1];
  if (last === undefined) return sorted;
  return [
    ...sorted.slice(0, MAX_PROBLEMS),
    { ...last, path: '', message: `${rest} more problems are not listed; mend these first` },
  ];
}
