import type { Component, Components } from '../pipelines/component.ts';
import { COUNTERS, type Counter } from '../pipelines/metric.ts';

const GAUGES = ['blocked', 'queue_size', 'queue_capacity', 'up'] as const;

/** What nobody counts until it happens: engines leave such series out while they are 0. */
const RARE: readonly string[] = ['errors', 'dropped'];

/** Why a measure has no value now. */
export class Unmeasured {
  readonly reason: string;
  constructor(reason: string) {
    this.reason = reason;
  }
}

interface Asked {
  readonly component: Component;
  readonly components: Components;
  readonly windowMs: number;
}

type Measure = (asked: Asked) => number | Unmeasured;

const summed =
  (counter: Counter): Measure =>
  ({ component, components, windowMs }) => {
    if (!components.knows(component, counter) && !RARE.includes(counter))
      return new Unmeasured(`nothing counts its ${counter}`);
    const seen = components.measure(component, counter, windowMs);
    if (seen === undefined) return new Unmeasured('too many notifications look at it over different windows');
    return seen.watchedMs < windowMs
      ? new Unmeasured('it has been watched for less than the window')
      : seen.sum;
  };

const perSecond =
  (counter: Counter): Measure =>
  asked => {
    const sum = summed(counter)(asked);
    return typeof sum === 'number' ? sum / (asked.windowMs / 1000) : sum;
  };

const gauge =
  (name: string): Measure =>
  ({ component, components }) =>
    components.status(component).metrics[name] ?? new Unmeasured(`nothing tells its ${name}`);

const MEASURES: ReadonlyMap<string, Measure> = new Map<string, Measure>([
  ...COUNTERS.map((counter): [string, Measure] => [counter, summed(counter)]),
  ...COUNTERS.map((counter): [string, Measure] => [`${counter}_per_second`, perSecond(counter)]),
  ...GAUGES.map((name): [string, Measure] => [name, gauge(name)]),
  ['replicas', ({ component, components }) => components.status(component).replicas],
  ['silent_seconds', ({ component, components }) => components.silentMs(component) / 1000],
]);

/** What an expression on a component may name: sums over its window, rates, gauges, replicas, seconds without data. */
export const MEASURE_NAMES: readonly string[] = [...MEASURES.keys()];

/** The values of these names now, or why one has none. All are asked for, as each is watched from when it is first. */
export function measured(
  names: readonly string[],
  asked: Asked,
): Readonly<Record<string, number>> | Unmeasured {
  const values: Record<string, number> = {};
  let missing: Unmeasured | undefined;
  for (const name of names) {
    const value = MEASURES.get(name)?.(asked) ?? new Unmeasured(`'${name}' is no measure`);
    if (value instanceof Unmeasured) missing ??= value;
    else values[name] = value;
  }
  return missing ?? values;
}
