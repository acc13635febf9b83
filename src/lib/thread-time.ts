import { readFileSync, readlinkSync } from 'node:fs';

/** Where a thread says which of the process it is; 0 until it has. */
export const threadNumber = (): Int32Array =>
  new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));

/** Called in the thread: only there does Linux say its number (`/proc/thread-self`). Elsewhere it stays 0. */
export function announceThread(place: unknown): void {
  if (!(place instanceof Int32Array)) return;
  try {
    Atomics.store(place, 0, Number(/\d+$/.exec(readlinkSync('/proc/thread-self'))?.[0] ?? 0));
  } catch {
    // There is no such file elsewhere.
  }
}

/** What Linux counts processor time of threads in (`getconf CLK_TCK`). */
const MS_A_TICK = 10;

/** Processor time (ms) that a thread has used so far, by /proc/self/task (proc_pid_stat(5)); undefined where that is unknown. */
export function processorTimeOf(thread: number): number | undefined {
  if (thread === 0) return undefined;
  try {
    const fields = readFileSync(`/proc/self/task/${thread}/stat`, 'utf8')
      .replace(/^.*\) /s, '')
      .split(' ');
    return (Number(fields[11]) + Number(fields[12])) * MS_A_TICK;
  } catch {
    return undefined;
  }
}
