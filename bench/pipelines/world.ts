import { fork } from 'node:child_process';
import { join } from 'node:path';
import { bundle } from '../delivery/bundle.ts';
import { temporaryFolder } from '../delivery/temporary.ts';
import { type Command, type Report, reply, report, started } from './world-protocol.ts';

/** How much there is to read. */
export interface Size {
  readonly pages: number;
  /** Components on each of them. */
  readonly perPage: number;
}

/** The process that serves pages of metrics and takes alarms, as the measuring one sees it. */
export interface World {
  readonly size: Size;
  readonly pid: number;
  readonly host: string;
  readonly hook: string;
  /** From now on that many components of each page count no more; earlier alerts are forgotten. */
  stop(perPage: number): Promise<void>;
  report(windowMs: number): Promise<Report>;
  end(): void;
}

export async function openWorld(size: Size): Promise<World> {
  const child = fork(
    await bundle(join(import.meta.dirname, 'world-process.ts'), temporaryFolder()),
    [String(size.pages), String(size.perPage)],
    { execArgv: [] },
  );
  process.once('exit', () => child.kill('SIGKILL'));
  const waiting = new Map<number, (value: unknown) => void>();
  let lastId = 0;
  child.on('message', message => {
    const { id, value } = reply.parse(message);
    waiting.get(id)?.(value);
    waiting.delete(id);
  });
  const { origin } = started.parse(await new Promise(resolve => waiting.set(0, resolve)));

  function ask(command: Command): Promise<unknown> {
    const id = ++lastId;
    return new Promise(resolve => {
      waiting.set(id, resolve);
      child.send({ id, command });
    });
  }

  return {
    size,
    pid: child.pid ?? 0,
    host: new URL(origin).host,
    hook: `${origin}/hook`,
    async stop(perPage) {
      await ask({ kind: 'stop', perPage });
    },
    report: async windowMs => report.parse(await ask({ kind: 'report', windowMs })),
    end: () => void child.kill('SIGKILL'),
  };
}
