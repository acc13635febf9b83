import { setMaxListeners } from 'node:events';
import { type App, startApp } from '../app/app.ts';
import { systemClock } from '../lib/clock.ts';
import { coloursFor } from '../lib/colours.ts';
import { monotonicIds } from '../lib/ids.ts';
import { createLogger, LOG_LEVELS, type LogLevel } from '../lib/logger.ts';
import { EXIT, type ExitCode } from './exit.ts';
import { explain } from './explain.ts';
import { complain } from './output.ts';

export interface RunOptions {
  readonly configFolder: string;
  readonly dataFolder: string;
  readonly flags: Readonly<Record<string, string>>;
  /** In place of the variables of the process. */
  readonly environment?: Readonly<Record<string, string | undefined>>;
  /** Called once requests are accepted; its end does not end the process. */
  readonly ready: (app: App) => Promise<void>;
}

/** Runs the server until SIGTERM or SIGINT, then stops it gracefully; a second signal ends the process at once. */
export async function runApp(options: RunOptions): Promise<ExitCode> {
  const environment = options.environment ?? process.env;
  const level = logLevel(environment.HEADGATE_LOG_LEVEL);
  if (level === undefined) {
    complain(`HEADGATE_LOG_LEVEL must be one of ${LOG_LEVELS.join(', ')}`);
    return EXIT.usage;
  }
  const logger = createLogger(level);
  const stop = stopSignal();
  let started: App | undefined;
  process.on('SIGHUP', () => void started?.reload());
  try {
    const app = await startApp({
      configFolder: options.configFolder,
      dataFolder: options.dataFolder,
      flags: options.flags,
      environment,
      clock: systemClock,
      ids: monotonicIds(systemClock),
      random: Math.random,
      logger,
    });
    started = app;
    showPassword(app);
    await options.ready(app);
    await stop;
    logger.info({}, 'stopping');
    await app.stop();
    return EXIT.ok;
  } catch (error) {
    return explain(error);
  }
}

function logLevel(text = 'info'): LogLevel | undefined {
  return LOG_LEVELS.find(level => level === text);
}

/** The same signal again within this is no second one: npm and timeout send theirs to the whole group besides. */
const SAME_SIGNAL_MS = 300;

/** The first asks for a graceful stop; after it, another one ends the process as if nobody listened. */
function stopSignal(): Promise<void> {
  setMaxListeners(0, process);
  const signals = ['SIGTERM', 'SIGINT'] as const;
  return new Promise(resolve => {
    let first: { readonly signal: NodeJS.Signals; readonly at: number } | undefined;
    function hear(signal: NodeJS.Signals): void {
      const now = systemClock.monotonic();
      if (first === undefined) {
        first = { signal, at: now };
        resolve();
      } else if (signal !== first.signal || now - first.at > SAME_SIGNAL_MS) {
        for (const each of signals) process.off(each, hear);
        process.kill(process.pid, signal);
      }
    }
    for (const signal of signals) process.on(signal, hear);
  });
}

/** On a terminal only: what is piped away may be kept by somebody else. */
function showPassword({ generatedPassword: generated }: App): void {
  if (generated === undefined) return;
  complain(`The first admin's password is in ${generated.file}`);
  const { bold } = coloursFor(process.stderr);
  if (process.stderr.isTTY)
    complain(`Sign in as ${bold(generated.username)} with ${bold(generated.password.reveal())}`);
}
