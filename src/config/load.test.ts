import { describe, expect, it } from 'vitest';
import { configurationOf, errorsOf, warningsOf } from '../../test/helpers/config-folder.ts';
import { effectiveText } from './check-files.ts';

const PULL =
  'pipelines: [{ id: edge, engine: vector, url: "http://127.0.0.1:9598/metrics", interval: 10s }]\n';
const HOOK = 'targets: [{ id: hook, type: webhook, url: "https://hooks.example/x" }]\n';

describe('an accepted configuration', () => {
  it.each([
    ['no files', {}],
    ['empty files', { settings: '', notifications: '' }],
    ['comments only', { settings: '# api:\n', notifications: '# targets:\n' }],
    ['empty lists', { settings: 'pipelines: []', notifications: 'targets: []\nnotifications: []' }],
    ['empty maps', { settings: 'api: {}', notifications: 'targets: {}\nnotifications: {}' }],
    ['keys without values', { settings: 'api:\npipelines:\n', notifications: 'targets:\nnotifications:\n' }],
    ['a null setting', { settings: 'api:\n  port:\ninstance: { externalUrl: null }' }],
  ])('may consist of %s', (_, given) => {
    const { settings, targets, notifications, loadedAt, warnings } = configurationOf(given);
    expect(settings.api).toMatchObject({ host: '127.0.0.1', port: 9000, authTokenTTL: 3600 });
    expect(settings.api.loginRateLimit).toMatchObject({ count: 2, perMs: 1000 });
    expect(settings.storage).toEqual({ url: 'sqlite:headgate.db', keyRing: 'keys' });
    expect(settings.instance).toEqual({ name: 'headgate' });
    expect(settings.delivery.retrySchedule).toHaveLength(11);
    expect([targets, notifications, warnings]).toEqual([[], [], []]);
    expect(loadedAt).toBe('2026-01-01T00:00:00.000Z');
  });

  it('reads items as a list and as a map by id', () => {
    const list = configurationOf({
      notifications: `${HOOK}notifications:\n  - { id: a, condition: no-data, targets: [hook], conf: { name: x } }`,
    });
    const map = configurationOf({
      notifications:
        'targets:\n  hook: { type: webhook, url: "https://hooks.example/x" }\nnotifications:\n  a: { condition: no-data, targets: [hook], conf: { name: x } }',
    });
    expect(effectiveText(map, 'json')).toBe(effectiveText(list, 'json'));
    expect(list.notifications[0]?.id).toBe('a');
    expect(list.targets[0]?.settings.id).toBe('hook');
  });

  it('reads rates per second, minute, hour and day', () => {
    const rate = (text: string) =>
      configurationOf({ settings: `api: { loginRateLimit: ${text} }` }).settings.api.loginRateLimit;
    expect(rate('30/minute')).toMatchObject({ count: 30, perMs: 60_000 });
    expect(rate('100/hour')).toMatchObject({ count: 100, perMs: 3_600_000 });
    expect(rate('1000/day')).toMatchObject({ count: 1000, perMs: 86_400_000 });
  });

  it('is frozen', () => {
    const loaded = configurationOf({ settings: PULL, notifications: `${HOOK}` });
    expect(Object.isFrozen(loaded.settings.api)).toBe(true);
    expect(Object.isFrozen(loaded.settings.pipelines[0])).toBe(true);
    expect(Object.isFrozen(loaded.targets[0]?.settings.systemFields)).toBe(true);
  });

  it('takes ids that mean something to JavaScript as plain ids', () => {
    const { targets } = configurationOf({
      notifications:
        'targets:\n  constructor: { type: bulletin_message }\n  toString: { type: bulletin_message }',
    });
    expect(targets.map(target => target.settings.id)).toEqual(['constructor', 'toString']);
  });
});

