import type { Clock } from '../../lib/clock.ts';
import { AppError } from '../../lib/errors.ts';
import { createLogInterval } from '../../lib/log-interval.ts';
import type { Logger } from '../../lib/logger.ts';
import { rateLimited } from '../../lib/rate-limited.ts';
import { SpendingLimit } from '../../lib/spending-limit.ts';

/** How often the users and pipelines of a workspace may ask for something. Names are those of `hosted.quotas`. */
interface RequestQuotas {
  readonly streams: number;
  readonly requestsPerSecond: number;
  readonly changesPerMinute: number;
  readonly pushesPerSecond: number;
  readonly pushedBytesPerSecond: number;
}

/** Divides what all workspaces share. Each call throws `rate-limited`, naming the quota, while the workspace is over it. */
export interface WorkspaceLimits {
  /** Counts a request of an authenticated user. */
  countRequest(): void;
  /** Charges the body of a request that was let in, in bytes. */
  chargeRequest(bytes: number): void;
  /** Counts a request that may change or check something, once it is authorised. */
  countChange(): void;
  /** Counts a push of a known sender, before its body is read. */
  countPush(): void;
  /** Charges what was in a push that was let in: bytes as they were unpacked, or events beyond the first. */
  chargePush(what: { readonly bytes: number } | { readonly events: number }): void;
  /** Makes room for an event stream; what it returns gives that back, and may be called twice. */
  openStream(): () => void;
}

/** Streams of a process that serves one workspace. */
const STREAMS_ALONE = 200;

/** After a pause so much more than in a second is let in at once. */
const SAVED_SECONDS = { requests: 2, pushes: 2, bytes: 10 } as const;

/** A body counts as a further request for each so many bytes: to read it takes as long. */
const BYTES_OF_REQUEST = 50_000;

/** Events of a push that was let in may take minutes to make up for; no sender needs to wait longer before it asks again. */
const LONGEST_RETRY_SECONDS = 60;

interface WorkspaceLimitsOptions {
  readonly quotas: RequestQuotas;
  readonly clock: Pick<Clock, 'monotonic'>;
  readonly logger: Logger;
  /** Called for each refusal. */
  readonly onRefused: (quota: keyof RequestQuotas) => void;
}

/** Where one workspace has the process for itself, only what would never end is bounded. */
export function createSoleWorkspaceLimits(): WorkspaceLimits {
  let streams = 0;
  return {
    countRequest() {},
    chargeRequest() {},
    countChange() {},
    countPush() {},
    chargePush() {},
    openStream() {
      if (streams >= STREAMS_ALONE)
        throw new AppError('unavailable', `${STREAMS_ALONE} streams are open already`, {
          isForCaller: true,
          retryAfterSeconds: 5,
        });
      streams++;
      return onceOnly(() => streams--);
    },
  };
}

export const createWorkspaceLimits = (options: WorkspaceLimitsOptions): WorkspaceLimits =>
  new QuotaLimits(options);

class QuotaLimits implements WorkspaceLimits {
  readonly #options: WorkspaceLimitsOptions;
  readonly #requests: SpendingLimit;
  readonly #changes: SpendingLimit;
  readonly #pushes: SpendingLimit;
  readonly #bytes: SpendingLimit;
  readonly #isLogDue: (quota: keyof RequestQuotas) => boolean;
  #streams = 0;

  constructor(options: WorkspaceLimitsOptions) {
    const { quotas, clock } = options;
    const limit = (perSecond: number, savedSeconds: number) =>
      new SpendingLimit({ perSecond, most: perSecond * savedSeconds, clock });
    this.#options = options;
    this.#isLogDue = createLogInterval(clock);
    this.#requests = limit(quotas.requestsPerSecond, SAVED_SECONDS.requests);
    this.#changes = limit(quotas.changesPerMinute / 60, 60);
    this.#pushes = limit(quotas.pushesPerSecond, SAVED_SECONDS.pushes);
    this.#bytes = limit(quotas.pushedBytesPerSecond, SAVED_SECONDS.bytes);
  }

  countRequest(): void {
    this.#assertWithin('requestsPerSecond', this.#requests);
    this.#requests.spend(1);
  }

  chargeRequest(bytes: number): void {
    this.#requests.spend(Math.floor(bytes / BYTES_OF_REQUEST));
  }

  countChange(): void {
    this.#assertWithin('changesPerMinute', this.#changes);
    this.#changes.spend(1);
  }

  countPush(): void {
    this.#assertWithin('pushesPerSecond', this.#pushes);
    this.#assertWithin('pushedBytesPerSecond', this.#bytes);
    this.#pushes.spend(1);
  }

  chargePush(what: { readonly bytes: number } | { readonly events: number }): void {
    if ('bytes' in what) this.#bytes.spend(what.bytes);
    else this.#pushes.spend(Math.max(0, what.events - 1));
  }

  openStream(): () => void {
    if (this.#streams >= this.#options.quotas.streams) throw this.#refusal('streams', 0);
    this.#streams++;
    return onceOnly(() => this.#streams--);
  }

  #assertWithin(quota: keyof RequestQuotas, limit: SpendingLimit): void {
    const waitMs = limit.waitMs();
    if (waitMs > 0) throw this.#refusal(quota, waitMs);
  }

  #refusal(quota: keyof RequestQuotas, waitMs: number): AppError {
    const { quotas, onRefused, logger } = this.#options;
    const message = REFUSALS[quota](quotas[quota]);
    onRefused(quota);
    if (this.#isLogDue(quota))
      logger.warn(
        { quota, reason: message },
        'requests of the workspace are refused, as it has reached a quota',
      );
    return rateLimited(message, waitMs, LONGEST_RETRY_SECONDS);
  }
}

function onceOnly(run: () => void): () => void {
  let isDone = false;
  return () => {
    if (!isDone) run();
    isDone = true;
  };
}

const OPERATOR = 'or ask the operator of this service for more';

const REFUSALS: Readonly<Record<keyof RequestQuotas, (most: number) => string>> = {
  streams: most =>
    `The workspace has the ${most} event streams open that it may have (hosted.quotas.streams); close some, ${OPERATOR}`,
  requestsPerSecond: most =>
    `The workspace makes more than the ${most} requests a second that it may (hosted.quotas.requestsPerSecond); send them more slowly, ${OPERATOR}`,
  changesPerMinute: most =>
    `The workspace makes more than the ${most} changes and checks a minute that it may (hosted.quotas.changesPerMinute); make them more slowly or several in one, ${OPERATOR}`,
  pushesPerSecond: most =>
    `The workspace pushes more than the ${most} times a second that it may, each posted event counted (hosted.quotas.pushesPerSecond); push less often, ${OPERATOR}`,
  pushedBytesPerSecond: most =>
    `The workspace pushes more than the ${most} bytes a second that it may, unpacked (hosted.quotas.pushedBytesPerSecond); push less, ${OPERATOR}`,
};
