import type { RetrySchedule } from '../lib/backoff.ts';

interface OutcomeFailure {
  readonly reason: string;
  readonly httpStatus?: number;
  readonly answer?: string;
}

/** The result of an attempt: a target says if trying again can help, the delivery worker decides when. */
export type Outcome =
  | {
      readonly kind: 'sent';
      readonly httpStatus?: number;
      /** The part that the receiver did not accept, such as some of a mail's recipients; kept with the delivery. */
      readonly except?: string;
    }
  | (OutcomeFailure & {
      readonly kind: 'retry';
      /** The wait that the receiver requested. */
      readonly retryAfterMs?: number;
      /** The receiver limits all requests: the whole target waits, not this delivery alone. */
      readonly pauseTarget?: boolean;
      /** The remainder for the next attempt, where part of the receivers have it; by default the same as before. */
      readonly rest?: string;
      /** Replaces the schedule of all targets. */
      readonly waits?: RetrySchedule;
      /** Nothing that is sent arrives until a person fixes the target, such as an untrusted certificate. */
      readonly isTargetBroken?: boolean;
    })
  | (OutcomeFailure & {
      readonly kind: 'refused';
      /** Another message may be accepted: this says nothing about the target. */
      readonly isAboutMessage?: boolean;
    });
