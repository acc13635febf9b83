import { type Answer, readAnswer, refusalOf } from './answer.ts';
import type { Environment } from './environment.ts';
import { HeadgateConnectionError } from './errors.ts';
import { backOffMs } from './retry.ts';

/** One request, as often as it has to be sent. */
export interface Sent {
  readonly url: string;
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly signal: AbortSignal | undefined;
}

export interface Sending {
  readonly environment: Environment;
  /** For one try, its answer read to the end. */
  readonly timeoutMs: number;
  /** How often a request is sent again. */
  readonly retries: number;
}

/** The server says so before it does anything, so that it may be asked again whatever was asked. */
const NOT_DONE = new Set([429, 503]);
/** Doing these twice is the same as doing them once (RFC 9110 section 9.2.2). */
const REPEATABLE = new Set(['GET', 'HEAD', 'PUT', 'DELETE']);

/**
 * Sends until there is an answer that another try would not better. Throws `HeadgateConnectionError`, or the reason of
 * the signal.
 */
export async function send(request: Sent, sending: Sending): Promise<Answer> {
  const { environment, retries } = sending;
  for (let tries = 1; ; tries++) {
    const outcome = await once(request, sending);
    const wait = waitOf(outcome, request.method, environment.now());
    if (wait !== undefined && tries <= retries) {
      await environment.sleep(wait ?? backOffMs(tries, environment.random()), request.signal);
      continue;
    }
    if (outcome instanceof HeadgateConnectionError) throw outcome;
    return outcome;
  }
}

/** Milliseconds to wait before the next try, null when nobody says, undefined when there is to be none. */
function waitOf(
  outcome: Answer | HeadgateConnectionError,
  method: string,
  now: number,
): number | null | undefined {
  if (outcome instanceof HeadgateConnectionError) return REPEATABLE.has(method) ? null : undefined;
  if (!NOT_DONE.has(outcome.status)) return undefined;
  return refusalOf(outcome, now).retryAfterMs ?? null;
}

async function once(
  { url, signal, ...request }: Sent,
  { environment, timeoutMs }: Sending,
): Promise<Answer | HeadgateConnectionError> {
  const limit = AbortSignal.timeout(timeoutMs);
  try {
    const response = await environment.fetch(url, {
      ...request,
      redirect: 'error',
      signal: signal === undefined ? limit : AbortSignal.any([signal, limit]),
    });
    return await readAnswer(response);
  } catch (cause) {
    if (signal?.aborted) throw signal.reason;
    if (cause instanceof HeadgateConnectionError) return cause;
    const { origin } = new URL(url);
    return limit.aborted
      ? new HeadgateConnectionError(`${origin} did not answer within ${timeoutMs} ms`, {
          cause,
          timedOut: true,
        })
      : new HeadgateConnectionError(`${origin} cannot be reached: ${reasonOf(cause)}`, { cause });
  }
}

/** fetch says "fetch failed", and why in its cause. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause instanceof Error ? error.cause.message || error.message : error.message;
}
