import type { RetrySchedule } from '../lib/backoff.ts';

interface OutcomeFailure {
  readonly reason: string;
  readonly httpStatus?: number;
  readonly answer?: string;
}

/** How a message that has not arrived for certain is tried again. */
interface RetryHints {
  /** The wait that the receiver requested. */
  readonly retryAfterMs?: number;
  /** The receiver limits all requests: the whole target waits, not this delivery alone. */
  readonly pauseTarget?: boolean;
  /** The remainder for the next attempt, where part of the receivers have it; by default the same as before. */
  readonly rest?: string;
  /** Replaces the schedule of all targets. */
  readonly waits?: RetrySchedule;
}

/** The result of an attempt: a target says if trying again can help, the delivery worker decides when. */
export type Outcome =
  | {
      readonly kind: 'sent';
      readonly httpStatus?: number;
      /** The first 2 KB of what the receiver answered; kept with the delivery. */
      readonly answer?: string;
      /** The part that the receiver did not accept, such as some of a mail's recipients; kept with the delivery. */
      readonly except?: string;
    }
  /** It has certainly not arrived, and another attempt may help. */
  | (OutcomeFailure &
      RetryHints & {
        readonly kind: 'retry';
        /** Nothing that is sent arrives until a person fixes the target, such as an untrusted certificate. */
        readonly isTargetBroken?: boolean;
        /** The receiver failed over what it was sent: of several messages one may be the cause. */
        readonly mayBeAboutMessage?: boolean;
      })
  /** It was written and no answer came: nobody knows whether it has arrived. It is sent again under the same id. */
  | (OutcomeFailure & RetryHints & { readonly kind: 'unknown' })
  | (OutcomeFailure & {
      readonly kind: 'refused';
      /** Another message may be accepted: this says nothing about the target. */
      readonly isAboutMessage?: boolean;
    });

export type RefusedOutcome = Extract<Outcome, { readonly kind: 'refused' }>;

/** Another attempt follows, as long as the schedule lasts. */
export const isTriedAgain = (
  outcome: Outcome,
): outcome is Extract<Outcome, { readonly kind: 'retry' | 'unknown' }> =>
  outcome.kind === 'retry' || outcome.kind === 'unknown';
