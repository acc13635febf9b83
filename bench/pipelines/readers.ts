import { fork } from 'node:child_process';
import { join } from 'node:path';
import * as z from 'zod';
import { bundle } from '../delivery/bundle.ts';
import { printTable } from '../delivery/table.ts';
import { temporaryFolder } from '../delivery/temporary.ts';

const reading = z.object({ name: z.string(), samples: z.number(), cpuSec: z.number() });

/** In a process of its own, as what compiles on the fly is slower than what ships. */
export async function readers(): Promise<void> {
  const script = await bundle(join(import.meta.dirname, 'readers-process.ts'), temporaryFolder());
  const child = fork(script, { execArgv: [] });
  process.once('exit', () => child.kill('SIGKILL'));
  const rows: string[][] = [];
  child.on('message', message => {
    const { name, samples, cpuSec } = reading.parse(message);
    rows.push([name, samples.toString(), (samples / cpuSec / 1000).toFixed(0)]);
  });
  await new Promise(resolve => child.once('exit', resolve));
  printTable(['reader', 'samples', 'thousand a CPU second'], rows);
}
