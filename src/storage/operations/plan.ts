import type { Lease } from '../stores/leases.ts';
import type { CommittedChange } from '../types.ts';

type Value = string | number | null;

/** One statement with `?` placeholders; `expect` is the number of rows it must change. */
export interface Step {
  readonly sql: string;
  readonly parameters: readonly Value[];
  readonly expect?: number | undefined;
  /** Names the row that it writes as a whole, so that of several before anybody reads it the last is enough. */
  readonly replaces?: string;
}

/** The steps of an operation: all of them run in order, or none. */
export interface Plan {
  readonly steps: readonly Step[];
  /** The text of the refusal when a step changes another number of rows or meets a row that must be unique. */
  readonly conflict: () => string;
  /** Published once it is written. */
  readonly changes: readonly CommittedChange[];
  /** Must be held in the transaction that writes. */
  readonly lease: Lease | undefined;
}

export type UnfencedPlan = Omit<Plan, 'lease'>;

/** Makes a step of a statement from the values of its parameters. Throws when one of them is not given. */
type Statement = (
  workspace: string,
  values: Readonly<Record<string, Value>>,
  expect?: Step['expect'],
) => Step;

/** A statement with `:name` parameters, of which `:workspace` is one. */
export function statement(text: string): Statement {
  const names: string[] = [];
  const sql = text.replace(/:([a-z_]+)/g, (_, name) => {
    names.push(name);
    return '?';
  });
  return (workspace, values, expect) => {
    const parameters: Value[] = [];
    for (const name of names) {
      const value = name === 'workspace' ? workspace : values[name];
      if (value === undefined) throw new Error(`':${name}' has no value in: ${text}`);
      parameters.push(value);
    }
    return { sql, parameters, expect };
  };
}

/** The text of an insert of whole rows, with a parameter for each column. */
export const insertText = (table: string, columns: readonly string[]): string =>
  `insert into ${table} (workspace, ${columns.join(', ')}) ` +
  `values (:workspace, ${columns.map(column => `:${column}`).join(', ')})`;

/** Assignments of all columns but the id, to parameters of their names or to what `value` makes of them. */
export const assignmentsOf = (
  columns: readonly string[],
  value: (column: string) => string = column => `:${column}`,
): string =>
  columns
    .filter(column => column !== 'id')
    .map(column => `${column} = ${value(column)}`)
    .join(', ');
