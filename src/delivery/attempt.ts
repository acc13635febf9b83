import type { HeadgateEvent } from '../events/event.ts';
import { obeyedMs } from '../lib/backoff.ts';
import type { Clock } from '../lib/clock.ts';
import type { Dial } from '../lib/dial.ts';
import { reasonOf } from '../lib/errors.ts';
import type { HttpClient } from '../lib/http.ts';
import type { Ids } from '../lib/ids.ts';
import type { Logger } from '../lib/logger.ts';
import { onAbort } from '../lib/on-abort.ts';
import type { DeliveryRow, SettleOperation, Storage } from '../storage/storage.ts';
import type { FailedRequest } from '../targets/failed-request.ts';
import type { Outcome } from '../targets/outcome.ts';
import type { Target } from '../targets/target.ts';

/** A target that neither answers nor fails by then has failed. Targets' own limits are shorter. */
const LONGEST_ATTEMPT_MS = 60_000;

/** What every attempt needs. */
export interface Attempts {
  readonly workspace: string;
  readonly storage: Storage;
  readonly http: HttpClient;
  readonly dial: Dial;
  readonly secretOf: (name: string) => string | undefined;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly logger: Logger;
  readonly random: () => number;
  /** Folder below which targets may write log files. */
  readonly logFolder: string;
  /** Read at each attempt, so that a reload counts at once. */
  readonly settings: () => DeliverySettings;
  /** Told what was booked of a delivery, and how long its attempt took; null when nothing was sent. Left out, nobody is. */
  readonly booked?: (row: DeliveryRow, settlement: SettleOperation, durationMs: number | null) => void;
  /** Aborts what is under way when the time for a graceful stop is over. */
  readonly signal: AbortSignal;
  /** Whether this process may send at this moment; it may always where there is no other. */
  readonly holds?: () => boolean;
}

interface DeliverySettings {
  /** Milliseconds between attempts; the first is before the first attempt. */
  readonly retrySchedule: readonly number[];
  /** What `cribl_host` says. */
  readonly instanceName: string;
  /** Deliveries that may wait for a target that drops what is over. */
  readonly mostWaiting: number;
  /** Attempts under way at once over all targets, beside one for each. */
  readonly concurrency: number;
}

/** What goes out as one message. */
export interface Parcel {
  /** Of the delivery, or of those that travel together. */
  readonly id: string;
  /** As the target gets them. */
  readonly events: readonly HeadgateEvent[];
  /** What attempts before left to do of it. */
  readonly rest?: string;
}

export interface AttemptEnd {
  readonly outcome: Outcome;
  /** Epoch ms. */
  readonly startedAt: number;
  /** On the monotonic clock. */
  readonly started: number;
  readonly durationMs: number;
  /** How long the whole target must wait. */
  readonly pauseMs: number;
}

/** The wait of a whole target whose receiver asks it to slow down and does not say for how long. */
const PAUSE_MS = 60_000;

/** What sending takes of it. */
export type Sending = Pick<
  Attempts,
  'http' | 'dial' | 'secretOf' | 'clock' | 'logger' | 'logFolder' | 'signal' | 'holds'
>;

/** Sends once. `stopped` when the process ends meanwhile: nothing is booked and it is sent again later. */
export async function attempt(
  parcel: Parcel,
  target: Target,
  options: Sending,
): Promise<AttemptEnd | 'stopped'> {
  const { clock } = options;
  const startedAt = clock.now();
  const started = clock.monotonic();
  const outcome = await send(parcel, target, options);
  if (isOver(options) && outcome.kind !== 'sent') return 'stopped';
  const durationMs = clock.monotonic() - started;
  return { outcome, startedAt, started, durationMs, pauseMs: pauseOf(outcome) };
}

function pauseOf(outcome: Outcome): number {
  if (outcome.kind !== 'retry' || outcome.pauseTarget !== true) return 0;
  return outcome.retryAfterMs === undefined ? PAUSE_MS : obeyedMs(outcome.retryAfterMs);
}

/** A process that was frozen finds its timers due before it learns that its time is over. */
const isOver = ({ signal, holds = () => true }: Sending): boolean => signal.aborted || !holds();

const GIVEN_UP: Outcome = { kind: 'retry', reason: `no end within ${LONGEST_ATTEMPT_MS / 1000} s` };

/** The target is left behind when its time is over; it hears of the process's end only. */
function send(parcel: Parcel, target: Target, options: Sending): Promise<Outcome> {
  if (isOver(options)) return Promise.resolve(GIVEN_UP);
  return new Promise(resolve => {
    const end = (outcome: Outcome): void => {
      cancel();
      leave();
      resolve(outcome);
    };
    const giveUp = (): void => end(GIVEN_UP);
    const cancel = options.clock.after(LONGEST_ATTEMPT_MS, giveUp);
    const leave = onAbort(options.signal, giveUp);
    void sent(parcel, target, options).then(end);
  });
}

async function sent({ id, events, rest }: Parcel, target: Target, options: Sending): Promise<Outcome> {
  const { http, dial, secretOf, clock, signal, logFolder } = options;
  const warn = (reason: string): void =>
    options.logger.warn({ target: target.settings.id, deliveryId: id, reason }, 'an expression failed');
  const failed = (request: FailedRequest): void =>
    options.logger.warn({ target: target.settings.id, deliveryId: id, ...request }, 'a request failed');
  try {
    return await target.send(events, {
      deliveryId: id,
      ...(rest !== undefined && { rest }),
      http,
      dial,
      secretOf,
      clock,
      signal,
      logFolder,
      warn,
      failed,
    });
  } catch (error) {
    const facts = { target: target.settings.id, deliveryId: id, reason: reasonOf(error) };
    options.logger.error(facts, 'a target failed unexpectedly');
    return { kind: 'retry', reason: 'the target failed unexpectedly; the log has the detail' };
  }
}
