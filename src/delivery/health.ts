import type { Clock } from '../lib/clock.ts';
import type { SettleOperation } from '../storage/operations/settle.ts';
import type { Outcome } from '../targets/outcome.ts';

/** Fewer failures in a row may be due to the messages. */
const FAILURES_BEFORE_SUSPICION = 3;
/** Shorter failures alert nobody. */
const FAILING_AFTER_MS = 60_000;

/** A target's health has changed, or it has lost its first delivery since it began to fail. */
export interface TargetHealthChange {
  readonly state: 'failing' | 'exhausted' | 'recovered';
  /** The last failure; empty when it recovered. */
  readonly reason: string;
}

/** The state last notified of a target that is failing. */
export type FailingState = Exclude<TargetHealthChange['state'], 'recovered'>;

export interface HealthTracker {
  readonly isFailing: boolean;
  /** It is known to be well; answers the change that this makes, if any. */
  recover(): TargetHealthChange | undefined;
  /** Takes the outcome of an attempt; answers the change that it makes, if any. */
  record(outcome: Outcome, operation: SettleOperation): TargetHealthChange | undefined;
}

/**
 * `lastState` is the state last notified of a target that was failing when the process before stopped; undefined for one
 * that was well. A target fails when it refuses what any message would meet, when it loses a delivery, when it refuses three messages
 * in a row, or when attempts fail for a minute. It is well again with the first that arrives. One that asks to slow down
 * is well.
 */
export function createHealthTracker(
  clock: Pick<Clock, 'monotonic'>,
  lastState?: FailingState,
): HealthTracker {
  let isFailing = lastState !== undefined;
  let isLossNotified = lastState === 'exhausted';
  let failures = 0;
  let failedSince = 0;

  function recover(): TargetHealthChange | undefined {
    failures = 0;
    if (!isFailing) return undefined;
    isFailing = false;
    isLossNotified = false;
    return { state: 'recovered', reason: '' };
  }

  function isBroken(outcome: Outcome): boolean {
    if (outcome.kind === 'refused' && outcome.isAboutMessage !== true) return true;
    if (outcome.kind === 'retry' && outcome.isTargetBroken === true) return true;
    if (failures < FAILURES_BEFORE_SUSPICION) return false;
    return outcome.kind === 'refused' || clock.monotonic() - failedSince >= FAILING_AFTER_MS;
  }

  return {
    get isFailing() {
      return isFailing;
    },
    recover,
    record(outcome, { state, lastError }) {
      if (outcome.kind === 'sent') return recover();
      const isLost = state === 'exhausted' || (state === 'unknown' && outcome.kind !== 'refused');
      if (!isLost && outcome.kind === 'retry' && outcome.pauseTarget === true) return undefined;
      if (failures === 0) failedSince = clock.monotonic();
      failures += 1;
      const reason = outcome.kind === 'unknown' ? (lastError ?? outcome.reason) : outcome.reason;
      if (isLost && !isLossNotified) {
        isFailing = true;
        isLossNotified = true;
        return { state: 'exhausted', reason };
      }
      if (isFailing || !isBroken(outcome)) return undefined;
      isFailing = true;
      return { state: 'failing', reason };
    },
  };
}
