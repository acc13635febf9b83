import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { load } from 'js-yaml';
import { checkConfiguration } from '../src/config/check-files.ts';
import { systemClock } from '../src/lib/clock.ts';

/** What config.ts measures, in a process of its own: `check FOLDER` or `js-yaml FOLDER` prints CPU milliseconds. */
const TASKS: Readonly<Record<string, (folder: string) => number>> = {
  check: folder =>
    cpuMs(() => {
      const sources = { folder, environment: process.env, flags: {} };
      const { ok, errors, warnings } = checkConfiguration(sources, systemClock);
      if (!ok || warnings.length > 0)
        throw new Error(`the file was meant to be sound: ${errors[0]?.message}`);
    }),
  'js-yaml': folder => {
    const text = readFileSync(join(folder, 'notifications.yml'), 'utf8');
    return cpuMs(() => load(text));
  },
};

/** Milliseconds of processor time, of all threads of this process. */
function cpuMs(work: () => void): number {
  const before = process.cpuUsage();
  work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}

const [, , task = '', folder = ''] = process.argv;
console.log(TASKS[task]?.(folder));
