import { expect, it } from 'vitest';
import { licenseExpiration, monitorAlerts, search } from './external.ts';

const alarm = (key: string, fields: object = {}) => ({
  key,
  state: 'ALARM' as const,
  fields: { ...fields },
  openMs: undefined,
});
const ok = (key: string) => ({ key, state: 'OK' as const, fields: {}, openMs: 3_660_000 });

const logins = search.configure({ savedQueryId: 'logins', message: '${count} on ${host}, see {{url}}' });
const license = licenseExpiration.configure({});
const monitor = monitorAlerts.configure({});

it.each([
  [logins, alarm('logins/w1', { count: 3, host: 'w1' }), 'Search logins/w1: 3 on w1, see {{url}}'],
  [logins, alarm('logins'), 'Search logins:  on , see {{url}}'],
  [logins, ok('logins'), 'Search logins finds nothing any more after 1h 1m'],
  [license, alarm('edge'), 'License edge expires'],
  [license, alarm('edge', { expirationDate: '2027-01-31' }), 'License edge expires on 2027-01-31'],
  [license, ok('edge'), 'License edge is valid again after 1h 1m'],
  [monitor, alarm('cpu'), 'Monitor cpu is firing'],
  [monitor, alarm('cpu', { monitor_name: 'CPU', value: 93 }), 'Monitor CPU (cpu) is firing: 93'],
  [monitor, alarm('cpu', { monitor_name: '', value: { a: 1 } }), 'Monitor cpu is firing'],
  [monitor, ok('cpu'), 'Monitor cpu is cleared after 1h 1m'],
])('%o reports %o: %s', (rule, posted, text) => {
  expect(rule.describe(posted).text).toBe(text);
});

it('adds the fields of an external event to its own, a search its own id as well', () => {
  expect(monitor.describe(alarm('cpu', { value: 93 })).fields).toEqual({ value: 93 });
  expect(logins.describe(alarm('logins', { count: 3 })).fields).toEqual({ count: 3, savedQueryId: 'logins' });
});

it('accepts the settings of a search as Cribl-compatible files have them', () => {
  const conf = {
    savedQueryId: 'logins',
    message: 'look',
    triggerType: 'resultsCount',
    triggerComparator: '>',
    triggerCount: 0,
    trigger: 'count > 3',
  };
  expect(JSON.parse(JSON.stringify(search.configure(conf).conf))).toEqual(conf);
  expect(() => search.configure({ ...conf, message: '' })).toThrow(/1 to 1000 characters/);
  expect(() => search.configure({ ...conf, message: 'x'.repeat(1001) })).toThrow(/1 to 1000 characters/);
});
