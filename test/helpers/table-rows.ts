/** What a table of a new store holds, which is put back where a test left something else. */
export interface TableContent {
  readonly name: string;
  readonly rows: readonly Readonly<Record<string, unknown>>[];
}

/** One for each row of the tables; `place` names the parameter of that number, which begins at 1. */
export const insertions = (
  tables: readonly TableContent[],
  place: (number: number) => string,
): { readonly text: string; readonly values: unknown[] }[] =>
  tables.flatMap(({ name, rows }) =>
    rows.map(row => {
      const columns = Object.keys(row);
      const places = columns.map((_, at) => place(at + 1));
      return {
        text: `insert into "${name}" (${columns.map(column => `"${column}"`).join(', ')}) values (${places.join(', ')})`,
        values: Object.values(row),
      };
    }),
  );
