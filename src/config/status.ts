import type { ConfigProblem } from './problems.ts';

/** How the last load went. */
export interface ConfigurationStatus {
  readonly state: 'ok' | 'error';
  /** ISO time of the configuration in force; null before the first. */
  readonly loadedAt: string | null;
  readonly errors: readonly ConfigProblem[];
  readonly warnings: readonly ConfigProblem[];
}