describe('keys that begin with x-', () => {
  it('hold what aliases of their file stand for, in every file', () => {
    const { settings, targets, notifications, inputs, outputs } = configurationOf({
      settings:
        'x-wait: &wait 1h30m\nretention: { messages: 30d }\nx-unused: ${env:NOWHERE}\ndelivery: { retrySchedule: [0s, *wait] }',
      notifications: [
        'x-hook: &hook { type: webhook, url: "https://hooks.example/", authType: none }',
        'x-ops: &ops [one]',
        'targets: { one: *hook, two: *hook }',
        'notifications:',
        '  - { id: silent, condition: no-data, targets: *ops, conf: { name: "*" } }',
      ].join('\n'),
      inputs: 'x-common: &common { type: syslog }\ninputs: { a: *common, b: *common }',
      outputs: 'x-type: &type s3\noutputs: [{ id: lake, type: *type }]',
    });
    expect(settings.delivery.retrySchedule.map(({ ms }) => ms)).toEqual([0, 5_400_000]);
    expect(targets.map(target => target.settings.id)).toEqual(['one', 'two']);
    expect(notifications.map(one => one.settings.targets)).toEqual([['one']]);
    expect([...inputs, ...outputs].map(({ type }) => type)).toEqual(['syslog', 'syslog', 's3']);
  });

  it('are none below the top, nor without the dash', () => {
    expect(errorsOf({ settings: 'api: { x-port: 1 }\nxapi: 1' })).toEqual([
      expect.stringMatching(/^headgate.yml:1:8: unknown key 'x-port'/),
      expect.stringMatching(/^headgate.yml:2:1: unknown key 'xapi'/),
    ]);
  });
});

