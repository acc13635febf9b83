import type { WorkspaceStorage } from '../../storage/storage.ts';
import type { Component } from '../components/component.ts';
import { decodeHours, type HourValues, hasData, isRead } from './hour-codec.ts';
import { decodeMinutes, type MinuteValues } from './minute-codec.ts';
import { componentHash, HOUR_MS, hourOf, hourPlace, MINUTE_MS, minutesId, rowStarts } from './row-ids.ts';

/** Epoch ms; `end` is left out. */
export interface HistorySpan {
  readonly start: number;
  readonly end: number;
}

/** A minute or an hour that was recorded of the component at this place among those asked for; epoch ms of its beginning. */
export interface Recorded<Values> {
  readonly component: number;
  readonly startedAt: number;
  readonly values: Values;
}

const ROWS_AT_ONCE = 500;

/** Hours, with `last_data` as epoch ms of the minute. */
export type RecordedHour = Recorded<HourValues>;
export type RecordedMinute = Recorded<MinuteValues>;

/**
 * Reads the minutes that were recorded within the span, in pieces between which other work may go on. Those of one component
 * and hour are in order; what has no minute was not recorded.
 */
export async function* readMinutes(
  store: Pick<WorkspaceStorage['minutes'], 'byIds'>,
  components: readonly Component[],
  span: HistorySpan,
): AsyncGenerator<readonly RecordedMinute[]> {
  const first = hourOf(span.start);
  const hours = Array.from(
    { length: Math.max(0, Math.ceil((span.end - first) / HOUR_MS)) },
    (_, at) => first + at * HOUR_MS,
  );
  const places = components.flatMap((component, at) =>
    hours.map(hour => ({ id: minutesId(hour, component), at, hour })),
  );
  for await (const { place, row } of readRows(store, places)) {
    const minutes = [...decodeMinutes(row.data)].sort(([one], [other]) => one - other);
    yield within(
      span,
      minutes.map(([minute, values]) => ({
        component: place.at,
        startedAt: place.hour + minute * MINUTE_MS,
        values,
      })),
    );
  }
}

/** As `readMinutes`; an hour is kept a few minutes after its end. */
export async function* readHours(
  store: WorkspaceStorage['hours'],
  components: readonly Component[],
  span: HistorySpan,
): AsyncGenerator<readonly RecordedHour[]> {
  const starts = rowStarts(span.start, span.end);
  const places = components.flatMap((component, at) => {
    const hash = componentHash(component);
    return starts.map(start => ({ id: hourPlace(start, hash).id, at, start }));
  });
  for await (const { place, row } of readRows(store, places)) {
    const hours = [...decodeHours(row.data)].map(([number, values]): RecordedHour => {
      const startedAt = place.start + number * HOUR_MS;
      const { last_data: last } = values;
      return {
        component: place.at,
        startedAt,
        values: last === undefined ? values : { ...values, last_data: startedAt + last * MINUTE_MS },
      };
    });
    yield within(span, hours);
  }
}

/** Hours that may not be kept yet, before the one under way. */
const RECENT_HOURS = 2;

/** As `readHours`, and of the last hours their minutes where the hours are not kept yet, each minute by itself. */
export async function* readHoursUntilNow(
  stores: Pick<WorkspaceStorage, 'hours' | 'minutes'>,
  components: readonly Component[],
  { span, now }: { readonly span: HistorySpan; readonly now: number },
): AsyncGenerator<readonly RecordedHour[]> {
  const recentFrom = Math.max(span.start, hourOf(now) - RECENT_HOURS * HOUR_MS);
  const kept = new Set<string>();
  const keyOf = (component: number, hour: number): string => `${component} ${hour}`;
  for await (const hours of readHours(stores.hours, components, span)) {
    for (const { component, startedAt } of hours)
      if (startedAt >= recentFrom) kept.add(keyOf(component, startedAt));
    yield hours;
  }
  for await (const minutes of readMinutes(stores.minutes, components, { ...span, start: recentFrom }))
    yield minutes
      .filter(({ component, startedAt }) => !kept.has(keyOf(component, hourOf(startedAt))))
      .map(({ values, ...minute }) => ({
        ...minute,
        values: {
          ...values,
          minutes: isRead(values) ? 1 : 0,
          ...(hasData(values) && { last_data: minute.startedAt }),
        },
      }));
}

const within = <One extends { readonly startedAt: number }>(
  { start, end }: HistorySpan,
  all: readonly One[],
): readonly One[] => all.filter(({ startedAt }) => startedAt >= start && startedAt < end);

/** The rows that are there, in the order of their places. */
async function* readRows<Place extends { readonly id: string }, Row extends { readonly id: string }>(
  store: { byIds(ids: readonly string[]): Promise<readonly Row[]> },
  places: readonly Place[],
): AsyncGenerator<{ readonly place: Place; readonly row: Row }> {
  for (let begun = 0; begun < places.length; begun += ROWS_AT_ONCE) {
    const some = places.slice(begun, begun + ROWS_AT_ONCE);
    const rows = new Map((await store.byIds(some.map(({ id }) => id))).map(row => [row.id, row]));
    for (const place of some) {
      const row = rows.get(place.id);
      if (row !== undefined) yield { place, row };
    }
  }
}
