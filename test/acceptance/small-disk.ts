import { spawnSync } from 'node:child_process';
import { closeSync, mkdirSync, openSync, rmSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';

/** A file system of a few megabytes. */
export interface SmallDisk {
  /** Writes until nothing more fits. */
  fill(): void;
  /** Gives back what `fill` took. */
  free(): void;
  /** Lets nobody write to it any more. */
  protect(): void;
}

/** Mounts a small tmpfs on the folder until the test has finished. Throws with the reason where that is not allowed. */
export function mountSmallDisk(folder: string, size: string): SmallDisk {
  mkdirSync(folder, { recursive: true });
  const mount = spawnSync('mount', ['-t', 'tmpfs', '-o', `size=${size}`, 'tmpfs', folder], {
    encoding: 'utf8',
  });
  if (mount.status !== 0)
    throw new Error(
      `this test needs the right to mount a tmpfs, as root has: ${mount.stderr || mount.error}`,
    );
  onTestFinished(() => void spawnSync('umount', ['--lazy', folder]));
  const filler = join(folder, 'filler');
  return {
    fill() {
      const file = openSync(filler, 'a');
      try {
        for (const size of [65_536, 4096, 1]) while (writes(file, size));
      } finally {
        closeSync(file);
      }
    },
    free: () => rmSync(filler),
    protect() {
      const remount = spawnSync('mount', ['-o', 'remount,ro', folder], { encoding: 'utf8' });
      if (remount.status !== 0) throw new Error(`the disk cannot be protected: ${remount.stderr}`);
    },
  };
}

function writes(file: number, size: number): boolean {
  try {
    return writeSync(file, Buffer.alloc(size)) === size;
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOSPC') return false;
    throw error;
  }
}
