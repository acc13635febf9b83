import type { Clock } from '../../lib/clock.ts';
import { createLogInterval } from '../../lib/log-interval.ts';
import type { Logger } from '../../lib/logger.ts';
import type { Slices } from '../../lib/slices.ts';
import { SpendingLimit } from '../../lib/spending-limit.ts';
import type { ActiveRule } from './rule-source.ts';

/** After so long in one go others of the process have their turn. */
const SLICE_MS = 5;
/** After a pause evaluation may take what it could have taken in so many seconds. */
const SAVED_SECONDS = 2;

/**
 * The part of the time that a workspace may evaluate in. By the clock: on the oldest Node that is supported the processor
 * time of the process is known, which counts all of its threads, and not that of one thread.
 */
export interface EvaluationQuota {
  readonly msPerSecond: number;
  /** Called each time that a round has to go on later. */
  readonly onCarriedOver: () => void;
}

/** What the evaluation of a workspace takes. */
export interface EvaluationCosts {
  /** Milliseconds of a round by the id of the notification: of the last one or of that under way, whichever are more. */
  readonly byNotification: ReadonlyMap<string, number>;
  /** For how long, in milliseconds, not every notification has been evaluated; undefined while none waits for the quota. */
  readonly lateMs: number | undefined;
}

interface EvaluationRoundsOptions {
  /** Measures what evaluation takes. */
  readonly clock: Pick<Clock, 'monotonic'>;
  /** The time that rules are evaluated at. */
  readonly observedClock: Pick<Clock, 'monotonic'>;
  readonly logger: Logger;
  /** Left out, a round takes as long as it takes. */
  readonly quota?: EvaluationQuota | undefined;
}

/**
 * Evaluates all active rules in their order, in slices, as far as the quota lasts. A round that is not through goes on
 * where it was when it is run again.
 */
export class EvaluationRounds {
  readonly #options: EvaluationRoundsOptions;
  readonly #limit: SpendingLimit | undefined;
  #rules: readonly ActiveRule[] = [];
  /** The rule that is evaluated next, or of which `#work` is a part. */
  #at = 0;
  #work: Slices | undefined;
  /** What each rule has taken in this round, in milliseconds, by the id of its notification. */
  #costs = new Map<string, number>();
  /** The same of the round before. */
  #costsBefore: ReadonlyMap<string, number> = new Map();
  /** True while a round waits for the quota. */
  #isCarriedOver = false;
  #begunAt: number;
  /** When the last round that is through began. */
  #completeSince: number;
  readonly #isLogDue: () => boolean;

  constructor(options: EvaluationRoundsOptions) {
    const { clock, quota } = options;
    this.#options = options;
    this.#isLogDue = createLogInterval(clock);
    this.#begunAt = clock.monotonic();
    this.#completeSince = this.#begunAt;
    this.#limit =
      quota &&
      new SpendingLimit({ perSecond: quota.msPerSecond, most: quota.msPerSecond * SAVED_SECONDS, clock });
  }

  /** Takes over other rules. A round goes on with the rule that it was at, from that rule's beginning. */
  configure(rules: readonly ActiveRule[]): void {
    const current = this.#rules[this.#at]?.notification.id;
    const found = rules.findIndex(({ notification }) => notification.id === current);
    this.#rules = rules;
    this.#at = Math.max(0, found);
    this.#work = undefined;
  }

  /**
   * `attempt` does a part of the work and catches what it throws. Work that has taken more than a slice of late lets others
   * go first, the more the longer it took: rounds of a few milliseconds never wait for those that take all they may.
   */
  *run(attempt: (work: () => void) => void): Slices {
    const { clock } = this.#options;
    const spent = this.#slicesSpent();
    if (spent >= 1 && this.#limit?.waitMs() === 0) yield spent;
    let sliceEnd = clock.monotonic() + SLICE_MS;
    if (this.#at === 0 && this.#work === undefined) this.#begin();
    for (let rule = this.#rules[this.#at]; rule !== undefined; rule = this.#rules[this.#at]) {
      if (this.#limit !== undefined && this.#limit.waitMs() > 0) return this.#carryOver();
      if (this.#evaluatePart(rule, sliceEnd, attempt) < sliceEnd) continue;
      yield this.#slicesSpent();
      sliceEnd = clock.monotonic() + SLICE_MS;
    }
    this.#at = 0;
    this.#completeSince = this.#begunAt;
    this.#isCarriedOver = false;
  }

  /** For how long, in milliseconds, not every rule has been evaluated. */
  incompleteMs(): number {
    return this.#options.clock.monotonic() - this.#completeSince;
  }

  /** Undefined where nothing bounds evaluation, and so nothing is measured. */
  costs(): EvaluationCosts | undefined {
    if (this.#limit === undefined) return undefined;
    const byNotification = new Map<string, number>();
    for (const { notification } of this.#rules) {
      const { id } = notification;
      byNotification.set(id, Math.max(this.#costs.get(id) ?? 0, this.#costsBefore.get(id) ?? 0));
    }
    return { byNotification, lateMs: this.#isCarriedOver ? this.incompleteMs() : undefined };
  }

  #slicesSpent(): number {
    return this.#limit === undefined ? 0 : Math.floor(this.#limit.spent() / SLICE_MS);
  }

  #begin(): void {
    this.#costsBefore = this.#costs;
    this.#costs = new Map();
    this.#begunAt = this.#options.clock.monotonic();
  }

  /** Evaluates the rule as far as the slice goes, and answers when that was. A rule that fails is through. */
  #evaluatePart(rule: ActiveRule, sliceEnd: number, attempt: (work: () => void) => void): number {
    const { clock, observedClock } = this.#options;
    const begun = clock.monotonic();
    let isGoingOn = false;
    attempt(() => {
      const work = this.#work ?? rule.evaluate(observedClock.monotonic());
      this.#work = work;
      let isThrough = false;
      do isThrough = work.next().done === true;
      while (!isThrough && clock.monotonic() < sliceEnd);
      isGoingOn = !isThrough;
    });
    if (!isGoingOn) {
      this.#work = undefined;
      this.#at++;
    }
    const end = clock.monotonic();
    if (this.#limit !== undefined) {
      const { id } = rule.notification;
      this.#limit.spend(end - begun);
      this.#costs.set(id, (this.#costs.get(id) ?? 0) + end - begun);
    }
    return end;
  }

  #carryOver(): void {
    const { logger, quota } = this.#options;
    quota?.onCarriedOver();
    this.#isCarriedOver = true;
    if (!this.#isLogDue()) return;
    const [heaviest] = [...this.#costs].sort(([, one], [, other]) => other - one);
    logger.warn(
      {
        reason: `evaluating takes more than the ${quota?.msPerSecond} ms a second that it may (hosted.quotas.evaluationMsPerSecond)`,
        notification: heaviest?.[0],
        milliseconds: Math.round(heaviest?.[1] ?? 0),
      },
      'notifications of the workspace are evaluated late; the one that takes most is named',
    );
  }
}
