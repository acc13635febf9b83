import * as z from 'zod';
import type { Waits } from '../lib/backoff.ts';

/** The family's limits, in milliseconds: how long the first wait is, by what the next ones grow, and how far. */
const backoff = {
  initialBackoff: z
    .int()
    .min(0)
    .max(600_000)
    .default(1000)
    .describe('Wait before the first retry, in milliseconds.'),
  backoffRate: z.number().min(1).max(20).default(2).describe('Each wait is so many times the one before.'),
  maxBackoff: z
    .int()
    .min(10_000)
    .max(180_000)
    .default(10_000)
    .describe('Longest wait between retries, in milliseconds.'),
};

const responseRetry = z.strictObject({
  httpStatus: z.int().min(100).max(599).describe('HTTP status that is retried by these settings.'),
  ...backoff,
});

const timeoutRetry = z.strictObject({
  timeoutRetry: z.boolean().default(false).describe('Whether these settings apply.'),
  ...backoff,
});

const responseRetries = z
  .array(responseRetry)
  .max(100)
  .superRefine((entries, context) => {
    for (const [index, { httpStatus }] of entries.entries())
      if (entries.findIndex(entry => entry.httpStatus === httpStatus) < index)
        context.addIssue({
          code: 'custom',
          path: [index, 'httpStatus'],
          message: 'must be listed once; an earlier entry has it too',
        });
  });

/** How a target that speaks HTTP retries, to be spread into its schema. */
export const retrySettings = {
  responseRetrySettings: responseRetries
    .default([])
    .describe(
      'HTTP statuses that are retried with waits of their own, for as long in all as `delivery.retrySchedule` takes.',
    ),
  timeoutRetrySettings: timeoutRetry
    .optional()
    .describe('Own waits after a time-out, for as long in all as `delivery.retrySchedule` takes.'),
  responseHonorRetryAfterHeader: z
    .boolean()
    .default(true)
    .describe('Whether the Retry-After of an answer lengthens the wait.'),
} as const;

export type RetrySettings = z.output<z.ZodObject<typeof retrySettings>>;

type Backoff = z.output<z.ZodObject<typeof backoff>>;

const growing = ({ initialBackoff, backoffRate, maxBackoff }: Backoff): Waits => ({
  kind: 'growing',
  firstMs: initialBackoff,
  rate: backoffRate,
  mostMs: maxBackoff,
});

/** How a status that is listed is retried, whatever it is; undefined for any other. */
export function waitsOfStatus({ responseRetrySettings }: RetrySettings, status: number): Waits | undefined {
  const own = responseRetrySettings.find(({ httpStatus }) => httpStatus === status);
  return own && growing(own);
}

/** How a time-out is retried; undefined where that is left to the schedule. */
export const waitsOfTimeout = ({ timeoutRetrySettings: own }: RetrySettings): Waits | undefined =>
  own?.timeoutRetry ? growing(own) : undefined;
