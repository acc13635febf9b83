import type { Sessions } from '../auth/sessions.ts';
import type { Clock } from '../lib/clock.ts';
import { createFaultLog } from '../lib/fault-log.ts';
import type { Logger } from '../lib/logger.ts';

const EVERY_MS = 600_000;

/** Removes from time to time the sessions that are over. The answer ends it, after the sweep under way. */
export function sweepSessions(
  sessions: Pick<Sessions, 'sweep'>,
  { clock, logger }: { readonly clock: Clock; readonly logger: Logger },
): () => Promise<void> {
  const abort = new AbortController();
  const faults = createFaultLog(logger, {
    fields: {},
    message: 'sessions that are over cannot be removed',
    over: 'sessions that are over are removed again',
  });

  async function run(): Promise<void> {
    await clock.sleep(EVERY_MS, abort.signal);
    while (!abort.signal.aborted) {
      try {
        await sessions.sweep();
        faults.passed();
      } catch (error) {
        faults.failed(error);
      }
      await clock.sleep(EVERY_MS, abort.signal);
    }
  }

  const running = run();
  return async () => {
    abort.abort();
    await running;
  };
}
