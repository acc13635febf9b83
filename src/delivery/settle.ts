import type { HeadgateEvent } from '../events/event.ts';
import { nextDelay, type RetrySchedule } from '../lib/backoff.ts';
import type { CountedLog } from '../lib/counted-log.ts';
import { AppError } from '../lib/errors.ts';
import type { Ids } from '../lib/ids.ts';
import { truncateToBytes } from '../lib/text.ts';
import type { SettleOperation, TargetPause } from '../storage/operations/settle.ts';
import { type AttemptRow, type DeliveryRow, newDelivery } from '../storage/stores/deliveries.ts';
import type { DeliveryFault, DeliveryState } from '../storage/tables.ts';
import { isTriedAgain, type Outcome } from '../targets/outcome.ts';
import type { AttemptResult, DeliveryContext } from './attempt.ts';
import { STORE_RETRY_MS } from './queue.ts';
import type { PreparedDelivery, SendResult } from './send.ts';
import { afterFailure, type FailedBatch, halfAfter, SPLIT_PAUSE_MS, type Split, splitOf } from './split.ts';

/** The next state of one of the deliveries of a batch. */
export interface Settlement {
  readonly prepared: PreparedDelivery;
  readonly operation: SettleOperation;
  /** Null when nothing was sent. */
  readonly durationMs: number | null;
  /** When it may be tried again, on the monotonic clock; meaningless once it is settled. */
  readonly due: number;
  /** It is tried again by itself: the receiver failed over the batch. */
  readonly isAlone?: boolean;
  /** It is not lost to the target yet, whatever that failed. */
  readonly isTriedAtOnce?: boolean;
  readonly failedBatch?: FailedBatch | undefined;
}

const EVENT_MISSING: Outcome = {
  kind: 'refused',
  reason: 'its event is no longer in the store',
  isAboutMessage: true,
};

interface SettleContext extends Pick<DeliveryContext, 'clock' | 'ids' | 'random' | 'settings' | 'workspace'> {
  readonly showsRepeats: boolean | undefined;
  /** When the target last took anything, on the monotonic clock; undefined for never. */
  readonly lastSentAt: number | undefined;
}

/** The next state of each delivery of a batch. Pure but for `random` and `ids`: it writes nothing. */
export function settle(
  { skipped, sent, attemptResult }: SendResult,
  options: SettleContext,
): readonly Settlement[] {
  const unsent = skipped.map(prepared => settleUnsent(prepared, options));
  const settlements = attemptResult === undefined ? [] : settleSent(sent, attemptResult, options);
  return [...settlements, ...unsent];
}

/** Adds the pause that the receiver asked for to one of them, which keeps it for all. */
export function withPause(
  settlements: readonly Settlement[],
  pause: TargetPause | undefined,
): readonly Settlement[] {
  const [first, ...others] = settlements;
  if (first === undefined || pause === undefined) return settlements;
  return [{ ...first, operation: { ...first.operation, pause } }, ...others];
}

interface FallbackContext extends Pick<Fallback, 'isFailing' | 'ids'>, Pick<DeliveryContext, 'clock'> {
  /** Ids of the fallback targets for this event. */
  readonly fallbacks: (event: HeadgateEvent | undefined) => readonly string[];
}

/** Adds the deliveries to fallback targets. */
export function withFallbacks(
  settlements: readonly Settlement[],
  { fallbacks, isFailing, ids, clock }: FallbackContext,
): readonly Settlement[] {
  const now = clock.now();
  return settlements.map(one => {
    const { entry, original, fallbackTargets } = one.prepared;
    const others = (): readonly string[] => (one.isTriedAtOnce === true ? [] : fallbacks(original));
    const context = { row: entry.row, fallbacks: others, isFailing, fallbackTargets, ids, now };
    const operation = withFallbackDeliveries(one.operation, context);
    return operation === one.operation ? one : { ...one, operation };
  });
}

