import type { Cancel, Clock } from '../../lib/clock.ts';
import { createCountedLog } from '../../lib/counted-log.ts';
import { reasonOf } from '../../lib/errors.ts';
import type { Logger } from '../../lib/logger.ts';
import { createMutex } from '../../lib/mutex.ts';
import { createRepeat } from '../../lib/repeat.ts';
import type { RunningWorkspace } from '../workspace.ts';

export interface RunningWorkspacesOptions {
  /** Names of the workspaces that shall run. */
  readonly names: () => Promise<readonly string[]>;
  /** Starts one of them. */
  readonly start: (name: string) => Promise<RunningWorkspace>;
  /** Calls back when there may be others than before. */
  readonly subscribe: (listener: () => void) => Cancel;
  readonly clock: Pick<Clock, 'sleep' | 'monotonic'>;
  readonly logger: Logger;
}

/** The workspaces of a hosted installation that run in this process: all of them, as they come and go. */
export interface RunningWorkspaces {
  find(name: string): RunningWorkspace | undefined;
  running(): Iterable<RunningWorkspace>;
  /** Starts what is there; one that cannot be started keeps no other from it, and is tried again. */
  start(): Promise<void>;
  /** Stops all of them, and starts none any more. */
  stop(): Promise<void>;
}

/** New ones that nobody told of are found by looking this often. */
const POLL_MS = 2000;

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
  /** Those that could not be started, with the reason that the log has told. */
  const failed = new Map<string, string>();
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
    for (const name of present) if (!isStopped && !running.has(name)) await startOne(name);
  }

  async function startOne(name: string): Promise<void> {
    try {
      const workspace = await start(name);
      running.set(name, workspace);
      failed.delete(name);
      logger.info({ workspace: name }, 'workspace started');
    } catch (error) {
      const reason = reasonOf(error);
      if (failed.get(name) !== reason)
        logger.error({ workspace: name, reason }, 'a workspace cannot be started; it is tried again');
      failed.set(name, reason);
    }
  }

  /** One after the other, whoever asks. */
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
