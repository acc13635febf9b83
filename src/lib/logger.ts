import { pino } from 'pino';
import { coloursFor } from './colours.ts';
import { terminalText } from './text.ts';

export type LogFields = Readonly<Record<string, unknown>>;

/** Constant sentence as message, values in fields; a secret is never a field. */
export interface Logger {
  debug(fields: LogFields, message: string): void;
  info(fields: LogFields, message: string): void;
  warn(fields: LogFields, message: string): void;
  error(fields: LogFields, message: string): void;
  child(fields: LogFields): Logger;
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
const MAX_BUFFERED = 2 ** 20;

/** A log that cannot be written, on a full disk or without a reader, must not end the process. */
function linesToStderr(): LineWriter {
  const destination = pino.destination({ fd: 2, sync: true, maxLength: MAX_BUFFERED });
  const lines = gatherLines(
    destination.on('error', () => {}),
    setImmediate,
  );
  process.once('exit', lines.flush);
  return lines;
}

interface LineWriter {
  write(line: string): void;
}

/** Characters of lines that wait at most. */
const MAX_GATHERED = 64 * 1024;
/** Lines of no haste: each write is a call of the system, and one commit may make hundreds of them. */
const INFO = '{"level":"info"';

/** Writes what one turn of the event loop logs at once, in its order, and warnings and errors right away. */
export function gatherLines(
  destination: { write(text: string): unknown },
  soon: (work: () => void) => unknown,
): LineWriter & { readonly flush: () => void } {
  let gathered = '';
  function flush(): void {
    const text = gathered;
    gathered = '';
    if (text !== '') destination.write(text);
  }
  return {
    write(line) {
      const isFirst = gathered === '';
      gathered += line;
      if (!line.startsWith(INFO) || gathered.length >= MAX_GATHERED) flush();
      else if (isFirst) soon(flush);
    },
    flush,
  };
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

/** A log goes to stderr. */
const { red, yellow, green, gray, dim } = coloursFor(process.stderr);

const LEVEL_COLOURS: Readonly<Record<string, (text: string) => string>> = {
  error: red,
  warn: yellow,
  info: green,
  debug: gray,
};

/** One log line for a person: time, level, message, then the fields. What is no JSON object stays as it is. */
export function prettyLine(line: string): string {
  const fields = parseFields(line);
  if (fields === undefined) return terminalText(line);
  const { level, time, msg, ...rest } = fields;
  const name = String(level);
  const colour = LEVEL_COLOURS[name] ?? String;
  const shown = Object.entries(rest).map(([key, value]) => `${terminalText(key)}=${valueText(value)}`);
  const clock = terminalText(String(time).slice(11, 19));
  return `${dim(clock)} ${colour(terminalText(name).toUpperCase().padEnd(5))} ${terminalText(String(msg).replaceAll('\n', ' '))} ${dim(shown.join(' '))}`.trimEnd();
}

function parseFields(line: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(line);
    return typeof value === 'object' && value !== null ? { ...value } : undefined;
  } catch {
    return undefined;
  }
}

/** Quoted where it holds white space or control characters of a terminal. */
const valueText = (value: unknown): string => {
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return terminalText(/[\s\p{Cc}]/u.test(text) ? JSON.stringify(value) : text);
};
