import type { Schemas } from './types.ts';

/** Why the server refused; `unknown` when it was no Headgate that answered. */
export type ErrorCode = Schemas['Error']['code'] | 'unknown';

/** One wrong place of what was sent. */
export interface Problem {
  readonly path: string;
  readonly message: string;
}

interface Refusal {
  readonly status: number;
  readonly code: string;
  readonly requestId: string | undefined;
  readonly problems: readonly Problem[];
  readonly retryAfterMs: number | undefined;
}

/** The server answered and did not do it. */
export class HeadgateError extends Error {
  /** HTTP status. */
  readonly status: number;
  readonly code: ErrorCode | (string & Record<never, never>);
  /** Stands in the log of the server. */
  readonly requestId: string | undefined;
  readonly problems: readonly Problem[];
  /** How long to wait before the next try, where the server says. */
  readonly retryAfterMs: number | undefined;

  constructor(message: string, refusal: Refusal) {
    super(message);
    this.name = 'HeadgateError';
    this.status = refusal.status;
    this.code = refusal.code;
    this.requestId = refusal.requestId;
    this.problems = refusal.problems;
    this.retryAfterMs = refusal.retryAfterMs;
  }
}

/** There was no answer, or none that can be read; the cause says why. Whether it was done is not known. */
export class HeadgateConnectionError extends Error {
  readonly timedOut: boolean;

  constructor(message: string, options: { readonly cause?: unknown; readonly timedOut?: boolean } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'HeadgateConnectionError';
    this.timedOut = options.timedOut ?? false;
  }
}

/** The client was not given what the call needs. */
export class HeadgateUsageError extends Error {
  override readonly name = 'HeadgateUsageError';
}
