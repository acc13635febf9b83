import type { Finish } from './exit.ts';
import { EXIT } from './exit.ts';
import { explain } from './explain.ts';
import { print } from './output.ts';
import { openSession, type ServerFlags, type Session } from './session.ts';
import { type Column, objectLines, tableLines } from './table.ts';

/** Asks a server and says what it answered, or what stood in the way. */
export async function ask(
  finish: Finish,
  flags: ServerFlags,
  work: (session: Session) => Promise<void>,
): Promise<void> {
  try {
    await work(await openSession(flags));
    finish(EXIT.ok);
  } catch (error) {
    finish(explain(error));
  }
}

/** `{items, count}` as the API has it, or a table. */
export function printList<Row extends object>(
  rows: readonly Row[],
  columns: readonly Column<Row>[],
  { json }: ServerFlags,
  none: string,
): void {
  if (json) print(asJson({ items: rows, count: rows.length }));
  else if (rows.length === 0) print(none);
  else for (const line of tableLines(columns, rows)) print(line);
}

export function printItem(item: object, { json }: ServerFlags): void {
  if (json) print(asJson(item));
  else for (const line of objectLines(item)) print(line);
}

export const asJson = (value: object): string => JSON.stringify(value, null, 2);
