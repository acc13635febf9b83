import { coloursFor } from './colours.ts';

/** A log goes to stderr. */
const { red, yellow, green, gray, dim } = coloursFor(process.stderr);

const COLOURS: Readonly<Record<string, (text: string) => string>> = {
  error: red,
  warn: yellow,
  info: green,
  debug: gray,
};

/** One log line for a person: time, level, message, then the fields. What is no JSON object stays as it is. */
export function prettyLine(line: string): string {
  const fields = parseFields(line);
  if (fields === undefined) return line;
  const { level, time, msg, ...rest } = fields;
  const name = String(level);
  const colour = COLOURS[name] ?? String;
  const shown = Object.entries(rest).map(([key, value]) => `${key}=${valueText(value)}`);
  const clock = String(time).slice(11, 19);
  return `${dim(clock)} ${colour(name.toUpperCase().padEnd(5))} ${String(msg)} ${dim(shown.join(' '))}`.trimEnd();
}

function parseFields(line: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(line);
    return typeof value === 'object' && value !== null ? { ...value } : undefined;
  } catch {
    return undefined;
  }
}

/** Quoted where it holds white space or what could steer a terminal. */
const valueText = (value: unknown): string => {
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return /[\s\p{Cc}]/u.test(text) ? JSON.stringify(value) : text;
};
