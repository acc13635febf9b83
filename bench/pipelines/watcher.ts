import { setTimeout as pause } from 'node:timers/promises';
import { until } from '../../test/helpers/until.ts';
import type { Usage } from '../delivery/usage.ts';
import type { World } from './world.ts';

const PATIENCE_MS = 120_000;
const LOOK_MS = 1000;

export const INTERVAL_SEC = 10;
export const WINDOW_SEC = 60;
/** The time one reading may take: on a machine that does other things as well a page may take long. */
export const TIMEOUT_SEC = 9;

/** A system that reads the pages of a world and alerts on every component without data. */
export interface Watcher {
  /** True when it has read every component. */
  knowsAll(): Promise<boolean>;
  /** The resources that all of its processes have used so far. */
  usage(): Usage;
  end(): Promise<void>;
}

/** Waits until it has read every component, without asking so often that this is what it does. */
export async function untilAllIsKnown({ knowsAll }: Watcher): Promise<void> {
  const looks = async (): Promise<boolean> => {
    await pause(LOOK_MS);
    return knowsAll();
  };
  await until(looks, 'every component', PATIENCE_MS);
}

export interface WatcherKind {
  readonly name: string;
  readonly version: string;
  start(world: World, folder: string): Promise<Watcher>;
}
