/** The JSON object a transition produces, as receivers see it. Fields are described in docs/reference/events.md. */
export interface HeadgateEvent {
  readonly id: string;
  readonly status: 'ALARM' | 'OK';
  readonly condition: string;
  readonly cribl_notification: string;
  readonly incidentId: string;
  readonly severity: Severity;
  readonly _raw: string;
  /** Epoch seconds. */
  readonly _time: number;
  readonly starttime: number;
  readonly endtime: number;
  readonly [field: string]: unknown;
}

export const SEVERITIES = ['info', 'warn', 'error', 'fatal'] as const;
export type Severity = (typeof SEVERITIES)[number];

/** Of every end, whatever the alarm's was. */
export const END_SEVERITY: Severity = 'info';

/** Common names of severities; an unknown one is taken to be serious. */
const WORDS: Readonly<Record<string, Severity>> = {
  info: 'info',
  warn: 'warn',
  warning: 'warn',
  error: 'error',
  high: 'error',
  fatal: 'fatal',
  critical: 'fatal',
  crit: 'fatal',
};

/** The severity that an event's `__severity` means; undefined without one. */
export function parseSeverity(value: unknown): Severity | undefined {
  if (value === undefined || value === null) return undefined;
  const word = String(value).trim().toLowerCase();
  return Object.hasOwn(WORDS, word) ? WORDS[word] : 'error';
}
