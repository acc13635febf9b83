import type { ConfigProblem } from './problems.ts';

/** An input or output that a file declares. Open: whatever else the file says of it is kept in `value`. */
export interface Declared {
  readonly kind: 'input' | 'output';
  readonly id: string;
  readonly type: string;
  readonly disabled: boolean;
  readonly group: string;
  /** As the file has it, `id` always among its keys. */
  readonly value: Readonly<Record<string, unknown>>;
}

type ById = ReadonlyMap<string, Readonly<Record<string, unknown>>>;

/** Items as they stand in the files, references unresolved, `id` always among their keys. */
export interface RawItems {
  readonly targets: ById;
  readonly notifications: ById;
  readonly inputs: ById;
  readonly outputs: ById;
  /** The whole of headgate.yml. */
  readonly settings: Readonly<Record<string, unknown>>;
}

/** How the last load went. */
export interface ConfigurationStatus {
  readonly state: 'ok' | 'error';
  /** ISO time of the configuration in force; null before the first. */
  readonly loadedAt: string | null;
  readonly errors: readonly ConfigProblem[];
  readonly warnings: readonly ConfigProblem[];
}
