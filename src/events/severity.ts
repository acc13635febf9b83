import type { Severity } from './event.ts';

/** How people name severities; a word nobody knows is serious until somebody says otherwise. */
const WORDS: Readonly<Record<string, Severity>> = {
  info: 'info',
  warn: 'warn',
  warning: 'warn',
  error: 'error',
  high: 'error',
  fatal: 'fatal',
  critical: 'fatal',
  crit: 'fatal',
};

/** Of what an event holds as its `__severity`; undefined where it holds nothing. */
export function ownSeverity(own: unknown): Severity | undefined {
  if (own === undefined || own === null) return undefined;
  const word = String(own).trim().toLowerCase();
  return Object.hasOwn(WORDS, word) ? WORDS[word] : 'error';
}
