import type { HeadgateEvent } from '../events/event.ts';
import type { ExpressionWarnings } from '../expressions/warnings.ts';
import { clampRetryAfterMs } from '../lib/backoff.ts';
import type { Clock } from '../lib/clock.ts';
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

/** A target that has not answered by then has failed. Targets' own limits are shorter. */
const ATTEMPT_TIMEOUT_MS = 60_000;

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
}

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

/** Sends once. `stopped` when the process ends meanwhile: nothing is recorded, and it is sent again later. */
export async function attempt(
  request: SendRequest,
  target: Target,
  options: SendDependencies,
): Promise<AttemptResult | 'stopped'> {
  const { clock } = options;
  const startedAt = clock.now();
  const started = clock.monotonic();
  const outcome = withoutSecrets(await sendWithTimeout(request, target, options), target);
  if (isStopped(options) && outcome.kind !== 'sent') return 'stopped';
  const durationMs = clock.monotonic() - started;
  return { outcome, startedAt, started, durationMs, pauseMs: pauseMsOf(outcome) };
}

/** The one way that what a receiver or a connection said comes back: nothing that is hidden of the target is in it. */
function withoutSecrets(outcome: Outcome, target: Target): Outcome {
  if (outcome.kind === 'sent' && outcome.except === undefined) return outcome;
  const hidden = hiddenTextsOf(target);
  if (outcome.kind === 'sent') return { ...outcome, except: maskSecrets(outcome.except ?? '', hidden) };
  const { reason, answer } = outcome;
  return {
    ...outcome,
    reason: maskSecrets(reason, hidden),
    ...(answer !== undefined && { answer: maskSecrets(answer, hidden) }),
  };
}

function pauseMsOf(outcome: Outcome): number {
  if (outcome.kind !== 'retry' || outcome.pauseTarget !== true) return 0;
  return outcome.retryAfterMs === undefined ? DEFAULT_PAUSE_MS : clampRetryAfterMs(outcome.retryAfterMs);
}

/** A process that was frozen finds its timers due before it learns that it is no longer the leader. */
const isStopped = ({ signal, maySend = () => true }: SendDependencies): boolean =>
  signal.aborted || !maySend();

const TIMED_OUT: Outcome = { kind: 'retry', reason: `no end within ${ATTEMPT_TIMEOUT_MS / 1000} s` };

/** A target that takes too long is not waited for any more; it is aborted only when the process ends. */
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
  const { http, dial, sender, secretOf, clock, signal, logFolder, knownFields } = options;
  const masked = (text: string): string => maskSecrets(text, hiddenTextsOf(target));
  const warn = (reason: string): void =>
    options.expressionWarnings.warn({ target: target.settings.id }, masked(reason), { deliveryId: id });
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
