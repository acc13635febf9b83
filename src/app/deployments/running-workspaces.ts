import type { Cancel, Clock } from '../../lib/clock.ts';
import { createCountedLog } from '../../lib/counted-log.ts';
import { reasonOf } from '../../lib/errors.ts';
import type { Logger } from '../../lib/logger.ts';
import { createMutex } from '../../lib/mutex.ts';
import { createRepeat } from '../../lib/repeat.ts';
import type { RunningWorkspace } from '../workspace.ts';

export interface RunningWorkspacesOptions {
  /** Names of the workspaces that should run. */
  readonly names: () => Promise<readonly string[]>;
  /** Starts one of them. */
  readonly start: (name: string) => Promise<RunningWorkspace>;
  /** Calls back when the names may have changed. */
  readonly subscribe: (listener: () => void) => Cancel;
  readonly clock: Pick<Clock, 'sleep' | 'monotonic'>;
  readonly logger: Logger;
}

/** Runs all workspaces of a hosted installation in this process, as they come and go. */
export interface RunningWorkspaces {
  find(name: string): RunningWorkspace | undefined;
  running(): Iterable<RunningWorkspace>;
  /** Starts all workspaces. One that fails is tried again, and does not keep the others from starting. */
  start(): Promise<void>;
  /** Stops all workspaces, and starts no more. */
  readonly stop: () => Promise<void>;
}

/** Between two reads that find workspaces no change was announced for. */
const POLL_MS = 2000;
/** One that cannot be started is tried at twice the pause each time, up to this. */
const LONGEST_PAUSE_MS = 60_000;

interface FailedStart {
  /** As it was logged. */
  readonly reason: string;
  readonly pauseMs: number;
  /** Monotonic ms of the next try. */
  readonly nextAt: number;
}

export function createRunningWorkspaces({
  names,
  start,
  subscribe,
  clock,
  logger,
}: RunningWorkspacesOptions): RunningWorkspaces {
  const running = new Map<string, RunningWorkspace>();
  const faults = createCountedLog(logger, {
    fields: {},
    message: 'the list of workspaces cannot be read',
    over: 'the list of workspaces can be read again',
  });
  /** Workspaces that could not be started: reading what is wrong with one again and again would cost all others. */
  const failed = new Map<string, FailedStart>();
  const mutex = createMutex();
  const looking = createRepeat({
    clock,
    interval: POLL_MS,
    work: refresh,
    faults: { failed: error => faults.failed(error) },
  });
  let isStopped = false;
  let unsubscribe: Cancel = () => {};

  async function reconcile(): Promise<void> {
    if (isStopped) return;
    const present = await names();
    for (const [name, workspace] of running)
      if (!present.includes(name)) {
        running.delete(name);
        failed.delete(name);
        await workspace.stop();
        logger.info({ workspace: name }, 'workspace stopped');
      }
    for (const name of failed.keys()) if (!present.includes(name)) failed.delete(name);
    for (const name of present)
      if (!isStopped && !running.has(name) && !(clock.monotonic() < (failed.get(name)?.nextAt ?? 0)))
        await startOne(name);
  }

  async function startOne(name: string): Promise<void> {
    try {
      const workspace = await start(name);
      running.set(name, workspace);
      failed.delete(name);
      logger.info({ workspace: name }, 'workspace started');
    } catch (error) {
      const reason = reasonOf(error);
      const before = failed.get(name);
      if (before?.reason !== reason)
        logger.error({ workspace: name, reason }, 'a workspace cannot be started; it is tried again');
      const pauseMs = Math.min(LONGEST_PAUSE_MS, before === undefined ? POLL_MS : 2 * before.pauseMs);
      failed.set(name, { reason, pauseMs, nextAt: clock.monotonic() + pauseMs });
    }
  }

  /** One at a time. */
  function refresh(): Promise<void> {
    return mutex.run(() => reconcile().then(faults.recovered, faults.failed));
  }

  return {
    find: name => running.get(name),
    running: () => running.values(),
    async start() {
      await refresh();
      unsubscribe = subscribe(() => void refresh());
      looking.start();
    },
    async stop() {
      isStopped = true;
      unsubscribe();
      await looking.stop();
      await mutex.idle();
      await Promise.all([...running.values()].map(workspace => workspace.stop()));
      running.clear();
    },
  };
}
