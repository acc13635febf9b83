import type { Cancel, Clock } from '../lib/clock.ts';
import { createFaultLog } from '../lib/fault-log.ts';
import type { HttpClient } from '../lib/http.ts';
import type { Logger } from '../lib/logger.ts';
import type { SecretUrl } from '../lib/secret.ts';

const INTERVAL_MS = 30_000;
const TIMEOUT_MS = 10_000;
/** An evaluation that is that late stands still. */
const EVALUATION_LATE_MS = 60_000;
/** So does a lane that owes something and begins and books nothing for so long; no attempt of a sound target lasts it. */
const LANE_STUCK_MS = 10 * 60_000;

export interface OwnHeartbeatOptions {
  readonly http: HttpClient;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Undefined while nobody is to be told. */
  readonly url: () => SecretUrl | undefined;
  readonly evaluatedMs: () => number;
  readonly stuckMs: () => number;
}

/** Tells somebody outside that this process works. When it stands still, the silence says so. */
export function createOwnHeartbeat(options: OwnHeartbeatOptions): {
  start(): void;
  stop(): Promise<void>;
} {
  const { http, clock, logger } = options;
  const abort = new AbortController();
  const unreached = createFaultLog(logger, {
    fields: {},
    message: 'the heartbeat cannot be sent',
    over: 'the heartbeat can be sent again',
  });
  const still = createFaultLog(logger, {
    fields: {},
    message: 'the heartbeat is held back',
    over: 'the heartbeat is sent again',
  });
  let cancel: Cancel = () => {};
  let work: Promise<void> = Promise.resolve();

  function isMoving(): boolean {
    if (options.evaluatedMs() >= EVALUATION_LATE_MS) still.failed('evaluation stands still');
    else if (options.stuckMs() >= LANE_STUCK_MS) still.failed('deliveries stand still');
    else {
      still.passed();
      return true;
    }
    return false;
  }

  async function send(url: string): Promise<void> {
    try {
      const { status } = await http.request({
        url,
        method: 'GET',
        timeoutMs: TIMEOUT_MS,
        maxAnswerBytes: 1024,
        proxied: true,
        signal: abort.signal,
      });
      if (status >= 200 && status < 300) unreached.passed();
      else unreached.failed(`the answer was ${status}`);
    } catch (error) {
      if (!abort.signal.aborted) unreached.failed(error);
    }
  }

  function tick(): void {
    const url = options.url();
    if (url !== undefined && isMoving()) work = send(url.reveal());
    cancel = clock.after(INTERVAL_MS, tick);
  }

  return {
    start: tick,
    async stop() {
      cancel();
      abort.abort();
      await work;
    },
  };
}
