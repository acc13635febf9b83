import { createHash } from 'node:crypto';
import { SECRET_NAME } from './secret-writer.ts';

/** The name that a secret sent over the API is stored by: `target_ops_hook_token`. */
export function storedName(steps: readonly string[]): string {
  const whole = steps.join('_');
  const plain = whole.replace(/[^a-zA-Z0-9_-]/g, '_');
  if (plain === whole && SECRET_NAME.test(plain)) return plain;
  // What had to be cut or replaced is told apart by its digest.
  return `${plain.slice(0, 90)}_${createHash('sha256').update(whole).digest('hex').slice(0, 12)}`;
}

/** The name in `${secret:NAME}`. */
export const nameIn = (text: unknown): string | undefined =>
  typeof text === 'string' ? /^\$\{secret:(.+)\}$/.exec(text)?.[1] : undefined;

/** The names of all stored secrets that a value refers to. */
export function namesIn(value: unknown): Set<string> {
  const names = new Set<string>();
  function collect(current: unknown): void {
    const name = nameIn(current);
    if (name !== undefined) names.add(name);
    else if (typeof current === 'object' && current !== null) Object.values(current).forEach(collect);
  }
  collect(value);
  return names;
}
