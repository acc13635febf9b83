import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { systemClock } from '../../lib/clock.ts';
import { silentLogger } from '../../lib/logger.ts';
import type { Component, PipelineState } from '../../pipelines/components/component.ts';
import { minutesId } from '../../pipelines/history/row-ids.ts';
import { openStorage } from '../../storage/open.ts';
import { openView } from '../../storage/open-view.ts';
import { minuteStore } from '../../storage/stores/minutes.ts';
import type { SilenceRow } from '../../storage/stores/silences.ts';
import { findTargetType } from '../../targets/index.ts';
import type { Target } from '../../targets/target.ts';
import { configureNotification } from '../notification.ts';
import { type BacktestFindings, backtest } from './backtest.ts';

/** A backtest as another thread is given it: plain data. */
export interface BacktestJob {
  /** Address of the store that has the minutes. */
  readonly storage: string;
  readonly dataFolder: string;
  readonly workspace: string;
  /** As a file would say it. */
  readonly notification: unknown;
  readonly targets: readonly BacktestTarget[];
  readonly components: readonly Component[];
  readonly pipelines: readonly PipelineState[];
  readonly silences: readonly SilenceRow[];
  /** Epoch ms, whole minutes. */
  readonly warmUpFrom: number;
  readonly from: number;
  readonly to: number;
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
/** Rows of minutes that are asked for at a time. */
const IDS_AT_ONCE = 500;

/** Runs a backtest on the minutes of a store, with a store of its own that is removed afterwards. */
export async function performBacktest(job: BacktestJob): Promise<BacktestFindings> {
  const parent = join(job.dataFolder, FOLDER);
  await rm(parent, { recursive: true, force: true });
  await mkdir(parent, { recursive: true, mode: 0o700 });
  const folder = await mkdtemp(join(parent, 'store-'));
  const view = await openView({ url: job.storage, dataFolder: job.dataFolder, logger: silentLogger });
  try {
    const storage = await openStorage({
      ...{ url: 'sqlite:headgate.db', dataFolder: folder },
      ...{ clock: systemClock, logger: silentLogger, isTemporary: true },
    });
    const minutes = minuteStore(view.db, job.workspace);
    try {
      return await backtest({
        ...job,
        storage,
        notification: configureNotification(job.notification),
        targets: job.targets.map(targetOf),
        async readHour(hour) {
          const ids = job.components.map(component => minutesId(hour, component));
          const texts = new Map<string, string>();
          for (let at = 0; at < ids.length; at += IDS_AT_ONCE)
            for (const { id, data } of await minutes.byIds(ids.slice(at, at + IDS_AT_ONCE)))
              texts.set(id, data);
          return ids.map(id => texts.get(id));
        },
      });
    } finally {
      await storage.close();
    }
  } finally {
    await view.close();
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
