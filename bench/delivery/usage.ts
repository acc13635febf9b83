import { readdirSync, readFileSync } from 'node:fs';

/** Clock ticks per second in /proc; Linux has told programs 100 for decades (man 5 proc). */
const TICKS_PER_SECOND = 100;

export interface Usage {
  /** Seconds of processor time, of all threads and child processes. */
  readonly cpuSec: number;
  /** Most memory each of the processes has had, added up. */
  readonly peakMb: number;
}

/** What a process and its descendants have used so far. */
export function usageOf(pid: number): Usage {
  const all = [pid, ...descendants(pid)].map(own);
  return {
    cpuSec: all.reduce((sum, { cpuSec }) => sum + cpuSec, 0),
    peakMb: all.reduce((sum, { peakMb }) => sum + peakMb, 0),
  };
}

const readOf = (pid: number, file: string): string => readFileSync(`/proc/${pid}/${file}`, 'utf8');

function descendants(pid: number): number[] {
  const children = readdirSync(`/proc/${pid}/task`).flatMap(thread =>
    readOf(pid, `task/${thread}/children`).split(' ').filter(Boolean).map(Number),
  );
  return children.flatMap(child => [child, ...descendants(child)]);
}

function own(pid: number): Usage {
  // The name of the program stands in brackets and may hold spaces; utime and stime are fields 14 and 15 of all.
  const fields = readOf(pid, 'stat')
    .replace(/^.*\) /, '')
    .split(' ');
  const ticks = Number(fields[11]) + Number(fields[12]);
  const peakKb = Number(/^VmHWM:\s+(\d+) kB$/m.exec(readOf(pid, 'status'))?.[1]);
  return { cpuSec: ticks / TICKS_PER_SECOND, peakMb: peakKb / 1024 };
}
