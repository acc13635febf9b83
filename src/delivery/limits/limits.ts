import type { Clock } from '../../lib/clock.ts';
import type { Logger } from '../../lib/logger.ts';
import { createConcurrencyLimit, type Permits } from './concurrency.ts';
import { createQuota, NO_QUOTA, type QuotaMember } from './quota.ts';
import { createRateLimiters, type RateLimiter } from './rate.ts';

/** What keeps a delivery in the queue of its target from being sent although it is due. Times are epoch ms. */
export type QueueHold =
  /** An earlier delivery of the same notification and subject is not settled; `until` is when that is tried again. */
  | { readonly kind: 'behind'; readonly delivery: string; readonly until: number | undefined }
  /** The receiver requested a pause. */
  | { readonly kind: 'paused'; readonly until: number }
  /** The workspace has begun all deliveries that it may begin in a minute. */
  | { readonly kind: 'over-quota'; readonly until: number; readonly notice: string }
  /** The next request would be above the target's rate. */
  | { readonly kind: 'paced'; readonly until: number; readonly rate: string }
  /** As many requests are in flight as the setting allows. */
  | { readonly kind: 'busy'; readonly setting: 'concurrency' | 'delivery.concurrency' }
  /** No process sends at this moment. */
  | { readonly kind: 'not-led' };

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
