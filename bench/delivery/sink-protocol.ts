import * as z from 'zod';

/** How a receiver behaves: answers, takes the request and says nothing, cuts the connection, or never ends its answer. */
export const behaviour = z.object({
  mode: z.enum(['answer', 'hang', 'reset', 'huge']).default('answer'),
  status: z.int().default(200),
  headers: z.record(z.string(), z.string()).default({}),
  delayMs: z.number().default(0),
  /** Only each n-th request finds it so; the others are answered with 200. */
  everyNth: z.int().default(1),
});
export type Behaviour = z.input<typeof behaviour>;

/** What the measuring process asks of the sink. */
export const command = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('behave'), hook: z.string(), behaviour }),
  z.object({ kind: z.literal('report'), hook: z.string() }),
  z.object({ kind: z.literal('count'), hook: z.string() }),
  z.object({ kind: z.literal('forget'), hook: z.string() }),
]);
export type Command = z.input<typeof command>;

/** No number is null on its way from process to process. */
const figure = z
  .number()
  .nullable()
  .transform(value => value ?? Number.NaN);

/** What one receiver saw. Times are epoch ms, latencies ms from `sent` to receipt. */
export const report = z.object({
  requests: z.int(),
  /** Bytes of a body that was taken. */
  meanBytes: z.number(),
  /** Events taken, each of an alarm or an end once. */
  unique: z.int(),
  /** Of these, alarms. */
  alarms: z.int(),
  /** Events taken more than once: in a request with the webhook-id of the first, and in another one. */
  repeated: z.int(),
  doubled: z.int(),
  lastAt: z.number(),
  p50: figure,
  p95: figure,
  p99: figure,
  /** Of the first requests, when they came. */
  times: z.array(z.number()),
  /** Events in the first hundred requests. */
  inFirstHundred: z.int(),
  /** Requests that came although the receiver had asked for a pause, but for what was under way. */
  inPause: z.int(),
  /** Connections that were opened to it over TLS. */
  connections: z.int(),
});
export type Report = z.infer<typeof report>;

export const started = z.object({ http: z.array(z.string()), https: z.string() });
export const counted = z.object({ unique: z.int() });
export const reply = z.object({ id: z.int(), value: z.unknown() });
export const request = z.object({ id: z.int(), command });