function settleUnsent(
  prepared: PreparedDelivery,
  { clock, random, settings, workspace }: SettleContext,
): Settlement {
  const { row: delivery } = prepared.entry;
  const now = clock.now();
  const { retrySchedule } = settings();
  const lost = { workspace, delivery, outcome: EVENT_MISSING, startedAt: now, durationMs: 0 };
  const operation =
    prepared.skipReason === undefined
      ? settleAttempt({ ...lost, retrySchedule, random })
      : settleSkipped(workspace, delivery, { now, reason: prepared.skipReason });
  return { prepared, operation, durationMs: null, due: 0 };
}

/** The next state of each delivery of one request. A batch that failed over one of them goes on in parts. */
function settleSent(
  sent: readonly PreparedDelivery[],
  attemptResult: AttemptResult,
  context: SettleContext,
): readonly Settlement[] {
  const { clock, lastSentAt, showsRepeats } = context;
  const size = sent.length;
  const outcome = withSharedAnswer(attemptResult.outcome, size);
  const answered = outcome === attemptResult.outcome ? attemptResult : { ...attemptResult, outcome };
  const settlements = sent.map(prepared => settleWhole(prepared, answered, context));
  const isEnough = sent.some(({ entry }) => isRepeatedEnough({ showsRepeats }, outcome, entry.row));
  if (attemptResult.isCut === true && !isEnough) return settlements.map(one => afterCut(one, clock.now()));
  if (size < 2) return settlements;
  const before = sent[0]?.entry.failedBatch;
  const isLast = isTriedAgain(outcome) && settlements.some(one => one.operation.state !== 'waiting');
  const split = isEnough ? undefined : splitOf({ outcome, size, before, lastSentAt, isLast });
  if (split !== undefined) return inParts(sent, split, answered, context);
  const failedBatch = afterFailure(outcome, before, clock.monotonic());
  return settlements.map(one => ({ ...one, failedBatch }));
}

function settleWhole(
  prepared: PreparedDelivery,
  { outcome, startedAt, started, durationMs }: AttemptResult,
  { random, settings, showsRepeats, workspace }: SettleContext,
): Settlement {
  const delivery = prepared.entry.row;
  const { retrySchedule } = settings();
  const attempt = {
    workspace,
    delivery,
    outcome,
    startedAt,
    durationMs,
    retrySchedule,
    random,
    showsRepeats,
  };
  const operation = settleAttempt(attempt);
  return { prepared, operation, durationMs, due: started + ((operation.nextAt ?? startedAt) - startedAt) };
}

function inParts(
  sent: readonly PreparedDelivery[],
  { into, isAtOnce }: Split,
  { outcome, ...attempt }: AttemptResult,
  context: SettleContext,
): readonly Settlement[] {
  const isSingle = into === 'single deliveries';
  const note = `${sent.length} together; each ${isSingle ? '' : 'half '}is tried alone`;
  const noted = { ...attempt, outcome: withNote(outcome, note) };
  const pauseMs = isSingle ? 0 : SPLIT_PAUSE_MS;
  const nextAt = attempt.startedAt + Math.round(attempt.durationMs) + pauseMs;
  const now = context.clock.monotonic();
  const before = sent[0]?.entry.failedBatch;
  return partsOf(sent, isSingle ? 1 : Math.ceil(sent.length / 2)).flatMap((part, index) => {
    const isAlone = part.length === 1;
    const batch = isAlone ? null : context.ids.next();
    const failedBatch = isAlone ? undefined : halfAfter(before, now, { isFirst: index === 0, isAtOnce });
    return part.map(prepared => {
      const { operation, due, ...rest } = settleWhole(prepared, noted, context);
      return {
        ...rest,
        operation: { ...(isAtOnce ? triedAtOnce(operation, prepared.entry.row, nextAt) : operation), batch },
        due: isAtOnce ? attempt.started + attempt.durationMs + pauseMs : due,
        ...{ isAlone, isTriedAtOnce: isAtOnce, failedBatch },
      };
    });
  });
}

/** The next process sends it at once. */
const afterCut = ({ operation, ...one }: Settlement, endedAt: number): Settlement => ({
  ...one,
  operation: triedAtOnce(operation, one.prepared.entry.row, endedAt),
  isTriedAtOnce: true,
});

