import type { Dispatcher } from '../../delivery/dispatcher.ts';
import type { Clock } from '../../lib/clock.ts';
import { createCountedLog } from '../../lib/counted-log.ts';
import type { HttpClient } from '../../lib/http/client.ts';
import type { Logger } from '../../lib/logger.ts';
import { createRepeat, startToStart } from '../../lib/repeat.ts';
import type { Engine } from '../../notifications/engine.ts';

/** Services that watch heartbeats measure in minutes. */
const EVERY_MS = 30_000;
const TIMEOUT_MS = 10_000;
const MOST_ANSWER_BYTES = 1024;
/** Notifications are evaluated twice a second. */
const MOST_EVALUATION_AGE_MS = 15_000;
/** Longer than any attempt may take, including its wait for a permit. */
const MOST_OVERDUE_MS = 5 * 60_000;

/** The reason why something does not advance; undefined while everything does. */
export function whyStalled({
  engine,
  dispatcher,
  clock,
}: {
  readonly engine: Pick<Engine, 'evaluatedAt'>;
  readonly dispatcher: Pick<Dispatcher, 'mostOverdue'>;
  readonly clock: Pick<Clock, 'monotonic'>;
}): string | undefined {
  if (clock.monotonic() - engine.evaluatedAt() > MOST_EVALUATION_AGE_MS)
    return 'notifications are not evaluated';
  const slowest = dispatcher.mostOverdue();
  if (slowest !== undefined && slowest.overdueMs > MOST_OVERDUE_MS)
    return `deliveries to ${slowest.target} do not move`;
  return undefined;
}

interface HeartbeatOptions {
  /** Read each time; undefined for none. May hold a token. */
  readonly url: () => string | undefined;
  readonly stalled: () => string | undefined;
  readonly http: HttpClient;
  readonly clock: Pick<Clock, 'sleep' | 'monotonic'>;
  readonly logger: Logger;
}

/** Requests the URL while nothing is stalled, so that the watching service also notices a process that hangs. */
export function sendHeartbeats({ url, stalled, http, clock, logger }: HeartbeatOptions): () => Promise<void> {
  const abort = new AbortController();
  const unsent = createCountedLog(logger, {
    fields: {},
    message: 'the heartbeat cannot be sent',
    over: 'the heartbeat is sent again',
  });
  const withheld = createCountedLog(logger, {
    fields: {},
    message: 'the heartbeat is withheld, as not everything advances',
    over: 'everything advances again',
  });

  async function send(address: string): Promise<void> {
    try {
      const { status } = await http.request({
        url: address,
        method: 'GET',
        timeoutMs: TIMEOUT_MS,
        maxAnswerBytes: MOST_ANSWER_BYTES,
        proxied: true,
        signal: abort.signal,
      });
      if (status >= 200 && status < 300) unsent.recovered();
      else unsent.failed(new Error(`the answer was ${status}`));
    } catch (error) {
      if (!abort.signal.aborted) unsent.failed(error);
    }
  }

  async function tick(): Promise<void> {
    const address = url();
    const reason = stalled();
    if (reason === undefined) withheld.recovered();
    else if (address !== undefined) withheld.failed(new Error(reason));
    if (address !== undefined && reason === undefined) await send(address);
  }

  const sending = createRepeat({
    clock,
    firstAfterMs: 0,
    interval: startToStart(EVERY_MS),
    work: tick,
    faults: { failed: error => unsent.failed(error) },
  });
  sending.start();
  return async () => {
    abort.abort();
    await sending.stop();
  };
}
