import { type LoginAppOptions, startLoginApp } from '../app/login-app.ts';
import { systemClock } from '../lib/clock.ts';
import { monotonicIds } from '../lib/ids.ts';
import type { ExitCode } from './exit.ts';
import { print } from './output.ts';
import { runProcess } from './run-process.ts';

/** Runs the login service until it is told to stop. */
export const runLogin = (
  options: Pick<LoginAppOptions, 'configFolder' | 'dataFolder' | 'host' | 'port'>,
): Promise<ExitCode> =>
  runProcess(process.env, async logger => {
    const service = await startLoginApp({
      ...options,
      environment: process.env,
      clock: systemClock,
      ids: monotonicIds(systemClock),
      logger,
    });
    return {
      stop: service.stop,
      // What it reads counts after a restart.
      reload: async () => {},
      async ready() {
        print(`headgate ready on ${service.url}`);
      },
    };
  });
