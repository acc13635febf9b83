/** Tone and word of each state, and how numbers and times read. Every tone has a word: colour alone says nothing. */

export const HEALTH = {
  Green: ['good', 'Healthy'],
  Yellow: ['warn', 'Degraded'],
  Red: ['bad', 'Unhealthy'],
  Unknown: ['idle', 'Unknown'],
};

/** In place of its health: the last page no longer names it. */
export const GONE = ['idle', 'Gone'];

export const DELIVERY = {
  waiting: ['warn', 'Waiting'],
  grouped: ['idle', 'Held'],
  sent: ['good', 'Sent'],
  unknown: ['bad', 'May not have arrived'],
  refused: ['bad', 'Refused'],
  exhausted: ['bad', 'Given up'],
  skipped: ['idle', 'Skipped'],
};

/** Of an incident that has notified nobody for certain. */
export const NOTIFIED = {
  unknown: ['warn', 'Perhaps'],
  waiting: ['warn', 'Nobody yet'],
  nobody: ['bad', 'Nobody'],
};

export const ENGINE = {
  reachable: ['good', 'reachable'],
  unreachable: ['bad', 'unreachable'],
  waiting: ['idle', 'not read yet'],
};

export const SEVERITY_TONE = { info: 'good', warn: 'warn', error: 'bad', fatal: 'bad' };

/** Milliseconds the server's clock is ahead of this one, so that ages are right where this one is wrong. */
let clockLead = 0;

export const serverNow = () => Date.now() + clockLead;

export function setServerTime(text) {
  const time = Date.parse(text ?? '');
  // The header has whole seconds: a smaller difference is its rounding.
  if (Math.abs(time - serverNow()) > 1500) clockLead = time - Date.now();
}

export const count = (number, one, many = `${one}s`) =>
  `${number.toLocaleString('en')} ${number === 1 ? one : many}`;

const UNITS = [
  [86_400, 'd'],
  [3600, 'h'],
  [60, 'min'],
  [1, 's'],
];

/** `45 s`, `5 min`, `1 h 5 min` */
export function span(ms) {
  const seconds = Math.max(0, Math.round(ms / 1000));
  const first = Math.max(
    0,
    UNITS.findIndex(([size]) => seconds >= size || size === 1),
  );
  const [size, name] = UNITS[first];
  const [nextSize, nextName] = UNITS[first + 1] ?? [1, ''];
  const rest = Math.floor((seconds % size) / nextSize);
  return `${Math.floor(seconds / size)} ${name}${rest > 0 ? ` ${rest} ${nextName}` : ''}`;
}

/** A part of a cell that says how long ago a time was. */
export function ago(time) {
  if (time === null || time === undefined) return { text: 'never' };
  const at = new Date(time);
  const ms = serverNow() - at.getTime();
  const [length, unit] = span(ms).split(' ');
  const text = ms < 3000 ? 'just now' : `${length} ${unit} ago`;
  return { text, time: at.toISOString(), title: at.toLocaleString() };
}

const PREFIXES = ['', 'k', 'M', 'G', 'T'];

/** `0`, `7.5`, `42`, `1.2 k`, with a unit `3.4 kB`; a dash where nothing is known. */
export function amount(value, unit) {
  if (value === undefined) return '–';
  const power = Math.max(
    0,
    PREFIXES.findLastIndex((_, index) => value >= 1000 ** index),
  );
  const scaled = value / 1000 ** power;
  return `${scaled.toFixed(scaled === 0 || scaled >= 10 ? 0 : 1)} ${PREFIXES[power]}${unit}`.trimEnd();
}
