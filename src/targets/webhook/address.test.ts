import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { HeadgateEvent } from '../../events/event.ts';
import { addressOf, addressText } from './address.ts';

const event: HeadgateEvent = {
  id: 'e1',
  status: 'ALARM',
  condition: 'no-data',
  cribl_notification: 'app_silent',
  incidentId: 'i1',
  severity: 'warn',
  input: 'syslog:app/5140 ü?&=#',
  _raw: 'Source syslog:app had no data for 60s',
  _time: 1_706_747_300,
  starttime: 1_706_747_240,
  endtime: 1_706_747_300,
};

const problemOf = (text: string): string | undefined => addressText.safeParse(text).error?.issues[0]?.message;

const PLACES = 'places may stand in the path and in the query only';

test.each([
  ['${scheme}://hooks.example/x', 'scheme'],
  ['http${s}://hooks.example/x', 'scheme'],
  ['https://${user}@hooks.example/x', 'user'],
  ['https://u:${password}@hooks.example/x', 'user'],
  ['https://${host}/x', 'host'],
  ['https://hooks.${zone}.example/x', 'host'],
  ['https://hooks.example${suffix}/x', 'host'],
  ['https://hooks.example${path}', 'host'],
  ['https://hooks.example:${port}/x', 'port'],
  ['https://hooks.example:80${port}/x', 'port'],
  ['https://[::${host}]/x', 'host'],
  ['https://[::1]:${port}/x', 'port'],
  ['https://hooks.example/x#${fragment}', 'fragment'],
])('%s is refused: its place stands in the %s', (text, part) => {
  expect(problemOf(text)).toBe(`place 1 stands in the ${part}; ${PLACES}`);
});

test('the place at fault is counted, behind those that may stand', () => {
  expect(problemOf('https://hooks.example/${a}?b=${b}#${c}')).toBe(
    `place 3 stands in the fragment; ${PLACES}`,
  );
});

test.each([
  ['https://hooks.example/${', "at character 23: '${' is not closed by '}'"],
  ['https://hooks.example/${a b}', /^at character \d+: /],
  [
    'https://api.example/bot${secret:bot}/send',
    'must be a reference as a whole or none; store the whole address as the secret',
  ],
  [
    'https://u:p@hooks.example/${a}',
    'must not hold a user name or password; use the authentication settings',
  ],
  ['https://hooks.example/a b/${a}', 'must not hold blanks, line breaks or control characters'],
  ['ftp://hooks.example/x', 'must be an address that begins with http:// or https://'],
  [`https://hooks.example/${'${a}'.repeat(11)}`, 'must not have more than 10 places'],
])('%s is refused', (text, message) => {
  expect(problemOf(text)).toEqual(typeof message === 'string' ? message : expect.stringMatching(message));
});

const rendered = (text: string, fields: object = {}): string => {
  expect(problemOf(text)).toBeUndefined();
  return addressOf(text, 'url').render({ ...event, ...fields });
};

test('a value is one part of a path or of a query, whatever it holds', () => {
  expect(
    rendered('https://hooks.example/v1/${input}/close?of=${input}&n=${ severity === "warn" ? 1 : 2 }'),
  ).toBe(
    'https://hooks.example/v1/syslog%3Aapp%2F5140%20%C3%BC%3F%26%3D%23/close?of=syslog%3Aapp%2F5140%20%C3%BC%3F%26%3D%23&n=1',
  );
  expect(rendered('https://hooks.example/${input}/x', { input: 'a\ud800b' })).toBe(
    'https://hooks.example/a%EF%BF%BDb/x',
  );
  expect(rendered('https://hooks.example/${missing}/x')).toBe('https://hooks.example//x');
  expect(rendered('https://hooks.example/${origin_metadata}', { origin_metadata: { id: 'a' } })).toBe(
    'https://hooks.example/%7B%22id%22%3A%22a%22%7D',
  );
});

test('no value leads up in the path', () => {
  for (const dots of ['.', '..', '%2e', '.%2E'])
    expect(new URL(rendered('https://hooks.example/a/${input}/close', { input: dots })).pathname).toMatch(
      /^\/a\/[^/]+\/close$/,
    );
  expect(new URL(rendered('https://hooks.example/a/.${input}', { input: '.' })).pathname).toBe('/a/_');
});

test('an address never changes its origin or its shape, and never fails, whatever events hold', () => {
  const texts = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.constantFrom('..', '/../', '\\..\\', '@evil.example', '#', '?a=b'),
  );
  fc.assert(
    fc.property(texts, texts, (one, other) => {
      const url = new URL(
        rendered('https://hooks.example:8443/in/${input}/x${output}?a=${output}&b=1', {
          input: one,
          output: other,
        }),
      );
      expect(url.origin).toBe('https://hooks.example:8443');
      expect(url.pathname.split('/')).toHaveLength(4);
      expect(url.pathname).toMatch(/^\/in\//);
      expect([...url.searchParams.keys()]).toEqual(['a', 'b']);
      expect(url.hash).toBe('');
    }),
  );
});

test('values are cut, and the address never in the middle of a character', () => {
  const url = rendered(`https://hooks.example/${'${input}/'.repeat(10)}`, { input: '€'.repeat(100_000) });
  expect(() => decodeURIComponent(url)).not.toThrow();
  expect(new URL(url).pathname.split('/')).toHaveLength(12);
});
