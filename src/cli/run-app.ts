import { type App, startApp } from '../app/app.ts';
import { systemClock } from '../lib/clock.ts';
import { coloursFor } from '../lib/colours.ts';
import { monotonicIds } from '../lib/ids.ts';
import type { ExitCode } from './exit.ts';
import { complain } from './output.ts';
import { runProcess } from './run-process.ts';

export interface RunOptions {
  readonly configFolder: string;
  readonly dataFolder: string;
  readonly flags: Readonly<Record<string, string>>;
  /** In place of the variables of the process. */
  readonly environment?: Readonly<Record<string, string | undefined>>;
  /** Called once requests are accepted; its end does not end the process. */
  readonly ready: (app: App) => Promise<void>;
}

/** Runs the server until it is told to stop. */
export const runApp = ({ environment = process.env, ready, ...options }: RunOptions): Promise<ExitCode> =>
  runProcess(environment, async logger => {
    const app = await startApp({
      ...options,
      environment,
      clock: systemClock,
      ids: monotonicIds(systemClock),
      random: Math.random,
      logger,
    });
    return {
      stop: app.stop,
      reload: app.reload,
      async ready() {
        showPassword(app);
        await ready(app);
      },
    };
  });

/** On a terminal only: what is piped away may be kept by somebody else. */
function showPassword({ generatedPassword: generated }: App): void {
  if (generated === undefined) return;
  complain(`The first admin's password is in ${generated.file}`);
  const { bold } = coloursFor(process.stderr);
  if (process.stderr.isTTY)
    complain(`Sign in as ${bold(generated.username)} with ${bold(generated.password.reveal())}`);
}
