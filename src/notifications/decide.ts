import type { Verdict } from '../conditions/condition.ts';

export interface Situation {
  readonly verdict: Verdict['state'];
  readonly isOpen: boolean;
  /** Milliseconds since the condition began to hold; 0 when it holds for the first time. */
  readonly holdingMs: number;
  /** How long it must hold before the alarm. */
  readonly forMs: number;
  /** Milliseconds since the incident was last told. */
  readonly toldMs: number;
  /** How often an open incident is told again; null for never. */
  readonly repeatMs: number | null;
}

export type Decision = 'nothing' | 'hold' | 'open' | 'repeat' | 'close';

/** What a verdict means for a notification on one subject. */
export function decide(situation: Situation): Decision {
  const { verdict, isOpen, holdingMs, forMs, toldMs, repeatMs } = situation;
  if (verdict === 'unknown') return 'nothing';
  if (verdict === 'ok') return isOpen ? 'close' : 'nothing';
  if (!isOpen) return holdingMs >= forMs ? 'open' : 'hold';
  return repeatMs !== null && toldMs >= repeatMs ? 'repeat' : 'nothing';
}
