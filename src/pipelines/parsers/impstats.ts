/** One object of rsyslog's statistics: its name, the module it comes from, its counters. */
export interface StatsObject {
  readonly name: string;
  readonly origin: string;
  readonly values: Readonly<Record<string, number>>;
}

export interface Impstats {
  /** Objects as they came, cut wherever a new round of statistics begins. */
  readonly rounds: readonly (readonly StatsObject[])[];
  /** Lines that hold no such object. */
  readonly ignored: number;
}

const LONGEST_LINE = 64 * 1024;
const LONGEST_NAME = 512;
const MARK = /\b(BEGIN|END)\s*$/;

/**
 * rsyslog's impstats lines, `format="json"` or `"cee"`, bracketing on or off. Whatever stands before
 * the first brace, such as a date or a syslog header, is cut. A round ends where BEGIN stands or where
 * an object comes again.
 */
export function parseImpstats(text: string): Impstats {
  const rounds: StatsObject[][] = [];
  let round: StatsObject[] = [];
  let seen = new Set<string>();
  let ignored = 0;

  function beginRound(): void {
    if (round.length > 0) rounds.push(round);
    round = [];
    seen = new Set();
  }

  for (const line of text.split('\n')) {
    if (line.trim() === '') continue;
    const mark = line.includes('{') ? undefined : MARK.exec(line)?.[1];
    if (mark === 'BEGIN') beginRound();
    if (mark !== undefined) continue;
    const object = parseLine(line);
    if (object === undefined) {
      ignored++;
      continue;
    }
    const key = `${object.origin}\n${object.name}`;
    if (seen.has(key)) beginRound();
    seen.add(key);
    round.push(object);
  }
  beginRound();
  return { rounds, ignored };
}

function parseLine(line: string): StatsObject | undefined {
  const start = line.indexOf('{');
  if (start === -1 || line.length > LONGEST_LINE) return undefined;
  const parsed = parseObject(line.slice(start, line.lastIndexOf('}') + 1));
  if (parsed === undefined) return undefined;
  const { name, origin, ...rest } = parsed;
  if (!isName(name) || !isName(origin)) return undefined;
  const numbers = Object.entries(rest).filter(
    (entry): entry is [string, number] => typeof entry[1] === 'number' && Number.isFinite(entry[1]),
  );
  return { name, origin, values: Object.fromEntries(numbers) };
}

const isName = (value: unknown): value is string =>
  typeof value === 'string' && value !== '' && value.length <= LONGEST_NAME;

function parseObject(text: string): { readonly [key: string]: unknown } | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? { ...value } : undefined;
  } catch {
    return undefined;
  }
}
