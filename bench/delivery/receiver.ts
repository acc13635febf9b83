import type * as z from 'zod';
import { type Received, readBody } from './received.ts';
import { type behaviour, behaviour as behaviourSchema, type Report } from './sink-protocol.ts';
import { percentile } from './table.ts';

type Behaving = z.output<typeof behaviour>;

/** What is kept of each request at most: the rest is counted. */
const MOST_TIMES = 200;
/** What was on its way when a pause was asked for does not count against it. */
const UNDER_WAY_MS = 100;

/** One address of the sink: how it behaves, and what it saw. */
export interface Receiver {
  behave(next: Behaving): void;
  /** Notes a request and says how it is to be answered. */
  take(at: number, webhookId: string | undefined, body: string): Behaving;
  connected(): void;
  unique(): number;
  report(): Report;
}

const ACCEPT = behaviourSchema.parse({});

export function createReceiver(): Receiver {
  /** By event, the webhook-id of the request it came in first. */
  const first = new Map<string, string | undefined>();
  const latencies: number[] = [];
  const times: number[] = [];
  let behaving = ACCEPT;
  let requests = 0;
  let taken = 0;
  let bytes = 0;
  let alarms = 0;
  let repeated = 0;
  let doubled = 0;
  let lastAt = 0;
  let inFirstHundred = 0;
  let inPause = 0;
  let askedAt = Number.NEGATIVE_INFINITY;
  let pausedUntil = 0;
  let connections = 0;

  function note(event: Received, at: number, webhookId: string | undefined): void {
    if (!first.has(event.id)) {
      first.set(event.id, webhookId);
      latencies.push(at - event.sent);
      lastAt = at;
      if (event.isAlarm) alarms += 1;
    } else if (webhookId !== undefined && first.get(event.id) === webhookId) repeated += 1;
    else doubled += 1;
  }

  function accept(at: number, webhookId: string | undefined, body: string): void {
    const events = readBody(body);
    taken += 1;
    bytes += Buffer.byteLength(body);
    if (taken <= 100) inFirstHundred += events.length;
    for (const event of events) note(event, at, webhookId);
  }

  function watchPause(at: number, { headers }: Behaving): void {
    const seconds = Number(headers['retry-after'] ?? 0);
    if (seconds === 0) return;
    askedAt = at;
    pausedUntil = at + seconds * 1000;
  }

  return {
    behave(next) {
      behaving = next;
    },
    take(at, webhookId, body) {
      requests += 1;
      if (times.length < MOST_TIMES) times.push(at);
      if (at < pausedUntil && at > askedAt + UNDER_WAY_MS) inPause += 1;
      const now = requests % behaving.everyNth === 0 ? behaving : ACCEPT;
      watchPause(at, now);
      if (now.mode === 'answer' && now.status >= 200 && now.status <= 299) accept(at, webhookId, body);
      return now;
    },
    connected() {
      connections += 1;
    },
    unique: () => first.size,
    report: () => ({
      requests,
      meanBytes: taken === 0 ? 0 : bytes / taken,
      unique: first.size,
      alarms,
      repeated,
      doubled,
      lastAt,
      p50: percentile(latencies, 0.5),
      p95: percentile(latencies, 0.95),
      p99: percentile(latencies, 0.99),
      times,
      inFirstHundred,
      inPause,
      connections,
    }),
  };
}
