import { deterministicId, idFloor } from '../../lib/ids.ts';
import { HOURS_PER_ROW } from '../../storage/stores/hours.ts';
import type { Component } from '../components/component.ts';

export const MINUTE_MS = 60_000;
export const HOUR_MS = 60 * MINUTE_MS;

/** What the rows of a component are called by, of minutes and of hours. */
export const componentHash = ({ kind, pipeline, type, engineId }: Component): string =>
  deterministicId(kind, pipeline, type, engineId);

/** Epoch ms of the beginning of the hour that a time (epoch ms) is in. */
export const hourOf = (at: number): number => Math.floor(at / HOUR_MS) * HOUR_MS;

/** Names the row of minutes of a component and an hour (epoch ms of its beginning): ids grow with time. */
export const minutesId = (hour: number, component: Component): string =>
  rowId(hour, componentHash(component));

const rowId = (start: number, hash: string): string => `${idFloor(start)}-${hash}`;

/** The component that a row is of. */
export const hashOfRow = (id: string): string => id.slice(idFloor(0).length + 1);

/** Where an hour (epoch ms of its beginning) is kept: the row's beginning and id, and its number within the row. */
export function hourPlace(
  hour: number,
  hash: string,
): { readonly start: number; readonly id: string; readonly number: number } {
  const start = rowStart(hour);
  return { start, id: rowId(start, hash), number: (hour - start) / HOUR_MS };
}

const ROW_MS = HOURS_PER_ROW * HOUR_MS;

const rowStart = (at: number): number => Math.floor(at / ROW_MS) * ROW_MS;

/** Epoch ms of the beginnings of the rows that hold hours from `start` until before `end`. */
export function rowStarts(start: number, end: number): readonly number[] {
  const first = rowStart(start);
  return Array.from(
    { length: Math.max(0, Math.ceil((end - first) / ROW_MS)) },
    (_, at) => first + at * ROW_MS,
  );
}
