import { expect, test } from 'vitest';
import type { HeadgateEvent } from './event.ts';
import { systemFieldPatterns, withoutInternal, withSystemFields } from './system-fields.ts';

const event: HeadgateEvent = {
  id: 'e1',
  status: 'ALARM',
  condition: 'no-data',
  cribl_notification: 'app_silent',
  incidentId: 'i1',
  severity: 'warn',
  _raw: 'Source syslog:app had no data for 60s',
  _time: 1_706_747_300,
  starttime: 1_706_747_240,
  endtime: 1_706_747_300,
};
const values = {
  cribl_host: 'headgate',
  cribl_pipe: 'edge',
  cribl_input: 'syslog:app',
  cribl_output: undefined,
};

test.each([
  [['cribl_host'], { cribl_host: 'headgate' }],
  [['cribl_host', 'cribl_pipe'], { cribl_host: 'headgate', cribl_pipe: 'edge' }],
  [['c*'], { cribl_host: 'headgate', cribl_pipe: 'edge', cribl_input: 'syslog:app' }],
  [['*_p*'], { cribl_pipe: 'edge' }],
  [['cribl*t'], { cribl_host: 'headgate', cribl_input: 'syslog:app' }],
  [['*host*'], { cribl_host: 'headgate' }],
  [['cribl.host*', 'x*', 'host*'], {}],
  [['cribl_output', 'cribl_wp', 'cribl_route'], {}],
  [[], {}],
])('the patterns %j attach what is known of what they match', (patterns, attached) => {
  expect(withSystemFields(event, patterns, values)).toEqual({ ...event, ...attached });
});

test('a field the event already has keeps its value', () => {
  const own = { ...event, cribl_host: 'from metadata' };
  expect(withSystemFields(own, ['*'], values)).toMatchObject({
    cribl_host: 'from metadata',
    cribl_pipe: 'edge',
  });
});

test('a plain name that is no system field is refused with its place and the known ones', () => {
  const result = systemFieldPatterns.safeParse(['cribl_host', 'cribl_hots', 'x*', '*']);
  expect(result.error?.issues).toEqual([
    expect.objectContaining({ path: [1], message: expect.stringContaining('cribl_host, cribl_pipe') }),
  ]);
});

test('names that begin with two underscores do not leave', () => {
  const inside = JSON.parse(
    JSON.stringify({ ...event, __severity: 'fatal', __pipeline: 'edge', own: 1 }).replace(
      '{',
      '{"__proto__":1,',
    ),
  );
  expect(withoutInternal(inside)).toEqual({ ...event, own: 1 });
  expect(withoutInternal(event)).toBe(event);
});
