import { onTestFinished } from 'vitest';
import { until } from '../helpers/until.ts';
import { type Running, run } from './bin.ts';

const PATIENCE_MS = 5000;

/** Asks a program to end, and makes it. */
export async function end(daemon: Running): Promise<void> {
  daemon.signal('SIGTERM');
  const late = setTimeout(() => daemon.signal('SIGKILL'), PATIENCE_MS);
  await daemon.ended;
  clearTimeout(late);
}

/** Starts a program of the system that runs until it is ended, or the test is; waits until it is ready. */
export async function daemon(
  program: string,
  args: readonly string[],
  ready: () => boolean | Promise<boolean>,
): Promise<Running> {
  const running = run(program, args, { PATH: process.env.PATH });
  onTestFinished(() => end(running));
  await until(ready, `a ready ${program}`).catch((error: unknown) => {
    throw new Error(`${error}:\n${running.stderr()}`);
  });
  return running;
}

/** True when a page is answered with 200. */
export const answers = (url: string): Promise<boolean> =>
  fetch(url).then(
    answer => answer.ok,
    () => false,
  );