/** An attempt that was cut, or that only takes a batch apart, uses no step of the schedule up. */
const triedAtOnce = (operation: SettleOperation, row: DeliveryRow, nextAt: number): SettleOperation => ({
  ...operation,
  ...{ state: 'waiting', settledAt: null, fault: null, nextAt, retriedFrom: row.retried_from + 1 },
});

const withNote = (outcome: Outcome, note: string): Outcome =>
  outcome.kind === 'sent' ? outcome : { ...outcome, reason: `${outcome.reason}, ${note}` };

const partsOf = <Item>(items: readonly Item[], size: number): readonly (readonly Item[])[] =>
  Array.from({ length: Math.ceil(items.length / size) }, (_, index) =>
    items.slice(index * size, (index + 1) * size),
  );

/** Of one answer to many deliveries, each keeps a part: a request keeps little more than one alone does. */
function withSharedAnswer(outcome: Outcome, batchSize: number): Outcome {
  if (batchSize === 1 || outcome.answer === undefined) return outcome;
  const most = Math.max(LEAST_ANSWER_BYTES, Math.floor(MOST_ANSWER_BYTES / batchSize));
  return { ...outcome, answer: truncateToBytes(outcome.answer, most) };
}

const MOST_ANSWER_BYTES = 2048;
const LEAST_ANSWER_BYTES = 128;

/** An attempt at one delivery that has ended. */
export interface FinishedAttempt {
  readonly workspace: string;
  readonly delivery: DeliveryRow;
  readonly outcome: Outcome;
  /** Epoch ms. */
  readonly startedAt: number;
  readonly durationMs: number;
  /** Delays between attempts, in milliseconds; the first is before the first attempt. */
  readonly retrySchedule: readonly number[];
  /** 0 to 1, for the jitter. */
  readonly random: () => number;
  /** The receiver shows each repeat as another message: few are sent. */
  readonly showsRepeats?: boolean | undefined;
}

/** Messages of one delivery that may have arrived, at a receiver that does not drop repeats. */
const MAX_SHOWN_REPEATS = 3;

/** After so many, an attempt that failed just as the one before is counted without a row: retries each second may go on for hours. */
const MAX_IDENTICAL_ROWS = 50;

/** Nobody answers, and whoever reads there may have it as often as it may be shown. */
const isRepeatedEnough = (
  { showsRepeats }: Pick<FinishedAttempt, 'showsRepeats'>,
  outcome: Outcome,
  { unknown_attempts: before }: DeliveryRow,
): boolean => showsRepeats === true && outcome.kind === 'unknown' && before + 1 >= MAX_SHOWN_REPEATS;

/** The delivery's next state, and a row for the attempt unless it was a success at once and nothing was answered. */
export function settleAttempt(finished: FinishedAttempt): SettleOperation {
  const { delivery, outcome } = finished;
  const attempts = delivery.attempts + 1;
  const endedAt = finished.startedAt + Math.round(finished.durationMs);
  const unknownAttempts = delivery.unknown_attempts + (outcome.kind === 'unknown' ? 1 : 0);
  const delayMs = isRepeatedEnough(finished, outcome, delivery)
    ? undefined
    : delayAfter(finished, attempts - delivery.retried_from);
  const state = stateAfter(outcome, delayMs !== undefined, unknownAttempts > 0);
  const isPlainSuccess =
    outcome.kind === 'sent' && attempts === 1 && outcome.except === undefined && outcome.answer === undefined;
  const isRepeated =
    state === 'waiting' && attempts > MAX_IDENTICAL_ROWS && isSameFailure(outcome, unknownAttempts, delivery);
  return {
    kind: 'settle',
    workspace: finished.workspace,
    deliveryId: delivery.id,
    state,
    attempts,
    unknownAttempts,
    nextAt: delayMs === undefined ? null : endedAt + Math.round(delayMs),
    lastStatus: outcome.httpStatus ?? null,
    lastError: reasonOf(outcome, unknownAttempts),
    settledAt: state === 'waiting' ? null : endedAt,
    retriedAt: delivery.retried_at,
    attempt: isPlainSuccess || isRepeated ? null : attemptRow(finished, attempts),
    fault: faultOf(outcome, state),
    batch: delivery.batch,
    ...(isTriedAgain(outcome) && remainderOf(outcome.rest ?? delivery.remainder)),
    fallbackDeliveries: [],
  };
}

