import type { Component } from '../../pipelines/component.ts';
import { isCounter } from '../../pipelines/metric.ts';
import { type MinuteValues, type Recorded, readMinutes } from '../../pipelines/minute.ts';
import { HOUR_MS, minutesId } from '../../pipelines/minutes.ts';
import type { WorkspaceStorage } from '../../storage/storage.ts';

const MINUTE_MS = 60_000;
const IDS_AT_ONCE = 500;

/** Epoch ms; `start` is the beginning of a minute, and steps are whole minutes. */
export interface Span {
  readonly start: number;
  readonly end: number;
  readonly stepMs: number;
}

type Points = readonly (readonly [number, number | null])[];

/** By component and metric, in the order they are asked for. */
export async function seriesOf(
  store: WorkspaceStorage['minutes'],
  components: readonly Component[],
  metrics: readonly Recorded[],
  span: Span,
): Promise<readonly (readonly Points[])[]> {
  const hours = hoursOf(span);
  const all = components.map(() => metrics.map(() => emptyPoints(span)));
  const places = components.flatMap((component, at) =>
    hours.map(hour => ({ id: minutesId(hour, component), at, hour })),
  );
  for (let begun = 0; begun < places.length; begun += IDS_AT_ONCE) {
    const some = places.slice(begun, begun + IDS_AT_ONCE);
    const rows = new Map((await store.byIds(some.map(({ id }) => id))).map(row => [row.id, row.data]));
    for (const { id, at, hour } of some) {
      const data = rows.get(id);
      const points = all[at];
      if (data === undefined || points === undefined) continue;
      for (const [minute, values] of readMinutes(data))
        addMinute(points, metrics, { values, at: hour + minute * MINUTE_MS, span });
    }
  }
  return all;
}

function hoursOf({ start, end }: Span): readonly number[] {
  const first = Math.floor(start / HOUR_MS) * HOUR_MS;
  return Array.from({ length: Math.ceil((end - first) / HOUR_MS) }, (_, index) => first + index * HOUR_MS);
}

const emptyPoints = ({ start, end, stepMs }: Span): [number, number | null][] =>
  Array.from({ length: Math.ceil((end - start) / stepMs) }, (_, index) => [start + index * stepMs, null]);

function addMinute(
  points: readonly [number, number | null][][],
  metrics: readonly Recorded[],
  { values, at, span }: { readonly values: MinuteValues; readonly at: number; readonly span: Span },
): void {
  if (at < span.start || at >= span.end) return;
  const step = Math.floor((at - span.start) / span.stepMs);
  metrics.forEach((metric, index) => {
    const value = values[metric];
    const point = points[index]?.[step];
    if (value === undefined || point === undefined) return;
    point[1] = point[1] === null ? value : joined(metric, point[1], value);
  });
}

/** A step adds up what counters brought, and of how things are has the worst; of a capacity the latest. */
function joined(metric: Recorded, before: number, value: number): number {
  if (metric === 'queue_capacity') return value;
  if (metric === 'up') return Math.min(before, value);
  return metric !== 'health' && isCounter(metric) ? before + value : Math.max(before, value);
}
