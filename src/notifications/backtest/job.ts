import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Worker } from 'node:worker_threads';
import { systemClock } from '../../lib/clock.ts';
import { silentLogger } from '../../lib/logger.ts';
import type { PipelineState } from '../../pipelines/components/component.ts';
import { openStorage } from '../../storage/open.ts';
import type { SilenceRow } from '../../storage/stores/silences.ts';
import { findTargetType } from '../../targets/index.ts';
import type { Target } from '../../targets/target.ts';
import { configureNotification } from '../notification.ts';
import { type BacktestFindings, backtest } from './backtest.ts';
import { endReading, type HistorySource, requestHistory } from './history-reading.ts';

/** A backtest as another thread is given it: plain data. */
export interface BacktestJob extends HistorySource {
  /** As a file would say it. */
  readonly notification: unknown;
  readonly targets: readonly BacktestTarget[];
  readonly pipelines: readonly PipelineState[];
  readonly silences: readonly SilenceRow[];
  /** Epoch ms, a whole minute. */
  readonly from: number;
  readonly instanceName: string;
  readonly externalUrl: string | undefined;
}

/** What grouping and routing need to know of a target; nothing is sent. */
export interface BacktestTarget {
  readonly id: string;
  readonly type: string;
  readonly maxEvents: number | undefined;
  readonly neverGroups: boolean;
  /** Its settings as a file would say them, where it leads to others. */
  readonly routing: unknown;
}

export const backtestTarget = ({ settings, batching, neverGroups, routes }: Target): BacktestTarget => ({
  id: settings.id,
  type: settings.type,
  maxEvents: batching?.maxEvents,
  neverGroups: neverGroups === true,
  routing: routes === undefined ? undefined : JSON.parse(JSON.stringify(settings)),
});

/** Below the data folder; what a process that was killed left there goes with the next backtest. */
const FOLDER = 'backtest';

/**
 * Runs a backtest on the minutes of a store, with a store of its own that is removed afterwards. What was recorded is
 * read by a thread that `serveHistory` answers in.
 */
export async function performBacktest(
  job: BacktestJob,
  startReading: () => Worker,
): Promise<BacktestFindings> {
  const parent = join(job.dataFolder, FOLDER);
  await rm(parent, { recursive: true, force: true });
  await mkdir(parent, { recursive: true, mode: 0o700 });
  const folder = await mkdtemp(join(parent, 'store-'));
  const reading = startReading();
  try {
    const storage = await openStorage({
      ...{ url: 'sqlite:headgate.db', dataFolder: folder },
      ...{ clock: systemClock, logger: silentLogger, isTemporary: true },
    });
    try {
      return await backtest({
        ...job,
        storage,
        notification: configureNotification(job.notification),
        targets: job.targets.map(targetOf),
        history: requestHistory(reading),
      });
    } finally {
      await storage.close();
    }
  } finally {
    await endReading(reading);
    await rm(folder, { recursive: true, force: true });
  }
}

function targetOf({ id, type, maxEvents, neverGroups, routing }: BacktestTarget): Target {
  const routes = routing === undefined ? undefined : findTargetType(type)?.configure(routing).routes;
  return {
    settings: { id, type, systemFields: [] },
    ...{ concurrency: 1, fallback: undefined, neverGroups },
    batching: maxEvents === undefined ? undefined : { maxEvents, maxBytes: Infinity, lingerMs: 0 },
    ...(routes !== undefined && { routes }),
    send: async () => ({ kind: 'sent' }),
    bulletinText: () => undefined,
  };
}
