import { AppError } from './errors.ts';

/** The longest wait that a refusal asks of callers where it need not be longer: there may soon be room again. */
export const LONGEST_RETRY_SECONDS = 5;

/** The refusal of a rate limit, with a Retry-After of whole seconds: at least 1, at most `longestSeconds`. */
export function rateLimited(
  message: string,
  waitMs: number,
  longestSeconds: number = LONGEST_RETRY_SECONDS,
): AppError {
  const retryAfterSeconds = Math.min(Math.max(1, Math.ceil(waitMs / 1000)), longestSeconds);
  return new AppError('rate-limited', message, { retryAfterSeconds });
}