describe('headgate.yml', () => {
  it.each([
    ['a list', '- a', /^headgate.yml:1:1: must be a map of settings, not a list$/],
    ['a text', 'hello', /^headgate.yml:1:1: must be a map of settings, not 'hello'$/],
    [
      'an unknown section',
      'apis: {}',
      /^headgate.yml:1:1: unknown key 'apis'; did you mean 'api'\? Allowed: instance, api/,
    ],
    [
      'an unknown key',
      'api:\n  prot: 1',
      /^headgate.yml:2:3: unknown key 'prot'; did you mean 'port'\? .*\(api\.prot\)$/,
    ],
    ['an unknown key without a value', 'api:\n  prot:', /^headgate.yml:2:3: unknown key 'prot'/],
    ['a key far from all others', 'api: { zzz: 1 }', /unknown key 'zzz'\. Allowed: host, port/],
    [
      'a text for a number',
      'api: { port: nine }',
      /^headgate.yml:1:14: must be a number, not 'nine' \(api\.port\)$/,
    ],
    ['a fraction', 'api: { port: 1.5 }', /must be a whole number, not 1\.5 \(api\.port\)$/],
    ['a port that is too large', 'api: { port: 70000 }', /must be at most 65535, not 70000 \(api\.port\)$/],
    ['a lifetime of nothing', 'api: { authTokenTTL: 0 }', /must be at least 1, not 0 \(api\.authTokenTTL\)$/],
    ['a section that is a text', 'api: on', /^headgate.yml:1:6: must be a map, not 'on' \(api\)$/],
    [
      'a rate without unit',
      'api: { loginRateLimit: "2" }',
      /must be a rate such as 2\/second.*, not '2' \(api\.loginRateLimit\)$/,
    ],
    [
      'versions of TLS the wrong way round',
      'api: { tls: { certPath: a, privKeyPath: b, minVersion: TLSv1.3, maxVersion: TLSv1.2 } }',
      /must not be newer than maxVersion; found 'TLSv1\.3' \(api\.tls\.minVersion\)$/,
    ],
    [
      'a version of TLS that nobody should speak',
      'api: { tls: { certPath: a, privKeyPath: b, minVersion: TLSv1.1 } }',
      /must be one of TLSv1\.2, TLSv1\.3, not 'TLSv1\.1'; did you mean 'TLSv1\.2'\? \(api\.tls\.minVersion\)$/,
    ],
    [
      'certificates of clients without whoever signs them',
      'api: { tls: { certPath: a, privKeyPath: b, requestCert: true } }',
      /needs 'caPath', the certificates that sign those of clients; found true/,
    ],
    ['a certificate without its key', 'api: { tls: { certPath: a } }', /'privKeyPath' is required/],
    [
      'an issuer that anybody could speak for',
      'auth: { openid: { issuer: "http://idp.example", client_id: a } }',
      /must begin with https:\/\/; http:\/\/ is for a provider on this machine only/,
    ],
    ['an empty host', 'api: { host: "" }', /must not be empty \(api\.host\)$/],
    [
      'another store',
      'storage: { url: "mysql://x" }',
      /must be sqlite: and the name of a file that ends with .db, or postgres:\/\/\S+, not 'mysql:\/\/x'/,
    ],
    [
      'another store with a password',
      'storage: { url: "mysql://root:hunter2@db/x" }',
      /postgres:\/\/\S+, not '\*{8}' \(storage\.url\)$/,
    ],
    [
      'a database without a name',
      'storage: { url: "postgres://root@db" }',
      /must name one database, as in postgres:\/\/host\/headgate/,
    ],
    [
      'a second password for a database',
      'storage: { url: "postgres://root@db/x?password=hunter2" }',
      /must not have the option 'password'; allowed are .*sslmode/,
    ],
    [
      'a database whose encryption may be left out',
      'storage: { url: "postgres://root@db/x?sslmode=prefer" }',
      /^headgate.yml:1:17: must not have sslmode=prefer.*write one of disable, require, verify-ca, verify-full/,
    ],
    [
      'an address that is none',
      'delivery: { allowedAddresses: [10.0.0.0/8, ten] }',
      /must be an address or a range such as 10\.0\.0\.0\/8, not 'ten' \(delivery\.allowedAddresses\[1\]\)$/,
    ],
    [
      'a number for a duration',
      'delivery: { retrySchedule: [5] }',
      /must be a duration such as 30s, 5m or 1h30m, not the number 5 \(delivery\.retrySchedule\[0\]\)$/,
    ],
    ['an empty schedule', 'delivery: { retrySchedule: [] }', /must have at least 1 items/],
    [
      'an unknown value',
      'delivery: { privateAddresses: alow }',
      /must be one of allow, refuse, not 'alow'; did you mean 'allow'\?/,
    ],
    [
      'a pipeline without engine',
      'pipelines: [{ id: a }]',
      /^headgate.yml:1:13: 'engine' is required.* \(pipelines\[0\]\.engine\)$/,
    ],
    [
      'an unknown engine',
      'pipelines: [{ id: a, engine: vectr }]',
      /must be one of vector, .*, not 'vectr'; did you mean 'vector'\? \(pipelines\[0\]\.engine\)$/,
    ],
    [
      'an unknown key of an engine',
      'pipelines: [{ id: a, engine: vector, url: "http://h/", intervall: 1s }]',
      /unknown key 'intervall'; did you mean 'interval'\? Allowed: .*timeout/,
    ],
    [
      'an empty item',
      'pipelines:\n  - { id: a, engine: vector, url: "http://h/" }\n  -\n',
      /^headgate.yml:3:3: must be a map, but nothing is given \(pipelines\[1\]\)$/,
    ],
    [
      'a duplicate key',
      'api: { port: 1 }\napi: { port: 2 }',
      /^headgate.yml:2:1: the key 'api' stands twice/,
    ],
  ])('is refused with %s', (_, settings, expected) => {
    const found = errorsOf({ settings });
    expect(found).toEqual([expect.stringMatching(expected)]);
  });

  it.each([
    ['0.0.0.0', true],
    ['10.0.0.5', true],
    ['headgate.example', true],
    ['127.0.0.1', false],
    ['::1', false],
    ['localhost', false],
  ])('warns of passwords in clear when it listens on %s without TLS: %s', (host, isTold) => {
    const told = warningsOf({ settings: `api: { host: "${host}" }` });
    const line = 'headgate.yml:1:14: passwords and tokens come over the network in clear; set api.tls';
    expect(told).toEqual(isTold ? [expect.stringContaining(line)] : []);
    const tls = 'tls: { certPath: a, privKeyPath: b }';
    const proxies = 'trustedProxies: [10.0.0.1]';
    for (const either of [tls, proxies])
      expect(warningsOf({ settings: `api: { host: "${host}", ${either} }` })).toEqual([]);
  });

  it('warns of a pipeline and of a provider at an address that nothing may be asked at', () => {
    const issuer = 'auth: { openid: { issuer: "https://169.254.169.254", client_id: a } }\n';
    expect(warningsOf({ settings: `${issuer}${PULL}` })).toEqual([
      expect.stringMatching(
        /^headgate\.yml:1:\d+: 169\.254\.169\.254 is a link-local .*\(auth\.openid\.issuer\)$/,
      ),
    ]);
    expect(warningsOf({ settings: `${PULL}delivery: { privateAddresses: refuse }` })).toEqual([
      expect.stringMatching(/127\.0\.0\.1 is an address that is not public.*\(pipelines\[0\]\.url\)$/),
    ]);
  });

  it('says at once all that a provider lacks', () => {
    expect(errorsOf({ settings: 'auth: { type: openid }' })).toEqual([
      "headgate.yml:1:15: for the type 'openid' 'auth.openid' is required (auth.type)",
      expect.stringContaining("'instance.externalUrl' is required, as the provider sends people back there"),
    ]);
    const found = errorsOf({ settings: 'auth: { type: openid, openid: { issuer: "https://idp.example" } }' });
    expect(found).toEqual([
      expect.stringContaining("'instance.externalUrl' is required"),
      expect.stringContaining("'client_id' is required"),
    ]);
  });

  it.each(['sub', '$.groups', 'realm_access..roles', 'groups[0]'])(
    'warns of the claim %s, in which no groups can come',
    groupField => {
      const openid = `{ issuer: "https://idp.example", client_id: a, groupField: "${groupField}" }`;
      const settings = `instance: { externalUrl: "https://h.example" }\nauth: { type: openid, openid: ${openid} }`;
      expect(warningsOf({ settings })).toContainEqual(
        expect.stringMatching(/no user has groups.*\(auth\.openid\.groupField\)$/),
      );
    },
  );

  it('has the provider of a hosted installation lead to its login service, and asks for addresses', () => {
    const openid = 'issuer: "https://idp.example", client_id: a';
    const hosted = 'hosted: { cloudDomain: c.example, authUrl: "https://l.example", audience: [a] }';
    const settings = (more: string) => `auth: { type: openid, openid: { ${openid}${more} } }\n${hosted}`;
    expect(errorsOf({ settings: settings('') })).toEqual([]);
    expect(warningsOf({ settings: settings('') })).toEqual([]);
    expect(warningsOf({ settings: settings(', scope: openid') })).toEqual([
      expect.stringMatching(/members are found by .*add 'email'.*\(auth\.openid\.scope\)$/),
    ]);
  });

  it('shows no password of an address', () => {
    const found = errorsOf({ settings: 'instance: { externalUrl: "https://me:hunter2@h/" }' });
    expect(found.join()).toContain('must not hold a user name or password');
    expect(found.join()).not.toContain('hunter2');
  });

  it('names both pipelines of a duplicate id, and of a token that two senders share', () => {
    const push = (id: string, token: string) =>
      `  - { id: ${id}, engine: rsyslog, push: true, token: '${token}' }\n`;
    const settings = `pipelines:\n${push('a', 'long enough')}${push('a', 'another one')}${push('b', 'long enough')}`;
    expect(errorsOf({ settings })).toEqual([
      "headgate.yml:3:11: the id 'a' is already that of pipelines[0], line 2; ids are unique (pipelines[1].id)",
      'headgate.yml:4:50: this is also the token of pipelines[0]; each pipeline that pushes needs its own (pipelines[2].token)',
    ]);
  });
});

