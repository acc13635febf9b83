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