/** Receivers that have it must not get it again, also when it is retried on request. */
const remainderOf = (rest: string | null): { readonly remainder?: string } =>
  rest === null ? {} : { remainder: rest };

/** What may have arrived once is never said to have not, whatever later attempts bring. */
function stateAfter(outcome: Outcome, hasNext: boolean, mayHaveArrived: boolean) {
  if (outcome.kind === 'sent') return 'sent';
  if (isTriedAgain(outcome) && hasNext) return 'waiting';
  if (mayHaveArrived) return 'unknown';
  return outcome.kind === 'refused' ? 'refused' : 'exhausted';
}

/** A receiver that gives no hint is at fault itself, not the message. */
function faultOf(outcome: Outcome, state: DeliveryState): DeliveryFault | null {
  if (state !== 'refused' && state !== 'exhausted') return null;
  return outcome.kind === 'refused' && outcome.isAboutMessage === true ? 'message' : 'target';
}

function reasonOf(outcome: Outcome, unknownAttempts: number): string | null {
  if (outcome.kind === 'sent') return outcome.except ?? null;
  if (outcome.kind === 'unknown') return `${outcome.reason}; it may not have reached the receiver`;
  const earlier = unknownAttempts === 1 ? 'an earlier attempt' : `${unknownAttempts} earlier attempts`;
  return unknownAttempts === 0
    ? outcome.reason
    : `${outcome.reason}; ${earlier} may have reached the receiver`;
}

/** `attempts` counts from when the delivery was last requeued. */
function delayAfter(
  { outcome, retrySchedule, random }: FinishedAttempt,
  attempts: number,
): number | undefined {
  if (!isTriedAgain(outcome)) return undefined;
  const schedule: RetrySchedule = { kind: 'listed', delays: retrySchedule };
  const totalMs = retrySchedule.reduce((sum, delay) => sum + delay, 0);
  const { retryAfterMs } = outcome;
  return nextDelay(outcome.waits ?? schedule, attempts, { totalMs, random, retryAfterMs });
}

const isSameFailure = (outcome: Outcome, unknownAttempts: number, delivery: DeliveryRow): boolean =>
  outcome.kind !== 'sent' &&
  reasonOf(outcome, unknownAttempts) === delivery.last_error &&
  (outcome.httpStatus ?? null) === delivery.last_status;

function attemptRow(finished: FinishedAttempt, number: number): AttemptRow {
  const { outcome } = finished;
  return {
    delivery_id: finished.delivery.id,
    number,
    started_at: finished.startedAt,
    duration_ms: Math.round(finished.durationMs),
    outcome: outcome.kind,
    http_status: outcome.httpStatus ?? null,
    reason: outcome.kind === 'sent' ? (outcome.except ?? null) : outcome.reason,
    answer: outcome.answer ?? null,
  };
}

/** Nothing is sent, because it would be pointless or misleading. */
export function settleSkipped(
  workspace: string,
  delivery: DeliveryRow,
  { now, reason }: { readonly now: number; readonly reason: string },
): SettleOperation {
  return {
    kind: 'settle',
    workspace,
    deliveryId: delivery.id,
    state: 'skipped',
    attempts: delivery.attempts,
    unknownAttempts: delivery.unknown_attempts,
    nextAt: null,
    lastStatus: delivery.last_status,
    lastError: reason,
    settledAt: now,
    retriedAt: delivery.retried_at,
    attempt: null,
    fault: null,
    batch: delivery.batch,
    ...remainderOf(delivery.remainder),
    fallbackDeliveries: [],
  };
}

/** Its target was removed before it was sent; `targets` get it in its place, and its end as well. */
export function settleRemoved(
  workspace: string,
  delivery: DeliveryRow,
  { now, targets, ids }: { readonly now: number; readonly targets: readonly string[]; readonly ids: Ids },
): SettleOperation {
  const names = targets.map(id => `'${id}'`).join(', ');
  const reason = `target removed: ${names === '' ? 'nobody' : names} got it in its place`;
  const settled = settleSkipped(workspace, delivery, { now, reason });
  return {
    ...settled,
    // What may have arrived needs its end there.
    state: delivery.unknown_attempts > 0 ? 'unknown' : 'skipped',
    fault: 'removed',
    fallbackDeliveries: targets.map(target =>
      newDelivery({ ...delivery, id: ids.next(), target, created_at: now }, delivery.target),
    ),
  };
}

