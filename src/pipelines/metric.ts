/** A component takes data in or sends it out. */
export const COMPONENT_KINDS = ['input', 'output'] as const;
export type ComponentKind = (typeof COMPONENT_KINDS)[number];

/** Metrics that only grow; read as increases. */
export const COUNTERS = ['in_events', 'in_bytes', 'out_events', 'out_bytes', 'errors', 'dropped'] as const;
export type Counter = (typeof COUNTERS)[number];

/** Metrics that go up and down: `blocked` is a share of the time from 0 to 1, the queue's two are in one unit, `up` is 0 or 1. */
const GAUGES = ['blocked', 'queue_size', 'queue_capacity', 'up'] as const;
export type Gauge = (typeof GAUGES)[number];

/** All metrics of a component, whatever its engine calls them. */
export const METRICS = [...COUNTERS, ...GAUGES] as const;
export type Metric = (typeof METRICS)[number];

export const isCounter = (metric: string): metric is Counter => COUNTERS.some(counter => counter === metric);

/** Metrics that windows sum up: counters, and for how long a component was Red or blocked, in ms. */
export const WINDOWED = [...COUNTERS, 'red_ms', 'blocked_ms'] as const;
export type Windowed = (typeof WINDOWED)[number];

/** How several series of one gauge become one value. */
export const FOLDS = ['sum', 'max', 'last'] as const;
