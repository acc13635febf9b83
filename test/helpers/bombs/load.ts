import { readFileSync, writeFileSync } from 'node:fs';

/** Between two requests for the health of a process. */
const PAUSE_MS = 5;

/** What a process cost while it did some work. */
export interface Load {
  /**
   * Processor time (ms) that its main thread spent between a request for its health and the answer, the most there was: for
   * so long somebody else waited for it, however busy the machine is (proc_pid_schedstat, Linux).
   */
  readonly stallMs: number;
  /** The most resident memory (MiB) it had in all, and more than before (VmHWM and VmRSS of proc_pid_status(5)). */
  readonly peakMb: number;
  readonly growthMb: number;
  /** Requests for its health that were answered. */
  readonly answered: number;
}

const mainThreadMs = (pid: number): number =>
  Number(readFileSync(`/proc/${pid}/task/${pid}/schedstat`, 'utf8').split(' ')[0]) / 1e6;

const statusMb = (pid: number, field: 'VmHWM' | 'VmRSS'): number =>
  Number(new RegExp(`^${field}:\\s+(\\d+) kB$`, 'm').exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) /
  1024;

/** Asks for the health of a process again and again until the work is done, and says what that cost it. */
export async function loadOf<Result>(
  { pid, url }: { readonly pid: number; readonly url: string },
  work: Promise<Result>,
): Promise<Load & { readonly result: Result }> {
  // The most there was is that from now on (proc_pid_clear_refs(5)).
  writeFileSync(`/proc/${pid}/clear_refs`, '5');
  const residentMb = statusMb(pid, 'VmRSS');
  let isDone = false;
  const ended = work.finally(() => {
    isDone = true;
  });
  let stallMs = 0;
  let answered = 0;
  do {
    const before = mainThreadMs(pid);
    const { status } = await fetch(`${url}/api/v1/health`);
    if (status !== 200) throw new Error(`health answered ${status}`);
    stallMs = Math.max(stallMs, mainThreadMs(pid) - before);
    answered++;
    // Asking without a pause would cost both sides more than the work itself; a stall this short is none.
    await new Promise(resolve => setTimeout(resolve, PAUSE_MS));
  } while (!isDone);
  const result = await ended;
  const peakMb = statusMb(pid, 'VmHWM');
  return { result, stallMs, answered, peakMb, growthMb: peakMb - residentMb };
}
