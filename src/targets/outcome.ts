import type { RetrySchedule } from '../lib/backoff.ts';

interface OutcomeFailure {
  readonly reason: string;
  readonly httpStatus?: number;
  readonly answer?: string;
}

/** What an attempt brought: a target says whether trying again can help, the lane decides when. */
export type Outcome =
  | {
      readonly kind: 'sent';
      readonly httpStatus?: number;
      /** What the receiver did not take of it, such as some of a mail's recipients; kept with the delivery. */
      readonly except?: string;
    }
  | (OutcomeFailure & {
      readonly kind: 'retry';
      /** What the receiver asked for. */
      readonly retryAfterMs?: number;
      /** The receiver asked everybody to slow down: the whole target waits, not this delivery alone. */
      readonly pauseTarget?: boolean;
      /** What is left to do where part of the receivers have it, for the next attempt; left out, it is as before. */
      readonly rest?: string;
      /** In place of the schedule of all targets. */
      readonly waits?: RetrySchedule;
      /** Nothing that is sent arrives until a person mends the target, such as an untrusted certificate. */
      readonly isTargetBroken?: boolean;
    })
  | (OutcomeFailure & {
      readonly kind: 'refused';
      /** Another message may well be taken: nothing is said of the target. */
      readonly isAboutMessage?: boolean;
    });
