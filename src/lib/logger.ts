import { pino } from 'pino';
import { prettyLine } from './pretty-log.ts';

export type Fields = Readonly<Record<string, unknown>>;

/** Constant sentence as message, values in fields; a secret is never a field. */
export interface Logger {
  debug(fields: Fields, message: string): void;
  info(fields: Fields, message: string): void;
  warn(fields: Fields, message: string): void;
  error(fields: Fields, message: string): void;
  child(fields: Fields): Logger;
}

export const LOG_LEVELS = ['debug', 'info', 'warn', 'error', 'silent'] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

/** Writes to stderr, JSON lines or, on a terminal, lines for a person; stdout belongs to what a command prints. */
export function createLogger(level: LogLevel): Logger {
  return pino(
    {
      level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: label => ({ level: label }) },
    },
    process.stderr.isTTY ? terminal : linesToStderr(),
  );
}

/** Characters kept while stderr refuses them; what is more is dropped. */
const MOST_KEPT = 2 ** 20;

/** A log that cannot be written, on a full disk or without a reader, must not end the process. */
function linesToStderr() {
  const destination = pino.destination({ fd: 2, sync: true, maxLength: MOST_KEPT });
  return destination.on('error', () => {});
}

const terminal = { write: (line: string) => void process.stderr.write(`${prettyLine(line.trimEnd())}\n`) };

const ignore = (): void => {};
export const silentLogger: Logger = {
  debug: ignore,
  info: ignore,
  warn: ignore,
  error: ignore,
  child: () => silentLogger,
};
