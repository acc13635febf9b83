import type { Clock } from '../../lib/clock.ts';
import type { Logger } from '../../lib/logger.ts';
import { createConcurrencyLimit, type Permits } from './concurrency.ts';
import { createQuota, NO_QUOTA, type QuotaMember } from './quota.ts';
import { createRateLimiters, type RateLimiter } from './rate.ts';

/** The limits of one worker. */
export interface WorkerLimits {
  readonly rateLimiter: RateLimiter;
  readonly permits: Permits;
  readonly quota: QuotaMember;
}

/** Limits that workers share. */
export interface DeliveryLimits {
  /** `wake` is called when the worker had to wait for a limit and may go on. */
  join(wake: () => void): WorkerLimits;
  /** Why workers wait for the quota, when they do. */
  readonly quotaNotice: string;
}

interface DeliveryLimitsOptions {
  /** Attempts in flight at once over all targets, beside one for each. */
  readonly concurrency: () => number;
  /** Undefined where nothing bounds the workspace. */
  readonly quota: { readonly perMinute: number; readonly onReached: () => void } | undefined;
  readonly clock: Clock;
  readonly logger: Logger;
}

export function createDeliveryLimits(options: DeliveryLimitsOptions): DeliveryLimits {
  const { clock, logger } = options;
  const concurrency = createConcurrencyLimit(options.concurrency);
  const quota = options.quota === undefined ? NO_QUOTA : createQuota({ ...options.quota, clock, logger });
  const createRateLimiter = createRateLimiters();
  return {
    quotaNotice: quota.notice,
    join: wake => ({
      rateLimiter: createRateLimiter(wake),
      permits: concurrency.join(wake),
      quota: quota.join(wake),
    }),
  };
}