/** The row as memory keeps it for the next attempt. */
export const afterAttempt = (row: DeliveryRow, operation: SettleOperation): DeliveryRow => ({
  ...row,
  attempts: operation.attempts,
  retried_from: operation.retriedFrom ?? row.retried_from,
  unknown_attempts: operation.unknownAttempts,
  next_at: operation.nextAt,
  last_status: operation.lastStatus,
  last_error: operation.lastError,
  batch: operation.batch,
  remainder: operation.remainder ?? null,
});

export interface Fallback {
  readonly row: DeliveryRow;
  /** Ids of the fallback targets for an alarm, a router replaced by where it leads. */
  readonly fallbacks: () => readonly string[];
  /** This attempt included. */
  readonly isFailing: boolean;
  /** For a resolution: the targets that got the alarm in place of this one, whatever its fallbacks are now. */
  readonly fallbackTargets: readonly string[];
  /** For the fallback deliveries. */
  readonly ids: Ids;
  /** Epoch ms. */
  readonly now: number;
}

/**
 * Adds the deliveries to fallback targets, written in the same commit. An alarm that the target has lost, may have lost or
 * fails to take goes to its fallbacks. The resolution goes to all that got the alarm in this way, while the target itself is tried to the
 * end of the schedule: only the target can close what it was sent.
 */
export function withFallbackDeliveries(operation: SettleOperation, fallback: Fallback): SettleOperation {
  const { row, isFailing, fallbackTargets } = fallback;
  const deliveriesTo = (targets: readonly string[]): readonly DeliveryRow[] =>
    targets.map(target => fallbackDelivery(target, fallback));
  if (row.status === 'OK')
    return fallbackTargets.length === 0
      ? operation
      : { ...operation, fallbackDeliveries: deliveriesTo(fallbackTargets) };
  const isLost = UNDELIVERED_STATES.includes(operation.state);
  if (!isLost && !(operation.state === 'waiting' && isFailing)) return operation;
  const targets = fallback.fallbacks();
  if (targets.length === 0) return operation;
  return {
    ...operation,
    state: isLost ? operation.state : operation.unknownAttempts > 0 ? 'unknown' : 'exhausted',
    nextAt: null,
    settledAt: operation.settledAt ?? fallback.now,
    lastError: `${operation.lastError}; failed over to its fallback ${targets.map(id => `'${id}'`).join(', ')}`,
    fallbackDeliveries: deliveriesTo(targets),
  };
}

/** An alarm in one of them has certainly not arrived, or nobody knows. */
const UNDELIVERED_STATES: readonly DeliveryState[] = ['refused', 'exhausted', 'unknown'];

const fallbackDelivery = (target: string, { row, ids, now }: Fallback): DeliveryRow =>
  newDelivery({ ...row, id: ids.next(), target, created_at: now }, row.target);

/**
 * Retries until the disk takes it. `stopped` when the process ends first: the delivery is sent again after the next start.
 * `requeued` when the attempt is recorded of a delivery that was requeued meanwhile, `gone` when nothing is.
 */
export async function recordSettlement(
  operation: SettleOperation,
  { storage, signal, clock }: Pick<DeliveryContext, 'storage' | 'signal' | 'clock'>,
  faultLog: CountedLog,
): Promise<'recorded' | 'requeued' | 'gone' | 'stopped'> {
  let written = operation;
  for (;;) {
    try {
      await storage.commit(written);
      faultLog.recovered();
      return written.isRequeued === true ? 'requeued' : 'recorded';
    } catch (error) {
      if (error instanceof AppError && error.code === 'conflict') {
        if (written.isRequeued === true || written.state === 'sent') return 'gone';
        written = { ...operation, isRequeued: true };
        continue;
      }
      faultLog.failed(error);
      if (signal.aborted) return 'stopped';
      await clock.sleep(STORE_RETRY_MS, signal);
    }
  }
}
