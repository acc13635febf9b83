import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { incidentRow } from '../../../test/storage/rows.ts';
import type { Verdict } from '../../conditions/condition.ts';
import { silentLogger } from '../../lib/logger.ts';
import { atOnce } from '../../lib/slices.ts';
import { changeColumns, NO_CHANGES } from '../incidents/condition-changes.ts';
import type { Incidents } from '../incidents/incidents.ts';
import { configureNotification } from '../notification.ts';
import { openIncident } from '../rule-state.ts';
import { type EvaluatedState, Evaluator } from './evaluation.ts';

interface Ends {
  readonly keepMs: number;
  readonly threshold: number;
  readonly windowMs: number;
}

/**
 * What the documents promise, from the whole history: an alarm opens when the condition is met and none is open; it ends
 * when the condition was not met for `keepFiringFor`, and for a whole window where more than `threshold` changes lay in
 * the window before it opened and no whole window has passed without a change since.
 */
function expected(met: readonly boolean[], { keepMs, threshold, windowMs }: Ends): string[] {
  const changes: number[] = [];
  const told: string[] = [];
  let open: { flaps: boolean } | undefined;
  met.forEach((isMet, at) => {
    const now = at * 1000;
    if (isMet !== (met[at - 1] ?? false)) {
      const quietMs = now - (changes.at(-1) ?? Number.NEGATIVE_INFINITY);
      if (open !== undefined && quietMs >= windowMs) open.flaps = false;
      changes.push(now);
    }
    const unmetMs = now - (changes.at(-1) ?? 0);
    if (isMet && open === undefined) {
      open = { flaps: changes.filter(change => now - change < windowMs).length > threshold };
      told.push(`${now} ALARM`);
    } else if (!isMet && open !== undefined && unmetMs >= Math.max(keepMs, open.flaps ? windowMs : 0)) {
      open = undefined;
      told.push(`${now} OK`);
    }
  });
  return told;
}

/** What the evaluator notifies of the same history. */
function notified(met: readonly boolean[], { keepMs, threshold, windowMs }: Ends): string[] {
  let now = 0;
  const told: string[] = [];
  const incidents: Incidents = {
    notify: async (rule, { subject: { key }, status, isKept, changes = NO_CHANGES }) => {
      if (isKept !== true) told.push(`${now} ${status}`);
      if (status === 'OK' && isKept !== true) rule.incidents.delete(key);
      else {
        const row = incidentRow(changeColumns(changes));
        rule.incidents.set(key, openIncident(row, { observedSince: 0, notifiedAt: now }));
      }
    },
    resume: row => openIncident(row, { observedSince: 0, notifiedAt: 0 }),
    isInhibited: () => false,
    isHeld: () => false,
    isAcknowledged: () => false,
    idle: async () => {},
  };
  const clock = {
    now: () => now,
    monotonic: () => now,
    uptime: () => now,
    after: () => () => {},
    sleep: async () => {},
  };
  const evaluator = new Evaluator({ clock, logger: silentLogger, incidents, observedTime: clock });
  const notification = configureNotification({
    id: 'silent',
    condition: 'no-data',
    conf: { name: 'syslog:app' },
    keepFiringFor: `${keepMs}ms`,
    flapThreshold: threshold,
    flapWindow: `${windowMs}ms`,
  });
  const rule: EvaluatedState = {
    notification,
    origin: notification,
    targets: [],
    incidents: new Map(),
    writing: new Map(),
    pendingSince: new Map(),
  };
  const subject = { key: 'edge/syslog:app', name: 'syslog:app', component: undefined };
  const describe = () => ({ text: '', fields: {} });
  met.forEach((isMet, at) => {
    now = at * 1000;
    const verdict: Verdict = { state: isMet ? 'alarm' : 'ok', describe };
    atOnce(evaluator.evaluateSubjects(rule, [{ subject, evaluate: () => verdict }], now, () => ''));
  });
  return told;
}

/** Conditions that stay as they are for a while, and now and then for long. */
const history = fc
  .array(fc.tuple(fc.boolean(), fc.oneof({ weight: 5, arbitrary: fc.nat(4) }, fc.nat(40))), { maxLength: 60 })
  .map(stretches => stretches.flatMap(([isMet, seconds]) => Array<boolean>(seconds).fill(isMet)));

it('notifies what the documents promise, whenever the condition changes', () => {
  fc.assert(
    fc.property(
      history,
      fc.record({
        keepMs: fc.constantFrom(0, 1000, 3000, 10_000),
        threshold: fc.integer({ min: 2, max: 6 }),
        windowMs: fc.constantFrom(5000, 10_000, 20_000),
      }),
      (met, ends) => {
        expect(notified(met, ends)).toEqual(expected(met, ends));
      },
    ),
    { numRuns: 500 },
  );
});
