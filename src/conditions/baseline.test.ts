import { describe, expect, it } from 'vitest';
import { testClock } from '../../test/helpers/clock.ts';
import { testComponents } from '../../test/helpers/components.ts';
import type { Component, Measurement, Usual } from '../pipelines/components/component.ts';
import { baseline, limitsOf } from './baseline.ts';

const HOUR_MS = 3_600_000;
const TEN_THOUSAND: Usual = { median: 10_000, deviation: 500, days: 27 };

interface Facts {
  readonly conf?: object;
  readonly events?: number;
  readonly usual?: Usual | undefined;
  readonly measured?: Measurement | undefined;
  readonly hasBytes?: boolean;
  readonly bytesPerEvent?: number | null;
  readonly neverSeen?: boolean;
  readonly kind?: Component['kind'];
}

function verdictOf(facts: Facts) {
  const { conf, events = 10_000, hasBytes = false, bytesPerEvent = null, kind = 'input' } = facts;
  const known = testComponents(testClock());
  const component = { ...known.add('app'), kind };
  const asked: unknown[] = [];
  const rule = baseline.configure({ name: 'syslog:app', metric: 'events', ...conf });
  const verdict = rule.evaluate({
    subject: {
      ...{ key: 'edge/syslog:app', name: 'syslog:app', group: 'default', declaredMs: 0 },
      component: facts.neverSeen === true ? undefined : component,
    },
    components: {
      ...known,
      hasMetric: (_, metric) => hasBytes && metric.endsWith('bytes'),
      measure: (_, metric) => {
        asked.push(metric);
        return 'measured' in facts ? facts.measured : { sum: events, observedMs: HOUR_MS };
      },
      usual: (_, metric, window) => {
        asked.push(metric, window);
        return 'usual' in facts ? facts.usual : TEN_THOUSAND;
      },
      pipeline: id => {
        const state = known.pipeline(id);
        return state && { ...state, bytesPerEvent };
      },
    },
    open: { ms: 2 * HOUR_MS, observedMs: 2 * HOUR_MS },
  });
  if (verdict.state === 'unknown') return { ...verdict, asked };
  return { state: verdict.state, asked, ...verdict.describe() };
}

describe('baseline', () => {
  it('is an alarm below what is usual by more than the spread times the sensitivity, explained in numbers', () => {
    expect(verdictOf({ events: 7776 }).state).toBe('ok');
    expect(verdictOf({ events: 7775 })).toEqual({
      state: 'alarm',
      asked: ['in_events', 'in_events', { windowMs: HOUR_MS, timezone: 'UTC' }],
      text: 'Source syslog:app traffic volume is unusually low: 7775 events in 1h, less than 7776; usual at this time is 10000 by 27 days, with a spread of 741',
      fields: {
        _metric: 'total.in_events',
        events: 7775,
        usual: 10_000,
        spread: 741,
        lowest: 7776,
        highest: 12_224,
        days: 27,
        direction: 'low',
        sensitivity: 3,
        timeWindow: '1h',
      },
    });
    expect(verdictOf({ events: 9000 })).toMatchObject({
      state: 'ok',
      text: 'Source syslog:app traffic volume is as usual again after 2h: 9000 events in 1h; usual at this time is 10000 by 27 days, with a spread of 741',
    });
  });

  it.each([
    ['low', 20_000, 'ok'],
    ['high', 20_000, 'alarm'],
    ['both', 20_000, 'alarm'],
    ['high', 10, 'ok'],
    ['both', 10, 'alarm'],
  ])('looks %s: at %d it is %s', (direction, events, state) => {
    expect(verdictOf({ events, conf: { direction } }).state).toBe(state);
  });

  it('names the output, its counter and the side', () => {
    const { text, fields } = {
      ...{ text: '', fields: {} },
      ...verdictOf({ kind: 'output', events: 99_999, conf: { direction: 'both', timeWindow: '30m' } }),
    };
    expect(text).toMatch(
      /^Destination syslog:app traffic volume is unusually high: 99999 events in 30m, more than 12224/,
    );
    expect(fields).toMatchObject({ _metric: 'total.out_events', direction: 'high' });
  });

  it('counts bytes, or events by their size where bytes are not reported', () => {
    const conf = { metric: 'bytes' };
    expect(verdictOf({ conf, hasBytes: true }).asked).toContain('in_bytes');
    const scaled = verdictOf({ conf, bytesPerEvent: 350, events: 5000 });
    expect(scaled.asked).not.toContain('in_bytes');
    expect(scaled).toMatchObject({ state: 'alarm', fields: { bytes: 1_750_000, usual: 3_500_000 } });
    expect(verdictOf({ conf })).toMatchObject({ state: 'unknown', reason: /no byte metric/ });
  });

  it.each([
    ['it was never seen', { neverSeen: true }, 'it was never seen'],
    ['its hours are being read', { usual: undefined }, 'its recorded hours are being read'],
    [
      'fewer than three days are recorded',
      { usual: { ...TEN_THOUSAND, days: 2 } },
      '2 of the last 28 days are recorded at this time; at least 3 are needed',
    ],
    [
      'too little of the window was observed to say that there is too little',
      { measured: { sum: 5, observedMs: HOUR_MS - 1 } },
      'it has been watched for less than 1h',
    ],
    [
      'it has too many windows',
      { measured: undefined },
      'too many notifications look at it over different windows',
    ],
  ])('is unknown when %s', (_, facts, reason) => {
    expect(verdictOf(facts)).toMatchObject({ state: 'unknown', reason });
  });

  it('says that there is too much before a whole window was observed', () => {
    const measured = { sum: 99_999, observedMs: 1000 };
    expect(verdictOf({ measured, conf: { direction: 'high' } }).state).toBe('alarm');
  });
});

describe('limits', () => {
  it('are a twentieth of the usual away at least, so that volumes which never differ do not alert on nothing', () => {
    const limits = limitsOf({ median: 1000, deviation: 0 }, 3, 'events');
    expect(limits).toEqual({ spread: 50, lowest: 850, highest: 1150 });
  });

  it('leave some room where nothing is usual, and never ask for less than nothing', () => {
    expect(limitsOf({ median: 0, deviation: 0 }, 3, 'events')).toEqual({ spread: 1, lowest: 0, highest: 3 });
    expect(limitsOf({ median: 0, deviation: 0 }, 3, 'bytes').highest).toBe(3072);
    expect(limitsOf({ median: 10, deviation: 10 }, 3, 'events').lowest).toBe(0);
  });
});
