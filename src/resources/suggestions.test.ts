import { describe, expect, it } from 'vitest';
import type { HourValues } from '../pipelines/history/hour-codec.ts';
import type { MinuteValues } from '../pipelines/history/minute-codec.ts';
import { HOUR_MS } from '../pipelines/history/row-ids.ts';
import { FEWEST_MINUTES, type RecordedTime, suggestionsFor } from './suggest.ts';

const START = Date.UTC(2026, 0, 1);
const DAY = FEWEST_MINUTES;

const recorded = (
  minuteOf: (minute: number) => MinuteValues | undefined,
  facts: Partial<RecordedTime> = {},
): RecordedTime => ({
  kind: 'input',
  start: START,
  minutes: Array.from({ length: 3 * DAY }, (_, minute) => minuteOf(minute)),
  hours: new Map(),
  ...facts,
});

const suggestionOf = (condition: string, ...time: Parameters<typeof recorded>) =>
  suggestionsFor(recorded(...time)).find(one => one.condition === condition);

describe('suggestions', () => {
  it('wait longer for data than its longest silence, and count the silences that less would have alerted on', () => {
    // A silence of 7 minutes each day, and one of 12 on the second.
    const isSilent = (minute: number): boolean =>
      minute % DAY < 7 || (minute >= DAY + 600 && minute < DAY + 612);
    const minuteOf = (minute: number) => ({ in_events: isSilent(minute) ? 0 : 50 });
    expect(suggestionOf('no-data', minuteOf)).toEqual({
      condition: 'no-data',
      conf: { timeWindow: '30m' },
      fired: 0,
      reason: 'the longest silence was 12 minutes, of 4',
      others: [
        { conf: { timeWindow: '10m' }, fired: 1 },
        { conf: { timeWindow: '15m' }, fired: 0 },
      ],
    });
  });

  it('set a low volume to half of the least, in the shortest window that always had data', () => {
    const minuteOf = (minute: number) => ({ out_bytes: minute % 20 === 0 ? 1000 : 0 });
    expect(suggestionOf('low-volume-dest', minuteOf, { kind: 'output' })).toMatchObject({
      conf: { timeWindow: '30m', dataVolume: '500' },
      fired: 0,
      reason: 'the least in 30m was 1000',
    });
    const [, above] = suggestionOf('low-volume-dest', minuteOf, { kind: 'output' })?.others ?? [];
    expect(above?.conf).toEqual({ timeWindow: '30m', dataVolume: '1200' });
    expect(above?.fired).toBeGreaterThan(100);
  });

  it('set a high volume above the most, in events where bytes are not reported', () => {
    const minuteOf = (minute: number) => ({ in_events: minute >= 2000 && minute < 2060 ? 100 : 10 });
    expect(suggestionOf('high-volume', minuteOf)).toMatchObject({
      conf: { timeWindow: '1h', dataVolume: '9000 events' },
      fired: 0,
      reason: 'the most in 1h was 6000 events',
      others: [
        { conf: { dataVolume: '6600 events' }, fired: 0 },
        { conf: { dataVolume: '4800 events' }, fired: 1 },
      ],
    });
  });

  it('count errors, drops, full queues and Red times where these are known', () => {
    const minuteOf = (minute: number): MinuteValues => ({
      in_events: 1,
      errors: minute % 1000 === 0 ? 7 : 0,
      queue_size: minute === 100 ? 60 : 5,
      queue_capacity: 100,
      ...(minute >= 500 && minute < 503 && { red_ms: 60_000 }),
    });
    expect(suggestionOf('source-errors', minuteOf)).toMatchObject({
      conf: { timeWindow: '5m', threshold: 11 },
      fired: 0,
      others: [
        { conf: { threshold: 3 }, fired: 5 },
        { conf: { threshold: 0 }, fired: 5 },
      ],
    });
    expect(suggestionOf('dropped-events', minuteOf)).toBeUndefined();
    expect(suggestionOf('persistent-queue-usage-source', minuteOf)).toMatchObject({
      conf: { usageThreshold: 75 },
      fired: 0,
      others: [{ fired: 0 }, { conf: { usageThreshold: 50 }, fired: 1 }],
    });
    expect(suggestionOf('unhealthy-source', minuteOf)).toMatchObject({
      fired: 1,
      reason: 'it was Red for 3 minutes',
    });
  });

  it('try a baseline on each hour that has earlier days to compare with', () => {
    const hours = new Map<number, HourValues>();
    for (let hour = -20 * 24; hour < 72; hour++)
      hours.set(START + hour * HOUR_MS, { minutes: 60, in_events: hour === 30 ? 100 : 1000 });
    expect(suggestionOf('baseline', () => ({ in_events: 17 }), { hours })).toMatchObject({
      conf: { metric: 'events', timeWindow: '1h', sensitivity: 3 },
      fired: 1,
      reason: '72 hours could be compared with those of earlier days',
    });
    expect(suggestionOf('baseline', () => ({ in_events: 17 }))).toBeUndefined();
  });

  it('need a day, whatever is missing in between', () => {
    const known = (minutes: number) => (minute: number) => (minute < minutes ? { in_events: 5 } : undefined);
    expect(suggestionsFor(recorded(known(DAY - 1)))).toEqual([]);
    expect(suggestionsFor(recorded(known(DAY))).length).toBeGreaterThan(2);
    // A gap is no silence.
    const withGap = (minute: number) => (minute > 100 && minute < 900 ? undefined : { in_events: 5 });
    expect(suggestionOf('no-data', withGap)).toMatchObject({ conf: { timeWindow: '2m' }, fired: 0 });
  });
});
