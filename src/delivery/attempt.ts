import type { HeadgateEvent } from '../events/event.ts';
import type { ExpressionWarnings } from '../expressions/warnings.ts';
import { clampRetryAfterMs } from '../lib/backoff.ts';
import type { Cancel, Clock } from '../lib/clock.ts';
import type { Dial } from '../lib/dial.ts';
import { reasonOf } from '../lib/errors.ts';
import type { HttpClient } from '../lib/http/client.ts';
import type { Ids } from '../lib/ids.ts';
import type { Logger } from '../lib/logger.ts';
import { onAbort } from '../lib/on-abort.ts';
import { maskSecrets } from '../lib/secret.ts';
import type { Storage } from '../storage/storage.ts';
import type { FailedRequest } from '../targets/http-target.ts';
import type { Outcome } from '../targets/outcome.ts';
import { hiddenTextsOf, type Sender, type Target } from '../targets/target.ts';

/** Targets' own limits are shorter than those of an attempt, so that a slow receiver is told from a target that hangs. */
const BESIDE_PATIENCE_MS = 10_000;
const SHORTEST_TIMEOUT_MS = 60_000;

const timeoutMsOf = ({ patienceMs = 0 }: Target): number =>
  Math.max(SHORTEST_TIMEOUT_MS, patienceMs + BESIDE_PATIENCE_MS);

export interface DeliveryContext {
  readonly workspace: string;
  readonly storage: Storage;
  readonly http: HttpClient;
  readonly dial: Dial;
  /** By default nothing of the process is used. */
  readonly sender?: Sender | undefined;
  readonly secretOf: (name: string) => string | undefined;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly logger: Logger;
  readonly expressionWarnings: ExpressionWarnings;
  readonly random: () => number;
  /** Folder below which targets may write log files. */
  readonly logFolder: string;
  /** Fields that events may have, for templates. */
  readonly knownFields?: ReadonlySet<string> | undefined;
  /** Read at each attempt, so that a reload counts at once. */
  readonly settings: () => DeliverySettings;
  /** Aborts attempts when the time for a graceful stop is over. */
  readonly signal: AbortSignal;
  /** False while another process may be the leader. Left out, always true. */
  readonly maySend?: () => boolean;
  /** As `Sending.until` says. Left out, any time. */
  readonly sendsUntil?: () => number;
}

interface DeliverySettings {
  /** Milliseconds between attempts; the first is before the first attempt. */
  readonly retrySchedule: readonly number[];
  /** The value of `cribl_host`. */
  readonly instanceName: string;
  /** Most deliveries that may wait for a target that drops the rest. */
  readonly mostWaiting: number;
  /** Attempts in flight at once over all targets, beside one for each. */
  readonly concurrency: number;
}

/** One message. */
export interface SendRequest {
  /** Id of the delivery, or of the batch. */
  readonly id: string;
  /** As the target gets them. */
  readonly events: readonly HeadgateEvent[];
  /** What earlier attempts left to do, as the target wrote it. */
  readonly rest?: string;
}

export interface AttemptResult {
  readonly outcome: Outcome;
  /** Epoch ms. */
  readonly startedAt: number;
  /** On the monotonic clock. */
  readonly started: number;
  readonly durationMs: number;
  /** How long nothing may be sent to the target. */
  readonly pauseMs: number;
  /** The first expression of the target that failed. */
  readonly warning: string | undefined;
  /** It was under way when the process had to end: the target may have got it, and its silence says nothing of it. */
  readonly isCut?: boolean;
}

/** How long a target may take to end after it was aborted. */
export const ABORT_MS = 500;

/** For a receiver that asks to slow down and does not say for how long. */
const DEFAULT_PAUSE_MS = 60_000;

export type SendDependencies = Pick<
  DeliveryContext,
  | 'http'
  | 'dial'
  | 'sender'
  | 'secretOf'
  | 'clock'
  | 'expressionWarnings'
  | 'logger'
  | 'logFolder'
  | 'knownFields'
  | 'signal'
  | 'maySend'
>;

/**
 * Sends once. `stopped` when the process ends before anything was written: nothing is recorded, and it is sent again
 * later.
 */
