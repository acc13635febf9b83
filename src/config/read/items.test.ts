import { describe, expect, test } from 'vitest';
import { configurationOf, errorsOf } from '../../../test/helpers/config-folder.ts';

const NOTIFICATION = { id: 'n', condition: 'no-data', conf: { name: 'x' } };

const withNotification = (change: object, targets: readonly object[] = []) => ({
  notifications: JSON.stringify({ targets, notifications: [{ ...NOTIFICATION, ...change }] }),
});

const placeless = (lines: readonly string[]): string[] =>
  lines.map(line => line.replace(/^notifications\.yml:1:\d+: /, ''));

describe('a notification', () => {
  test('may hold everything there is', () => {
    const mail = {
      id: 'mail',
      conf: { subject: '${status}', body: '${_raw}', emailRecipient: { to: 'a@b.example' } },
    };
    const change = {
      targets: ['mail'],
      targetConfigs: [mail],
      metadata: [{ name: 'env', value: "'production'" }],
      group: 'edge',
      groupBy: ['input', 'env'],
      groupWait: '30s',
      groupInterval: '5m',
      muteWindows: [{ times: ['22:00-06:00'], weekdays: ['sat', 'mon-fri'], timezone: 'Europe/Berlin' }],
    };
    const smtp = {
      id: 'mail',
      type: 'smtp',
      host: 'm',
      port: 465,
      smtpUsername: '',
      smtpPassword: '',
      from: 'h@b.example',
    };
    const [notification] = configurationOf(withNotification(change, [smtp])).notifications;
    expect(notification?.group).toBe('edge');
    expect(JSON.parse(JSON.stringify(notification?.settings))).toMatchObject(change);
  });

  test.each([
    [{ group: 'a b' }, /must be 1 to 512 letters.*\(notifications\[0\]\.group\)$/],
    [{ metadata: [{ name: 'env' }] }, /'value' is required \(notifications\[0\]\.metadata\[0\]\.value\)$/],
    [{ metadata: [{ name: 'a-b', value: '1' }] }, /must be a name of letters, digits and "_"/],
    [
      { metadata: [{ name: 'status', value: '1' }] },
      /is a field that every event has .*\.metadata\[0\]\.name\)$/,
    ],
    [
      { metadata: [{ name: 'a', value: 'b = 1' }] },
      /^at character 1: assignment .*\(notifications\[0\]\.metadata\[0\]\.value\)$/,
    ],
    [
      {
        metadata: [
          { name: 'a', value: '1' },
          { name: 'a', value: '2' },
        ],
      },
      /must be given once; an earlier item has the same name.*\[1\]\.name\)$/,
    ],
    [{ metadata: { a: '1' } }, /must be a list, not a map/],
    [{ targetConfigs: [{}] }, /'id' is required \(notifications\[0\]\.targetConfigs\[0\]\.id\)$/],
    [{ groupWait: '2h' }, /must be at most 1h, not '2h'/],
    [
      { groupBy: ['imput'] },
      /no event has a field 'imput'; did you mean 'input'\?.*\(notifications\[0\]\.groupBy\[0\]\)$/,
    ],
    [
      { condition: 'monitor-alerts', conf: {}, for: '5m' },
      /must be 0s: external events of 'monitor-alerts' notify at once.*\(notifications\[0\]\.for\)$/,
    ],
    [{ condition: 'search', conf: { message: 'x' } }, /'savedQueryId' is required/],
    [
      { condition: 'search', conf: { savedQueryId: 'a/b', message: 'x' } },
      /1 to 512 characters without "\/"/,
    ],
    [{ condition: 'search', conf: { savedQueryId: 'a', message: '${' } }, /is not closed by '}'/],
    [{ condition: 'monitor-alerts', conf: { name: 'x' } }, /unknown key 'name'/],
    [{ groupby: [] }, /unknown key 'groupby'; did you mean 'groupBy'\?/],
    [{ muteWindows: [{}] }, /must name at least one of times, weekdays, daysOfMonth, months/],
    [{ muteWindows: [{ times: ['22:00'] }] }, /must be a span of the day such as '22:00-06:00'.*'22:00'/],
    [{ muteWindows: [{ times: ['06:00-06:00'] }] }, /must be a span of the day/],
    [{ muteWindows: [{ times: ['24:00-06:00'] }] }, /must be a span of the day/],
    [{ muteWindows: [{ times: ['09:60-10:00'] }] }, /must be a span of the day/],
    [{ muteWindows: [{ weekdays: ['mo'] }] }, /must be a weekday such as 'monday' or 'mon'/],
    [{ muteWindows: [{ weekdays: ['mon-fri-sun'] }] }, /must be a weekday/],
    [{ muteWindows: [{ daysOfMonth: [0] }] }, /must be 1 to 31, or -1 to -31/],
    [{ muteWindows: [{ daysOfMonth: [32] }] }, /must be at most 31, not 32/],
    [{ muteWindows: [{ months: [13] }] }, /must be at most 12, not 13/],
    [
      { muteWindows: [{ times: ['00:00-24:00'], timezone: 'Europe/Berlni' }] },
      /must be a time zone such as 'UTC' or 'Europe\/Berlin', not 'Europe\/Berlni' .*timezone\)$/,
    ],
  ])('with %j is refused', (change, message) => {
    expect(placeless(errorsOf(withNotification(change)))).toEqual([expect.stringMatching(message)]);
  });

  test.each([
    { times: ['23:00-02:00'] },
    { times: ['00:00-24:00'], weekdays: ['saturday', 'sun'] },
    { daysOfMonth: [1, -1] },
    { months: [12], timezone: 'Asia/Kathmandu' },
  ])('may be muted in %j', window => {
    expect(errorsOf(withNotification({ muteWindows: [window] }))).toEqual([]);
  });
});

describe('references in a target', () => {
  test('are replaced in settings, and left in templates and expressions under every name', () => {
    const given = {
      notifications: JSON.stringify({
        targets: [
          { id: 'h', type: 'webhook', url: '${env:URL}', customSourceExpression: "'${env:URL}'" },
          { id: 's', type: 'slack', url: '${env:URL}' },
          { id: 'r', type: 'router', rules: [{ filter: "key == '${env:URL}'", output: 'h' }] },
        ],
      }),
      environment: { URL: 'https://hooks.example/x' },
    };
    const [hook, slack, router] = configurationOf(given).targets;
    expect(JSON.parse(JSON.stringify(hook?.settings))).toMatchObject({
      url: 'https://hooks.example/x',
      srcExpression: "'${env:URL}'",
    });
    expect(JSON.stringify(slack?.settings)).toContain('"slackUrl":"https://hooks.example/********"');
    expect(JSON.parse(JSON.stringify(router?.settings))).toMatchObject({
      routes: [{ filter: "key == '${env:URL}'" }],
    });
  });
});