describe('notifications.yml', () => {
  it.each([
    [
      'an unknown section',
      'target: []',
      /^notifications.yml:1:1: unknown key 'target'; did you mean 'targets'\? Allowed: targets, notifications, inhibitions \(target\)$/,
    ],
    [
      'a section that is a text',
      'targets: all',
      /^notifications.yml:1:10: must be a list of items, or a map of them by id, not 'all' \(targets\)$/,
    ],
    [
      'an empty list item',
      'targets:\n  - { id: a, type: bulletin_message }\n  -\n',
      /^notifications.yml:3:3: this item is empty; write its settings or remove it \(targets\[1\]\)$/,
    ],
    ['a null list item', 'targets: [~]', /^notifications.yml:1:11: this item is empty/],
    [
      'an empty map item',
      'targets:\n  hook:\n',
      /^notifications.yml:2:3: this item is empty; .*\(targets\.hook\)$/,
    ],
    [
      'an item that is a text',
      'notifications: [x]',
      /^notifications.yml:1:17: must be a map of settings, not 'x' \(notifications\[0\]\)$/,
    ],
    ['a target without type', 'targets: [{ id: a }]', /'type' is required: one of webhook, /],
    [
      'an unknown type',
      'targets: [{ id: a, type: webhok }]',
      /must be one of webhook, .*, not 'webhok'; did you mean 'webhook'\?/,
    ],
    ['a type that is no text', 'targets: [{ id: a, type: 3 }]', /must be one of webhook, .*, not 3/],
    [
      'a target without id',
      'targets: [{ type: bulletin_message }]',
      /^notifications.yml:1:11: 'id' is required \(targets\[0\]\.id\)$/,
    ],
    [
      'an id of other characters',
      'targets: [{ id: "a b", type: bulletin_message }]',
      /^notifications.yml:1:17: must be 1 to 512 letters.*'a b'/,
    ],
    [
      'an id that is a number',
      'targets: [{ id: 7, type: bulletin_message }]',
      /must be a text, not the number 7; put it in quotes/,
    ],
    [
      'a key of another type',
      'targets: [{ id: a, type: bulletin_message, url: "http://h/" }]',
      /unknown key 'url'\. Allowed: id, /,
    ],
    [
      'an id beside another key',
      'targets:\n  a: { id: b, type: bulletin_message }',
      /^notifications.yml:2:12: 'id' must be left out or equal its key 'a' \(targets\.a\.id\)$/,
    ],
    [
      'a duplicate id',
      'targets:\n  - { id: a, type: bulletin_message }\n  - { id: a, type: bulletin_message }',
      /^notifications.yml:3:11: the id 'a' is already that of targets\[0\], line 2; ids are unique \(targets\[1\]\.id\)$/,
    ],
    [
      'a duplicate key',
      'targets:\n  a: { type: bulletin_message }\n  a: { type: bulletin_message }',
      /^notifications.yml:3:3: the key 'a' stands twice/,
    ],
    [
      'an unknown condition',
      'notifications: [{ id: a, condition: nodata, conf: { name: x } }]',
      /must be .*no-data.*, not 'nodata'; did you mean 'no-data'\?/,
    ],
    [
      'a conf without what it needs',
      'notifications:\n  - id: a\n    condition: no-data\n    conf:\n      timeWindow: 90s',
      /^notifications.yml:4:5: 'name' is required \(notifications\[0\]\.conf\.name\)$/,
    ],
    [
      'no conf at all',
      'notifications: [{ id: a, condition: no-data }]',
      /'name' is required \(notifications\[0\]\.conf\.name\)$/,
    ],
    [
      'an unknown key in conf',
      'notifications: [{ id: a, condition: no-data, conf: { name: x, timeWindw: 90s } }]',
      /unknown key 'timeWindw'; did you mean 'timeWindow'\? Allowed: name, timeWindow/,
    ],
    [
      'a number for a duration',
      'notifications: [{ id: a, condition: no-data, conf: { name: x, timeWindow: 60 } }]',
      /must be a duration such as 30s, 5m or 1h30m, not the number 60/,
    ],
    [
      'a target that does not exist',
      `${HOOK}notifications: [{ id: a, condition: no-data, targets: [hok], conf: { name: x } }]`,
      /^notifications.yml:2:56: target 'hok' does not exist; did you mean 'hook'\? \(notifications\[0\]\.targets\[0\]\)$/,
    ],
  ])('is refused with %s', (_, notifications, expected) => {
    expect(errorsOf({ notifications })).toEqual([expect.stringMatching(expected)]);
  });

  it('counts a target that is wrong by its id, and reports every error of all files at once, in order', () => {
    const found = errorsOf({
      settings: 'api: { prot: 1 }\nstorage: { url: 5 }',
      notifications: [
        'targets:',
        '  - { id: hook, type: webhook }',
        'notifications:',
        '  - { id: a, condition: no-data, targets: [hook, other], fro: 1s, conf: {} }',
        '  - { id: b, condition: no-data, targets: [missing], conf: { name: x } }',
      ].join('\n'),
    });
    expect(found.map(line => line.replace(/: .*\(/, ' ('))).toEqual([
      'headgate.yml:1:8 (api.prot)',
      'headgate.yml:2:17 (storage.url)',
      'notifications.yml:2:5 (targets[0].url)',
      'notifications.yml:4:50 (notifications[0].targets[1])',
      'notifications.yml:4:58 (notifications[0].fro)',
      'notifications.yml:4:67 (notifications[0].conf.name)',
      'notifications.yml:5:44 (notifications[1].targets[0])',
    ]);
  });

  it('reports no missing targets when their list cannot be read', () => {
    const notifications =
      'targets: all\nnotifications: [{ id: a, condition: no-data, targets: [x], conf: { name: x } }]';
    expect(errorsOf({ notifications })).toHaveLength(1);
  });

  it('lists the first 200 problems and says how many more there are', () => {
    const notifications = `notifications: [${'x, '.repeat(1500)}]`;
    const found = errorsOf({ notifications });
    expect(found).toHaveLength(201);
    expect(found[199]).toMatch(/\(notifications\[199\]\)$/);
    expect(found.at(-1)).toContain('1300 more problems are not listed');
  });
});
