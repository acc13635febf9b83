import { describe, expect, test } from 'vitest';
import { warningsOf } from '../../../test/helpers/config-folder.ts';

const log = { id: 'log', type: 'notifications_log' };

/** The warnings of a router, without their place in the file. */
const warnings = (...routes: readonly object[]): string[] =>
  warningsOf({
    notifications: JSON.stringify({
      targets: [log, { id: 'r', type: 'router', routes: routes.map(route => ({ output: 'log', ...route })) }],
      notifications: [
        { id: 'n', condition: 'no-data', conf: { name: 'x' }, targets: ['r'] },
        { id: 's', condition: 'search', conf: { savedQueryId: 'q', message: 'm' }, targets: ['r'] },
      ],
    }),
  })
    .map(line => line.replace(/^notifications\.yml:1:\d+: /, ''))
    .filter(line => line.includes('routes['));

const ONLY_ENDS =
  /^only the end of an alarm \(status OK\) could take this route, .* resolveUrl \(targets\[1\]\.routes\[0\]\.filter\)$/;

describe('a route that no event takes is warned of', () => {
  test.each([
    "status === 'OK'",
    "status == 'OK' && input === 'syslog:app'",
    "(severity === 'fatal' && status !== 'ALARM')",
    "['OK'].includes(status)",
    "status.startsWith('O') && __e['team'] === 'edge'",
  ])('as only an end could take it: %s', filter => {
    expect(warnings({ filter })).toEqual([expect.stringMatching(ONLY_ENDS)]);
  });

  test.each(['false', "status === 'RESOLVED'", "input === 'a' && status === 'ok'", '1 > 2'])(
    'as its filter is never true: %s',
    filter => {
      expect(warnings({ filter })).toEqual([expect.stringMatching(/^this filter is never true/)]);
    },
  );

  test('as one above takes all and is final', () => {
    expect(
      warnings({ filter: "input === 'a'" }, { filter: 'true' }, { filter: "input === 'b'" }, { filter: 'x' }),
    ).toEqual([
      expect.stringMatching(/^no event comes here: routes\[1\] above takes all .*routes\[2\]\.filter\)$/),
      expect.stringMatching(/^no event comes here: routes\[1\] above takes all .*routes\[3\]\.filter\)$/),
    ]);
  });

  test('as one above with the same filter is final', () => {
    expect(warnings({ filter: "input === 'a'" }, { filter: "input === 'a'" })).toEqual([
      expect.stringMatching(/^no event comes here: routes\[0\] above has the same filter/),
    ]);
  });

  test('by the other name of the list as well', () => {
    const found = warningsOf({
      notifications: JSON.stringify({
        targets: [log, { id: 'r', type: 'router', rules: [{ filter: 'false', output: 'log' }] }],
        notifications: [],
      }),
    });
    expect(found.join()).toContain('targets[1].rules[0].filter');
  });
});

test.each<readonly object[]>([
  [{ filter: 'true' }],
  [{ filter: "status === 'ALARM'" }, { filter: "status === 'OK' || input === 'a'" }],
  [{ filter: "input === 'a' ? status === 'OK' : true" }],
  [{ filter: 'true', final: false }, { filter: "input === 'a'" }],
  [{ filter: "input === 'a'", final: false }, { filter: "input === 'a'" }],
  [{ filter: "__e['input'] === 'a'" }, { filter: "severity === 'info'" }, { filter: 'true' }],
])('routes that an alarm may take are not warned of: %j', (...routes) => {
  expect(warnings(...routes)).toEqual([]);
});