export async function attempt(
  request: SendRequest,
  target: Target,
  options: SendDependencies,
): Promise<AttemptResult | 'stopped'> {
  const { clock, signal } = options;
  if (isStopped(options)) return 'stopped';
  const startedAt = clock.now();
  const started = clock.monotonic();
  let warning: string | undefined;
  const noteWarning = (reason: string): void => {
    warning ??= reason;
  };
  const sent = await sendWithTimeout(request, target, { options, noteWarning });
  const outcome = withoutSecrets(sent, target);
  const isCut = signal.aborted && outcome.kind === 'unknown';
  if (isStopped(options) && outcome.kind !== 'sent' && !isCut) return 'stopped';
  const durationMs = clock.monotonic() - started;
  const result = { outcome, startedAt, started, durationMs, pauseMs: pauseMsOf(outcome), warning };
  return isCut ? { ...result, outcome: CUT, isCut } : result;
}

/** The one way that what a receiver or a connection said comes back: nothing that is hidden of the target is in it. */
function withoutSecrets(outcome: Outcome, target: Target): Outcome {
  if (outcome.kind === 'sent' && outcome.except === undefined && outcome.answer === undefined) return outcome;
  const hidden = hiddenTextsOf(target);
  const masked = outcome.answer === undefined ? {} : { answer: maskSecrets(outcome.answer, hidden) };
  if (outcome.kind !== 'sent') return { ...outcome, ...masked, reason: maskSecrets(outcome.reason, hidden) };
  const { except } = outcome;
  return { ...outcome, ...masked, ...(except !== undefined && { except: maskSecrets(except, hidden) }) };
}

function pauseMsOf(outcome: Outcome): number {
  if (outcome.kind !== 'retry' || outcome.pauseTarget !== true) return 0;
  return outcome.retryAfterMs === undefined ? DEFAULT_PAUSE_MS : clampRetryAfterMs(outcome.retryAfterMs);
}

/** A process that was frozen finds its timers due before it learns that it is no longer the leader. */
const isStopped = ({ signal, maySend = () => true }: SendDependencies): boolean =>
  signal.aborted || !maySend();

/** A target that keeps no limit of its own says nothing about where it hangs. */
const timedOut = (ms: number): Outcome => ({ kind: 'unknown', reason: `no end within ${ms / 1000} s` });

const CUT: Outcome = { kind: 'unknown', reason: 'the process was stopped before an answer came' };

interface AttemptOptions {
  readonly options: SendDependencies;
  readonly noteWarning: (reason: string) => void;
}

/** A target that takes too long is not waited for any more; it is aborted only when the process ends, and then answers. */
function sendWithTimeout(request: SendRequest, target: Target, made: AttemptOptions): Promise<Outcome> {
  const { options } = made;
  const limitMs = timeoutMsOf(target);
  return new Promise(resolve => {
    const end = (outcome: Outcome): void => {
      cancel();
      cancelGrace();
      removeListener();
      resolve(outcome);
    };
    const timeOut = (): void => end(timedOut(limitMs));
    const cancel = options.clock.after(limitMs, timeOut);
    let cancelGrace: Cancel = () => {};
    // It is the target that knows whether anything was written.
    const removeListener = onAbort(options.signal, () => {
      cancelGrace = options.clock.after(ABORT_MS, timeOut);
    });
    void callTarget(request, target, made).then(end);
  });
}

async function callTarget(
  { id, events, rest }: SendRequest,
  target: Target,
  { options, noteWarning }: AttemptOptions,
): Promise<Outcome> {
  const { http, dial, sender, secretOf, clock, signal, logFolder, knownFields } = options;
  const masked = (text: string): string => maskSecrets(text, hiddenTextsOf(target));
  function warn(reason: string): void {
    noteWarning(masked(reason));
    options.expressionWarnings.warn({ target: target.settings.id }, masked(reason), { deliveryId: id });
  }
  const logFailedRequest = ({ reason, payload, ...headers }: FailedRequest): void =>
    options.logger.warn(
      {
        target: target.settings.id,
        deliveryId: id,
        reason: masked(reason),
        payload: masked(payload),
        ...headers,
      },
      'a request failed',
    );
  try {
    return await target.send(events, {
      deliveryId: id,
      ...(rest !== undefined && { rest }),
      http,
      dial,
      ...(sender && { sender }),
      secretOf,
      clock,
      signal,
      logFolder,
      ...(knownFields && { knownFields }),
      warn,
      logFailedRequest,
    });
  } catch (error) {
    const fields = { target: target.settings.id, deliveryId: id, reason: masked(reasonOf(error)) };
    options.logger.error(fields, 'a target failed unexpectedly');
    return { kind: 'retry', reason: 'the target failed unexpectedly; the log has the detail' };
  }
}
