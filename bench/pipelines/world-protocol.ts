import * as z from 'zod';

/** Every component has a series for each metric there is. */
export const SERIES = [
  'in_events_total',
  'in_bytes_total',
  'out_events_total',
  'out_bytes_total',
  'errors_total',
  'dropped_total',
  'blocked',
  'queue_size',
  'queue_capacity',
  'up',
] as const;

export const PREFIX = 'edge_';
/** The beginning of its id, which goes on with its number. */
export const COMPONENT = 'component_';

/** Requests of the measuring process to the one that serves pages and receives alerts. */
export const command = z.discriminatedUnion('kind', [
  /** Components of each page with a lower number count no more. */
  z.object({ kind: z.literal('stop'), perPage: z.int() }),
  /** `windowMs` after the last page that still counted the end of a window is. */
  z.object({ kind: z.literal('report'), windowMs: z.number() }),
]);
export type Command = z.infer<typeof command>;

const figure = z
  .number()
  .nullable()
  .transform(value => value ?? Number.NaN);

export const report = z.object({
  alarms: z.int(),
  /** The most components in one summary, and ms from the end of the last of their windows to its receipt. */
  summarised: z.int(),
  summaryLate: figure,
  /** Requests that carried them. */
  requests: z.int(),
  /** Milliseconds from the end of the window of a component to the receipt of its alarm, and to the transition in it, which is in whole seconds. */
  p50: figure,
  p99: figure,
  longest: figure,
  /** Epoch ms of the last receipt. */
  lastAt: z.number(),
});
export type Report = z.infer<typeof report>;

export const started = z.object({ origin: z.string() });
export const reply = z.object({ id: z.int(), value: z.unknown() });
export const request = z.object({ id: z.int(), command });
