import type { HeadgateEvent } from '../events/event.ts';
import { clampRetryAfterMs } from '../lib/backoff.ts';
import type { Clock } from '../lib/clock.ts';
import type { Dial } from '../lib/dial.ts';
import { reasonOf } from '../lib/errors.ts';
import type { HttpClient } from '../lib/http/client.ts';
import type { Ids } from '../lib/ids.ts';
import type { Logger } from '../lib/logger.ts';
import { onAbort } from '../lib/on-abort.ts';
import type { SettleOperation } from '../storage/operations/settle.ts';
import type { Storage } from '../storage/storage.ts';
import type { DeliveryRow } from '../storage/stores/deliveries.ts';
import type { FailedRequest } from '../targets/http-target.ts';
import type { Outcome } from '../targets/outcome.ts';
import type { Target } from '../targets/target.ts';

/** A target that neither answers nor fails by then has failed. Targets' own limits are shorter. */
const ATTEMPT_TIMEOUT_MS = 60_000;

/** What every attempt needs. */
export interface DeliveryContext {
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
  readonly onSettled?: (row: DeliveryRow, operation: SettleOperation, durationMs: number | null) => void;
  /** Aborts what is under way when the time for a graceful stop is over. */
  readonly signal: AbortSignal;
  /** Whether this process may send at this moment; it may always where there is no other. */
  readonly maySend?: () => boolean;
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
export interface SendRequest {
  /** Of the delivery, or of those that travel together. */
  readonly id: string;
  /** As the target gets them. */
  readonly events: readonly HeadgateEvent[];
  /** What attempts before left to do of it. */
  readonly rest?: string;
}

export interface AttemptResult {
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
const DEFAULT_PAUSE_MS = 60_000;

/** What sending takes of it. */
export type SendDependencies = Pick<
  DeliveryContext,
  'http' | 'dial' | 'secretOf' | 'clock' | 'logger' | 'logFolder' | 'signal' | 'maySend'
>;

/** Sends once. `stopped` when the process ends meanwhile: nothing is booked and it is sent again later. */
export async function attempt(
  request: SendRequest,
  target: Target,
  options: SendDependencies,
): Promise<AttemptResult | 'stopped'> {
  const { clock } = options;
  const startedAt = clock.now();
  const started = clock.monotonic();
  const outcome = await sendWithTimeout(request, target, options);
  if (isStopped(options) && outcome.kind !== 'sent') return 'stopped';
  const durationMs = clock.monotonic() - started;
  return { outcome, startedAt, started, durationMs, pauseMs: pauseMsOf(outcome) };
}

function pauseMsOf(outcome: Outcome): number {
  if (outcome.kind !== 'retry' || outcome.pauseTarget !== true) return 0;
  return outcome.retryAfterMs === undefined ? DEFAULT_PAUSE_MS : clampRetryAfterMs(outcome.retryAfterMs);
}

/** A process that was frozen finds its timers due before it learns that its time is over. */
const isStopped = ({ signal, maySend = () => true }: SendDependencies): boolean =>
  signal.aborted || !maySend();

const TIMED_OUT: Outcome = { kind: 'retry', reason: `no end within ${ATTEMPT_TIMEOUT_MS / 1000} s` };

/** The target is left behind when its time is over; it hears of the process's end only. */
function sendWithTimeout(request: SendRequest, target: Target, options: SendDependencies): Promise<Outcome> {
  if (isStopped(options)) return Promise.resolve(TIMED_OUT);
  return new Promise(resolve => {
    const end = (outcome: Outcome): void => {
      cancel();
      removeListener();
      resolve(outcome);
    };
    const timeOut = (): void => end(TIMED_OUT);
    const cancel = options.clock.after(ATTEMPT_TIMEOUT_MS, timeOut);
    const removeListener = onAbort(options.signal, timeOut);
    void callTarget(request, target, options).then(end);
  });
}

async function callTarget(
  { id, events, rest }: SendRequest,
  target: Target,
  options: SendDependencies,
): Promise<Outcome> {
  const { http, dial, secretOf, clock, signal, logFolder } = options;
  const warn = (reason: string): void =>
    options.logger.warn({ target: target.settings.id, deliveryId: id, reason }, 'an expression failed');
  const logFailedRequest = (request: FailedRequest): void =>
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
      logFailedRequest,
    });
  } catch (error) {
    const facts = { target: target.settings.id, deliveryId: id, reason: reasonOf(error) };
    options.logger.error(facts, 'a target failed unexpectedly');
    return { kind: 'retry', reason: 'the target failed unexpectedly; the log has the detail' };
  }
}
