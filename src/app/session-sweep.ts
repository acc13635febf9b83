import type { Sessions } from '../auth/sessions.ts';
import type { Clock } from '../lib/clock.ts';
import { createFaultLog } from '../lib/fault-log.ts';
import type { Logger } from '../lib/logger.ts';
import { createRepeat } from '../lib/repeat.ts';

const EVERY_MS = 600_000;

/** Removes from time to time the sessions that are over. The answer ends it, after the sweep under way. */
export function sweepSessions(
  sessions: Pick<Sessions, 'sweep'>,
  { clock, logger }: { readonly clock: Clock; readonly logger: Logger },
): () => Promise<void> {
  const faults = createFaultLog(logger, {
    fields: {},
    message: 'sessions that are over cannot be removed',
    over: 'sessions that are over are removed again',
  });

  const sweeping = createRepeat({
    clock,
    interval: EVERY_MS,
    work: async () => {
      await sessions.sweep();
    },
    faults,
  });
  sweeping.start();
  return () => sweeping.stop();
}
