import type { Cancel, Clock } from '../../lib/clock.ts';
import { createLogInterval } from '../../lib/log-interval.ts';
import type { Logger } from '../../lib/logger.ts';
import { Rate } from '../../lib/rate.ts';
import { createRateLimiter } from './rate.ts';

/** How many deliveries the workers of a workspace may begin together in any minute. */
export interface Quota {
  /** `wake` is called when the worker had to wait and may begin. */
  join(wake: () => void): QuotaMember;
  /** Why workers wait, when they do. */
  readonly notice: string;
}

export interface QuotaMember {
  /** True when so many may begin now and no other worker waits before this one. If not, the worker is put in line. */
  tryAdmit(count: number): boolean;
  /** True when so many may begin now. */
  hasTokens(count: number): boolean;
  /** So many begin; the worker is no longer first in line. */
  reserve(count: number): TokenReservation;
  readonly isWaiting: boolean;
  /** The earliest moment, on the monotonic clock, at which any worker may begin one. */
  nextFreeAt(): number;
  /** The worker wants nothing any more. */
  leave(): void;
}

/** Tokens for what is in flight in one request. */
export interface TokenReservation {
  /** True when it may be so many after all. If not, nothing of it may begin now, and nothing is counted. */
  tryResize(count: number): boolean;
  /** So many were sent: tokens that are left over are returned. */
  complete(sent: number): void;
}

interface QuotaOptions {
  readonly perMinute: number;
  readonly clock: Pick<Clock, 'monotonic' | 'after'>;
  readonly logger: Logger;
  /** Called each time that workers begin to wait. */
  readonly onReached: () => void;
}

const UNLIMITED_RESERVATION: TokenReservation = { tryResize: () => true, complete() {} };
const UNLIMITED_MEMBER: QuotaMember = {
  tryAdmit: () => true,
  hasTokens: () => true,
  reserve: () => UNLIMITED_RESERVATION,
  isWaiting: false,
  nextFreeAt: () => 0,
  leave() {},
};
export const NO_QUOTA: Quota = { join: () => UNLIMITED_MEMBER, notice: '' };

export const createQuota = (options: QuotaOptions): Quota => new WorkspaceQuota(options);

/**
 * Workers that wait are served round-robin, one request each, so that a target with much to send keeps none of the others
 * waiting. None overtakes the first in line, which may need tokens for a whole batch.
 */
class WorkspaceQuota implements Quota {
  readonly notice: string;
  readonly #options: QuotaOptions;
  readonly #rateLimiter = createRateLimiter();
  /** The tokens that waiting workers need, by their `wake`, in the order they came. */
  readonly #waiters = new Map<() => void, number>();
  /** The worker that is being served. */
  #current: (() => void) | undefined;
  #isServing = false;
  #isReached = false;
  readonly #isLogDue: () => boolean;
  #cancel: Cancel = () => {};

  constructor(options: QuotaOptions) {
    const { perMinute } = options;
    this.#options = options;
    this.#isLogDue = createLogInterval(options.clock);
    this.notice = `the workspace has begun the ${perMinute} deliveries that it may begin in a minute (hosted.quotas.deliveriesPerMinute); what is over waits its turn. Ask the operator of this service for more`;
    this.#rateLimiter.setLimit(new Rate(`${perMinute}/minute`, perMinute, 60_000));
  }

  join(wake: () => void): QuotaMember {
    const isWaiting = (): boolean => this.#waiters.has(wake);
    return {
      tryAdmit: count => this.#tryAdmit(wake, this.#bounded(count)),
      hasTokens: count => this.#hasTokens(this.#bounded(count)),
      reserve: count => {
        if (this.#current === wake) this.#current = undefined;
        return this.#reserve(count);
      },
      get isWaiting() {
        return isWaiting();
      },
      nextFreeAt: () => this.#rateLimiter.nextFreeAt(),
      leave: () => {
        this.#waiters.delete(wake);
        this.#serve();
      },
    };
  }

  /** A batch that was bound before goes whole, also where that is more than is allowed by now. */
  #bounded(count: number): number {
    return Math.min(count, this.#options.perMinute);
  }

  #hasTokens(count: number): boolean {
    return this.#rateLimiter.nextFreeAt(count) <= this.#options.clock.monotonic();
  }

  #tryAdmit(wake: () => void, count: number): boolean {
    if ((this.#current === wake || this.#waiters.size === 0) && this.#hasTokens(count)) return true;
    if (this.#waiters.get(wake) === count) return false;
    this.#waiters.set(wake, count);
    if (!this.#isServing) this.#serveLater();
    if (!this.#isReached) this.#reportReached();
    return false;
  }

  #serve(): void {
    this.#isServing = true;
    for (const [wake, count] of this.#waiters) {
      if (!this.#hasTokens(count)) break;
      this.#waiters.delete(wake);
      this.#current = wake;
      wake();
      this.#current = undefined;
    }
    this.#isServing = false;
    this.#isReached = this.#waiters.size > 0;
    this.#serveLater();
  }

  #serveLater(): void {
    const { clock } = this.#options;
    this.#cancel();
    const [first] = this.#waiters.values();
    if (first === undefined) return;
    const waitMs = this.#rateLimiter.nextFreeAt(first) - clock.monotonic();
    this.#cancel = clock.after(waitMs, () => this.#serve());
  }

  #reportReached(): void {
    const { logger, onReached } = this.#options;
    this.#isReached = true;
    onReached();
    if (this.#isLogDue()) logger.warn({ reason: this.notice }, 'deliveries of the workspace wait');
  }

  #reserve(count: number): TokenReservation {
    const { clock } = this.#options;
    const rateLimiter = this.#rateLimiter;
    let startedAt = clock.monotonic();
    let reserved = this.#bounded(count);
    rateLimiter.record(startedAt, reserved);

    const refund = (unused: number): void => {
      if (unused <= 0) return;
      rateLimiter.refund(startedAt, unused);
      reserved -= unused;
      if (this.#waiters.size > 0) this.#serve();
    };

    return {
      tryResize: count => {
        const wanted = this.#bounded(count);
        if (wanted <= reserved) return true;
        const isFirst = this.#waiters.size === 0;
        refund(reserved);
        if (!isFirst || !this.#hasTokens(wanted)) return false;
        startedAt = clock.monotonic();
        reserved = wanted;
        rateLimiter.record(startedAt, reserved);
        return true;
      },
      complete: sent => refund(reserved - this.#bounded(sent)),
    };
  }
}
