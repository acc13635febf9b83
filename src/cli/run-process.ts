import { setMaxListeners } from 'node:events';
import { systemClock } from '../lib/clock.ts';
import { createLogger, LOG_LEVELS, type Logger, type LogLevel } from '../lib/logger.ts';
import { reportFailure } from './output/explain.ts';
import { EXIT, type ExitCode, printError } from './output/output.ts';

/** Runs until a signal stops the process. */
interface RunningProcess {
  /** Called once it runs; the process goes on when it resolves. */
  ready(): Promise<void>;
  /** Reads the configuration files again. */
  reload(): Promise<void>;
  stop(): Promise<void>;
}

/** Runs until SIGTERM or SIGINT, then stops gracefully; a second signal ends the process at once. */
export async function runProcess(
  environment: Readonly<Record<string, string | undefined>>,
  start: (logger: Logger) => Promise<RunningProcess>,
): Promise<ExitCode> {
  const level = logLevel(environment.HEADGATE_LOG_LEVEL);
  if (level === undefined) {
    printError(`HEADGATE_LOG_LEVEL must be one of ${LOG_LEVELS.join(', ')}`);
    return EXIT.usage;
  }
  const logger = createLogger(level);
  const stop = stopSignal();
  let started: RunningProcess | undefined;
  process.on('SIGHUP', () => void started?.reload());
  try {
    const running = await start(logger);
    started = running;
    await running.ready();
    await stop;
    logger.info({}, 'stopping');
    await running.stop();
    return EXIT.ok;
  } catch (error) {
    return reportFailure(error);
  }
}

function logLevel(text = 'info'): LogLevel | undefined {
  return LOG_LEVELS.find(level => level === text);
}

/** The same signal within this time is no second one: npm and timeout also signal the whole process group. */
const SAME_SIGNAL_MS = 300;

/** Resolves at the first signal; a later one ends the process as without a handler. */
function stopSignal(): Promise<void> {
  setMaxListeners(0, process);
  const signals = ['SIGTERM', 'SIGINT'] as const;
  return new Promise(resolve => {
    let first: { readonly signal: NodeJS.Signals; readonly at: number } | undefined;
    function onSignal(signal: NodeJS.Signals): void {
      const now = systemClock.monotonic();
      if (first === undefined) {
        first = { signal, at: now };
        resolve();
      } else if (signal !== first.signal || now - first.at > SAME_SIGNAL_MS) {
        for (const each of signals) process.off(each, onSignal);
        process.kill(process.pid, signal);
      }
    }
    for (const signal of signals) process.on(signal, onSignal);
  });
}
