import { expect, test } from 'vitest';
import { alarm } from '../../test/helpers/any-event.ts';
import { factLine, factLines, reminderNote, standaloneText } from './facts.ts';

const at = alarm._time;

test('the facts of an event are lines in the order in which people ask for them', () => {
  const event = {
    ...alarm,
    ...{ pipeline: 'edge', host: 'edge-1:9598', lastDataAt: at - 1560, since: at - 1500 },
    ...{ usualEventsPerSecond: 1234.5, usualBytesPerSecond: 34_100 },
  };
  expect(factLines(event)).toEqual([
    'Pipeline: edge',
    'Host: edge-1:9598',
    'Last data: 2024-02-01 00:02:20 UTC (26m before)',
    'Usual rate: 1.23k events/s, 34.1 kB/s (mean of 24h)',
    'Since: 2024-02-01 00:03:20 UTC (for 25m)',
  ]);
  expect(factLines({ ...event, status: 'OK' }).at(-1)).toBe('Alarm since: 2024-02-01 00:03:20 UTC (for 25m)');
  expect(factLine({ ...alarm, pipeline: 'edge', since: at })).toBe(
    'pipeline edge · since 2024-02-01 00:28:20 UTC',
  );
  expect(factLines(alarm)).toEqual([]);
});

test.each([
  [0, '0 events/s'],
  [0.001, '3.6 events/h'],
  [0.5, '30 events/min'],
  [1, '1 events/s'],
  [999.96, '1000 events/s'],
  [2_500_000, '2.5M events/s'],
])('%d events a second are written as %s', (rate, text) => {
  expect(factLines({ ...alarm, usualEventsPerSecond: rate })).toEqual([`Usual rate: ${text} (mean of 24h)`]);
});

test('fields of a sender or of metadata that are no facts are omitted, and long ones cut', () => {
  const odd = {
    ...{ pipeline: 7, host: ' ', lastDataAt: 'noon', since: Number.NaN, usualEventsPerSecond: -1 },
    ...{ usualBytesPerSecond: Infinity, reminder: 'two' },
  };
  expect(factLines({ ...alarm, ...odd })).toEqual([]);
  expect(factLines({ ...alarm, lastDataAt: 1e15 })).toEqual([]);
  expect(factLines({ ...alarm, host: 'h'.repeat(5000) })[0]).toHaveLength('Host: '.length + 300);
});

test('a reminder says that it is one behind the same text, and since when', () => {
  const reminder = { ...alarm, reminder: 2, since: at - 1500 };
  expect(reminderNote(reminder)).toBe(' – still, for 25m (reminder 2)');
  expect(reminderNote({ ...alarm, since: at - 1500 })).toBe('');
  expect(standaloneText(reminder)).toBe(
    'Source syslog:app had no data for 60s – still, for 25m (reminder 2)\nsince 2024-02-01 00:03:20 UTC (for 25m)',
  );
});
