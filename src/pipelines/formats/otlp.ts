import { assertFewLabels, assertRoom, type Point } from './point.ts';

/** What a metric of OpenTelemetry is (opentelemetry-proto, metrics.proto). */
export interface OtlpMetric {
  readonly name: string;
  readonly kind: 'gauge' | 'sum';
  /** 1 is delta, 2 cumulative. */
  readonly temporality: number;
  readonly isMonotonic: boolean;
}

export interface OtlpPoint {
  readonly attributes: ReadonlyMap<string, string>;
  readonly value: number;
  /** Epoch ns as text, '' when it is not said. */
  readonly start: string;
  /** Epoch ms, or NaN. */
  readonly time: number;
}

const DELTA = 1;
const INSTANCE = ['service.instance.id', 'host.name', 'host.id'] as const;

/** Who a resource says it is: the first of its attributes that tell processes apart. */
export const instanceOf = (resource: ReadonlyMap<string, string>): string | undefined =>
  INSTANCE.map(name => resource.get(name)).find(value => value !== undefined && value !== '');

/** Adds a point as Prometheus would have it; a sum that goes up and down is a gauge, and its changes alone say nothing. */
export function addPoint(
  points: Point[],
  metric: OtlpMetric,
  point: OtlpPoint,
  instance: string | undefined,
): void {
  const isDelta = metric.kind === 'sum' && metric.temporality === DELTA;
  if (isDelta && !metric.isMonotonic) return;
  assertRoom(points);
  assertFewLabels(point.attributes.size);
  const isCounter = metric.kind === 'sum' && metric.isMonotonic;
  points.push({
    name: prometheusName(metric.name),
    labels: prometheusLabels(point.attributes),
    instance,
    value: point.value,
    time: point.time,
    temporality: isDelta ? 'delta' : 'cumulative',
    life: isCounter && !isDelta ? point.start : '',
  });
}

/** By name, as nobody promises their order, and a series is known by its labels in order. */
function prometheusLabels(attributes: ReadonlyMap<string, string>): ReadonlyMap<string, string> {
  let last = '';
  let isAsItShouldBe = true;
  for (const name of attributes.keys()) {
    isAsItShouldBe &&= name > last && !FOREIGN.test(name);
    last = name;
  }
  if (isAsItShouldBe) return attributes;
  return new Map([...attributes].map(([name, value]) => [prometheusName(name), value] as const).sort(byName));
}

const FOREIGN = /[^a-zA-Z0-9_:]/;

/** Names with dots, as Prometheus writes them (OpenTelemetry's compatibility document). */
const prometheusName = (name: string): string => name.replace(/[^a-zA-Z0-9_:]/g, '_');

const byName = ([one]: readonly [string, string], [other]: readonly [string, string]): number =>
  one < other ? -1 : Number(one > other);
