import { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import { expect, it } from 'vitest';
import { testClock } from '../../test/helpers/clock.ts';
import { silentLogger } from '../lib/logger.ts';
import { createHostRule, type HostSettings } from './hosts.ts';

const SETTINGS: HostSettings = {
  api: { host: 'gate.internal', allowedHosts: ['headgate.monitoring.svc', '*.Example.com', 'my_service'] },
  instance: { externalUrl: 'https://Gate.example.org:8443/x', nodeUrl: 'http://node-1.headgate:9000' },
};
const HOSTED = { cloudDomain: 'Cloud.example', authUrl: 'https://auth.example' };

function ruleOf(settings: HostSettings, hostname = 'web1.corp.example') {
  const clock = testClock();
  const logged: object[] = [];
  const logger = { ...silentLogger, warn: (fields: object) => void logged.push(fields) };
  const rule = createHostRule({ settings: () => settings, hostname, clock, logger });
  /** `ok`, or the code of the refusal. */
  function judge(headers: readonly string[], { url = '/', host = headers[1] ?? '' } = {}): string {
    const raw = new IncomingMessage(new Socket());
    raw.rawHeaders = [...headers];
    raw.headers = headers[1] === undefined ? {} : { host: headers[1] };
    raw.url = url;
    try {
      rule.assertKnown({ raw, host, ip: '192.0.2.9' });
      return 'ok';
    } catch (error) {
      return error instanceof Error && 'code' in error ? String(error.code) : String(error);
    }
  }
  return { clock, rule, logged, judge, of: (host: string) => judge(['Host', host]) };
}

it.each([
  'localhost',
  'LOCALHOST:9000',
  'a.b.localhost.',
  '127.0.0.1:9000',
  '10.1.2.3',
  '[::1]:9000',
  '[2001:DB8::1]',
  'web1.corp.example',
  'Web1:80',
  'gate.internal',
  'gate.example.org',
  'node-1.headgate:9000',
  'headgate.monitoring.svc:9000',
  'HEADGATE.monitoring.svc.:1',
  'a.example.com',
  'a.b.EXAMPLE.com',
  'my_service:9000',
])('%s is a host of this server', host => {
  expect(ruleOf(SETTINGS).of(host)).toBe('ok');
});

it.each([
  'evil.example',
  'example.com',
  'notexample.com',
  'a.example.com.evil.example',
  'localhost.evil.example',
  'evillocalhost',
  '127.0.0.1.evil.example',
  'web1.evil.example',
  'headgate',
  'headgate.monitoring',
  'x.headgate.monitoring.svc',
  'a.cloud.example',
  'auth.example',
  '127.1',
  '2130706433',
])('%s is none', host => {
  expect(ruleOf(SETTINGS).of(host)).toBe('misdirected');
});

it.each([
  '',
  ' ',
  'a b',
  'user@localhost',
  'localhost/x',
  'localhost:x',
  '[::1',
  '::1',
  '[localhost]',
  '.',
  'ä.example',
])("'%s' is no host at all", host => {
  expect(ruleOf(SETTINGS).of(host)).toBe('invalid-request');
});

it('one host must be named, once, and the same in an absolute target', () => {
  const { judge } = ruleOf(SETTINGS);
  expect(judge([])).toBe('invalid-request');
  expect(judge(['Host', 'localhost', 'hOST', 'localhost'])).toBe('invalid-request');
  expect(judge(['Host', 'localhost'], { url: 'http://evil.example/' })).toBe('invalid-request');
  expect(judge(['Host', 'evil.example'], { url: 'http://evil.example/' })).toBe('misdirected');
  expect(judge(['Host', 'localhost'], { url: 'http://LOCALHOST/' })).toBe('ok');
});

it('a name that a trusted proxy forwards counts beside the one it was sent to', () => {
  const { judge } = ruleOf(SETTINGS);
  expect(judge(['Host', 'localhost'], { host: 'evil.example' })).toBe('misdirected');
  expect(judge(['Host', 'evil.example'], { host: 'localhost' })).toBe('misdirected');
  expect(judge(['Host', '127.0.0.1:9000'], { host: 'gate.example.org' })).toBe('ok');
});

it('in a hosted installation all names below its domain and the login service pass on to the rule of workspaces', () => {
  const { of } = ruleOf({ ...SETTINGS, hosted: HOSTED });
  expect(['main-acme.cloud.example', 'nowhere.CLOUD.example:1', 'auth.example'].map(of)).toEqual([
    'ok',
    'ok',
    'ok',
  ]);
  expect(of('cloud.example.evil.example')).toBe('misdirected');
});

it('the log says which host came and from where, once in ten seconds with the count', async () => {
  const { of, logged, clock } = ruleOf(SETTINGS);
  for (let count = 0; count < 3; count++) of('evil.example');
  await clock.advance(10_000);
  of('other.example');
  const line = { address: '192.0.2.9', setting: 'api.allowedHosts' };
  expect(logged).toEqual([
    { ...line, host: 'evil.example', count: 1 },
    { ...line, host: 'other.example', count: 3 },
  ]);
});

it('a name of the machine alone is its own', () => {
  const { rule } = ruleOf(SETTINGS);
  expect(['web1', 'web1.corp.example:9000', 'localhost', 'gate.internal'].map(rule.isOwn)).toEqual([
    true,
    true,
    false,
    false,
  ]);
});
