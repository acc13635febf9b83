import { type App, startApp } from '../app/app.ts';
import { systemClock } from '../lib/clock.ts';
import { coloursFor } from '../lib/colours.ts';
import { monotonicIds } from '../lib/ids.ts';
import { type ExitCode, printError, printStyledError } from './output/output.ts';
import { runProcess } from './run-process.ts';

export interface RunOptions {
  readonly configFolder: string;
  readonly dataFolder: string;
  readonly flags: Readonly<Record<string, string>>;
  /** Replaces the environment of the process. */
  readonly environment?: Readonly<Record<string, string | undefined>>;
  /** Called once requests are accepted; the process goes on when it resolves. */
  readonly ready: (app: App) => Promise<void>;
}

/** Runs the server until a signal stops it. */
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

/** On a terminal only, as a pipe may lead to a log. */
function showPassword({ generatedPassword: generated }: App): void {
  if (generated === undefined) return;
  printError(`The first admin's password is in ${generated.file}`);
  const { bold } = coloursFor(process.stderr);
  if (process.stderr.isTTY)
    printStyledError(`Sign in as ${bold(generated.username)} with ${bold(generated.password.reveal())}`);
}
