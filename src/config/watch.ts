import { type BigIntStats, type FSWatcher, realpathSync, statSync, watch } from 'node:fs';
import type { Cancel, Clock } from '../lib/clock.ts';
import { codeOf } from '../lib/errors.ts';

/** Changes that the system does not report are found by polling this often, in milliseconds. */
const POLL_MS = 3000;
/** A file counts as written when it stays the same for so long: half a file may be valid, too. */
const SETTLE_MS = 200;

/** Signatures of files as they were when they were read, by path. */
export type Signatures = ReadonlyMap<string, string>;

/**
 * Follows symbolic links: a mounted volume swaps a link and leaves the file it led to as it was, an editor
 * puts a new file in the old one's place.
 */
export const signaturesOf = (files: Iterable<string>): Signatures =>
  new Map([...files].map(file => [file, signatureOf(file)]));

/** The signature of a file; `path` is where its links lead to. */
export const signature = (path: string, { dev, ino, size, mtimeNs }: BigIntStats): string =>
  [path, dev, ino, size, mtimeNs].join('|');

function signatureOf(file: string): string {
  try {
    const stats = statSync(file, { bigint: true });
    return signature(realpathSync(file), stats);
  } catch (error) {
    return codeOf(error);
  }
}

export interface WatchOptions {
  readonly folder: string;
  /** The files as they were when they were last read. */
  readonly seen: () => Signatures;
  readonly clock: Pick<Clock, 'after'>;
  /** Called when a file is no longer as it was seen, and settled. */
  readonly changed: () => void;
}

/** Watches files until the returned call. Keeps no process alive. */
export function watchFiles({ folder, seen, clock, changed }: WatchOptions): Cancel {
  let watcher: FSWatcher | undefined;
  let cancel: Cancel = () => {};
  let settling = false;
  let pending = '';

  function poll(): void {
    settling = false;
    const before = seen();
    const now = textOf(signaturesOf(before.keys()));
    const isChanged = now !== textOf(before);
    if (isChanged && now !== pending) {
      pending = now;
      settle();
      return;
    }
    pending = '';
    schedulePoll(POLL_MS);
    if (!isChanged) return;
    listen();
    changed();
  }

  function schedulePoll(ms: number): void {
    cancel();
    cancel = clock.after(ms, poll);
  }

  function settle(): void {
    if (settling) return;
    settling = true;
    schedulePoll(SETTLE_MS);
  }

  /** Anew after each change: the folder itself may have been replaced. */
  function listen(): void {
    watcher?.close();
    watcher = undefined;
    try {
      watcher = watch(folder, { persistent: false }, settle);
      watcher.on('error', () => watcher?.close());
    } catch {
      // Polling goes on without reports.
    }
  }

  listen();
  schedulePoll(POLL_MS);
  return () => {
    cancel();
    watcher?.close();
  };
}

export const isSameFiles = (one: Signatures, other: Signatures): boolean => textOf(one) === textOf(other);

const textOf = (signatures: Signatures): string => JSON.stringify([...signatures]);
