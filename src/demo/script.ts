import type { ComponentKind } from '../pipelines/metric.ts';

/** An input or output of the simulated pipeline, and when in each round nothing passes through it. */
export interface SimulatedComponent {
  readonly kind: ComponentKind;
  readonly type: string;
  readonly id: string;
  readonly eventsPerSecond: number;
  readonly bytesPerEvent: number;
  /** Milliseconds since the round began. */
  readonly outage?: { readonly fromMs: number; readonly toMs: number };
}

/** Counts of a component since the pipeline began. */
export interface Totals {
  readonly events: number;
  readonly bytes: number;
  readonly errors: number;
  /** Events an output still has to send. */
  readonly queued: number;
}

const ROUND_MS = 120_000;

const seconds = (from: number, to: number) => ({ fromMs: from * 1000, toMs: to * 1000 });

export const COMPONENTS: readonly SimulatedComponent[] = [
  {
    kind: 'input',
    type: 'syslog',
    id: 'app',
    eventsPerSecond: 85,
    bytesPerEvent: 210,
    outage: seconds(15, 45),
  },
  {
    kind: 'input',
    type: 'http_server',
    id: 'checkout',
    eventsPerSecond: 24,
    bytesPerEvent: 640,
    outage: seconds(50, 65),
  },
  {
    kind: 'input',
    type: 'http_server',
    id: 'payments',
    eventsPerSecond: 9,
    bytesPerEvent: 720,
    outage: seconds(55, 70),
  },
  {
    kind: 'input',
    type: 'kafka',
    id: 'orders',
    eventsPerSecond: 310,
    bytesPerEvent: 480,
    outage: seconds(80, 110),
  },
  {
    kind: 'output',
    type: 'elasticsearch',
    id: 'search',
    eventsPerSecond: 120,
    bytesPerEvent: 350,
    outage: seconds(75, 90),
  },
  { kind: 'output', type: 'aws_s3', id: 'archive', eventsPerSecond: 400, bytesPerEvent: 130 },
];

/** Amplitude of the rate around its mean, and the period. */
const SWING = 0.25;
const SWING_MS = 23_000;
/** Time in which an output sends its queue after an outage. */
const DRAIN_MS = 6000;
const ERRORS_PER_SECOND = 2;
/** Keeps an unchanged count from falling by a rounding error. */
const ROUNDING = 1e-6;

/** A component's counters after `elapsedMs`. They depend on the time alone and never fall. */
export function totalsOf(part: SimulatedComponent, elapsedMs: number): Totals {
  const outageMs = msInOutage(part, elapsedMs);
  const count = (ms: number): number => Math.floor((part.eventsPerSecond * ms) / 1000 + ROUNDING);
  if (part.kind === 'input') {
    const events = count(loadMs(elapsedMs - outageMs));
    return { events, bytes: events * part.bytesPerEvent, errors: 0, queued: 0 };
  }
  const queuedMs = msQueued(part, elapsedMs);
  const events = count(loadMs(elapsedMs) - queuedMs);
  return {
    events,
    bytes: events * part.bytesPerEvent,
    errors: Math.floor((outageMs * ERRORS_PER_SECOND) / 1000),
    queued: count(queuedMs),
  };
}

/** Milliseconds at the mean rate that yield as much as the varying rate does. */
function loadMs(ms: number): number {
  const perMs = (2 * Math.PI) / SWING_MS;
  return ms + (SWING / perMs) * (1 - Math.cos(perMs * ms));
}

function msInOutage({ outage }: SimulatedComponent, elapsedMs: number): number {
  if (outage === undefined) return 0;
  const { fromMs, toMs } = outage;
  const round = Math.floor(elapsedMs / ROUND_MS);
  const inThis = Math.min(Math.max(elapsedMs - round * ROUND_MS - fromMs, 0), toMs - fromMs);
  return round * (toMs - fromMs) + inThis;
}

/** The queue of the current outage, or the rest of the last one, as milliseconds at the mean rate. */
function msQueued({ outage }: SimulatedComponent, elapsedMs: number): number {
  if (outage === undefined) return 0;
  const begin = Math.floor(elapsedMs / ROUND_MS) * ROUND_MS;
  const from = begin + outage.fromMs;
  const to = begin + outage.toMs;
  if (elapsedMs < from || elapsedMs >= to + DRAIN_MS) return 0;
  const came = loadMs(Math.min(elapsedMs, to)) - loadMs(from);
  return elapsedMs < to ? came : came * (1 - (elapsedMs - to) / DRAIN_MS);
}

/** The outages of a round, a line each, in order. */
export function outline(): string[] {
  return COMPONENTS.flatMap(({ kind, type, id, outage }) =>
    outage === undefined ? [] : [{ ...outage, name: `${type}:${id}`, kind }],
  )
    .sort((one, other) => one.fromMs - other.fromMs)
    .map(({ fromMs, toMs, name, kind }) => {
      const what = kind === 'input' ? 'stops' : 'is stuck';
      return `${minutes(fromMs)} to ${minutes(toMs)}  ${kind} ${name} ${what}`;
    });
}

const minutes = (ms: number): string =>
  `${Math.floor(ms / 60_000)}:${String((ms / 1000) % 60).padStart(2, '0')}`;
