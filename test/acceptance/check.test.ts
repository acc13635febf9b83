import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import * as z from 'zod';
import { headgate, installation, writeFileText } from './harness.ts';

const SETTINGS = `instance:
  nam: edge
api:
  port: "9000"
  authTokenTTL: 0
  loginRateLimit: 2/fortnight
pipelines:
  - id: edge
    engine: vectr
    url: http://127.0.0.1:9598/metrics
  - id: same
    engine: vector
    url: ftp://example.com/metrics
    interval: 10
  - id: same
    engine: rsyslog
    push: true
    token: zu-kurz
  -
delivery:
  privateAddresses: maybe
  allowedAddresses: [10.0.0.0/99]
  retrySchedule: []
`;

const NOTIFICATIONS = `targets:
  - id: hook
    type: webhook
    url: http://127.0.0.1:1/
    authType: token
  - id: hook
    type: webhok
  - id: b ad
    type: bulletin_message
  -
  - id: log
    type: notifications_log
    logsDir: ../up
  - id: other
    type: webhook
    url: http://127.0.0.1:1/
    authType: token
    token: \${env:HEADGATE_TEST_IS_NOT_SET}
notifications:
  - id: one
    condition: no-data
    targets: [hock, log]
    conf: { name: 'syslog:app', timeWindow: 20s, dataVolume: 1GB }
  - id: one
    condition: no-dta
  - { id: two, condition: no-data, disabled: "yes", conf: { timeWindow: 1m } }
extra: 1
`;

/** Place, path, and what the message must say. */
const EXPECTED: readonly (readonly [string, string, RegExp])[] = [
  ['headgate.yml:2:3', 'instance.nam', /unknown key 'nam'; did you mean 'name'/],
  ['headgate.yml:4:9', 'api.port', /must be a number, not '9000'/],
  ['headgate.yml:5:17', 'api.authTokenTTL', /must be at least 1, not 0/],
  ['headgate.yml:6:19', 'api.loginRateLimit', /must be a rate such as 2\/second.* not '2\/fortnight'/],
  ['headgate.yml:9:13', 'pipelines[0].engine', /must be one of vector, .* did you mean 'vector'/],
  ['headgate.yml:13:10', 'pipelines[1].url', /begins with http:\/\/ or https:\/\/, not 'ftp:/],
  ['headgate.yml:14:15', 'pipelines[1].interval', /must be a duration such as 30s/],
  ['headgate.yml:15:9', 'pipelines[2].id', /'same' is already that of pipelines\[1\], line 11/],
  ['headgate.yml:18:12', 'pipelines[2].token', /must be at least 8 characters, not '\*{8}'/],
  ['headgate.yml:19:3', 'pipelines[3]', /nothing is given/],
  ['headgate.yml:21:21', 'delivery.privateAddresses', /must be one of allow, refuse, not 'maybe'/],
  ['headgate.yml:22:22', 'delivery.allowedAddresses[0]', /must be an address or a range/],
  ['headgate.yml:23:3', 'delivery.retrySchedule', /at least 1 item/],
  ['notifications.yml:2:5', 'targets[0].token', /is required with authType 'token'/],
  ['notifications.yml:6:9', 'targets[1].id', /'hook' is already that of targets\[0\], line 2/],
  ['notifications.yml:7:11', 'targets[1].type', /must be one of webhook, .* did you mean 'webhook'/],
  ['notifications.yml:8:9', 'targets[2].id', /letters, digits, "_" or "-", not 'b ad'/],
  ['notifications.yml:10:3', 'targets[3]', /this item is empty/],
  ['notifications.yml:13:14', 'targets[4].logsDir', /relative path .* without ".."/],
  ['notifications.yml:18:12', 'targets[5].token', /\$\{env:HEADGATE_TEST_IS_NOT_SET\} is not set/],
  ['notifications.yml:22:15', 'notifications[0].targets[0]', /'hock' does not exist; did you mean 'hook'/],
  ['notifications.yml:23:50', 'notifications[0].conf.dataVolume', /unknown key 'dataVolume'/],
  ['notifications.yml:24:9', 'notifications[1].id', /'one' is already that of notifications\[0\], line 20/],
  ['notifications.yml:25:16', 'notifications[1].condition', /did you mean 'no-data'/],
  ['notifications.yml:26:46', 'notifications[2].disabled', /must be true or false, not 'yes'/],
  ['notifications.yml:26:53', 'notifications[2].conf.name', /'name' is required/],
  ['notifications.yml:27:1', 'extra', /unknown key 'extra'/],
];

const LINE = /^error: (?<place>\S+?:\d+:\d+): (?<message>.*) \((?<path>[^()\s]*)\)$/;

function broken(): string {
  const { config } = installation({ settings: {}, notifications: {} });
  writeFileText(config, 'headgate.yml', SETTINGS);
  writeFileText(config, 'notifications.yml', NOTIFICATIONS);
  return config;
}

it('names every error of both files at once with file, line, column and path', async () => {
  const config = broken();
  const { code, stdout } = await headgate(['check', '--config', config]);
  expect(code).toBe(3);
  const found = stdout.split('\n').flatMap(line => {
    const groups = LINE.exec(line)?.groups;
    return groups === undefined ? [] : [[groups.place, groups.path, groups.message]];
  });
  expect(found).toEqual(
    EXPECTED.map(([place, path, message]) => [join(config, place), path, expect.stringMatching(message)]),
  );
  expect(stdout).toMatch(/^27 errors, /m);
  expect(stdout).not.toContain('zu-kurz');
});

const jsonAnswer = z.object({
  ok: z.boolean(),
  errors: z.array(z.object({ file: z.string(), line: z.number(), column: z.number(), path: z.string() })),
});

it('tells programs the same as JSON', async () => {
  const config = broken();
  const { code, stdout } = await headgate(['check', '--json', '--config', config]);
  expect(code).toBe(3);
  const { ok, errors } = jsonAnswer.parse(JSON.parse(stdout));
  expect(ok).toBe(false);
  expect(errors.map(({ file, line, column, path }) => [`${file}:${line}:${column}`, path])).toEqual(
    EXPECTED.map(([place, path]) => [join(config, place), path]),
  );
});

it('refuses to serve them, with the same errors and exit code 3, and makes no data folder', async () => {
  const config = broken();
  const data = join(config, 'data');
  const { code, stdout, stderr } = await headgate(['serve', '--config', config, '--data', data]);
  expect(existsSync(data)).toBe(false);
  expect([code, stdout]).toEqual([3, '']);
  const places = stderr.split('\n').map(line => /^\S+?:\d+:\d+(?=: )/.exec(line)?.[0]);
  expect(places.filter(place => place !== undefined)).toEqual(EXPECTED.map(([place]) => join(config, place)));
  expect(stderr).not.toContain('zu-kurz');
});

const bomb = Array.from({ length: 12 }, (_, level) =>
  level === 0
    ? 'a0: &a0 [x, x, x, x, x, x, x, x, x, x]'
    : `a${level}: &a${level} [${Array(10)
        .fill(`*a${level - 1}`)
        .join(', ')}]`,
).join('\n');

it.each<readonly [string, (path: string) => void, RegExp]>([
  ['broken YAML', path => writeFileSync(path, 'api:\n  port: [1,\n'), /:3:1: YAML: /],
  ['an alias bomb', path => writeFileSync(path, bomb), /:\d+:\d+: holds too many values/],
  ['50 MB', path => writeFileSync(path, Buffer.alloc(50_000_000, '# x\n')), /:1:1: is too large: 47\.7 MiB/],
  [
    'bytes that are no text',
    path => writeFileSync(path, 'a: 1\nb: \xff\xfe', 'latin1'),
    /:2:1: is not UTF-8/,
  ],
  ['a folder in its place', path => mkdirSync(path), /:1:1: is a folder/],
  ['a list at its top', path => writeFileSync(path, '- a\n'), /:1:1: must be a map of settings, not a list/],
  ['a tag', path => writeFileSync(path, 'api: !!js/function x\n'), /:1:6: tags are not supported/],
  ['two documents', path => writeFileSync(path, 'api: {}\n---\napi: {}\n'), /:3:1: a second document/],
  ['a key twice', path => writeFileSync(path, 'api: {}\napi: {}\n'), /:2:1: the key 'api' stands twice/],
])('refuses a file of %s in one clear line', async (_, write, message) => {
  const { config } = installation({ notifications: {} });
  const file = join(config, 'headgate.yml');
  write(file);
  const { code, stdout } = await headgate(['check', '--config', config]);
  expect(code).toBe(3);
  const [first, ...others] = stdout.trimEnd().split('\n');
  expect(first).toMatch(message);
  expect(first?.startsWith(`error: ${file}:`)).toBe(true);
  expect(others).toEqual(['1 error, 0 warnings']);
});

it('accepts what is valid and prints the effective configuration with secrets masked', async () => {
  const { config } = installation({
    settings: { pipelines: [{ id: 'edge', engine: 'rsyslog', push: true, token: '${env:EDGE_TOKEN}' }] },
    notifications: { targets: [{ id: 'bell', type: 'bulletin_message' }] },
  });
  const environment = { EDGE_TOKEN: 'a token nobody may see' };
  const check = await headgate(['check', '--config', config], environment);
  expect([check.code, check.stdout]).toEqual([0, 'ok: 1 pipeline, 1 target, 0 notifications, 0 warnings\n']);
  const effective = await headgate(['check', '--effective', '--config', config], environment);
  expect(effective.code).toBe(0);
  expect(effective.stdout).toContain('authTokenTTL: 3600');
  expect(effective.stdout + effective.stderr).not.toContain('a token nobody may see');
});

it.each([
  [{}, ['--port', 'abc'], 3, /^flags: must be a number, not 'abc' \(--port\)$/m],
  [
    { HEADGATE_API_PORT: '99999' },
    [],
    3,
    /^environment: must be at most 65535, not 99999 \(HEADGATE_API_PORT\)$/m,
  ],
  [{ HEADGATE_LOG_LEVEL: 'loud' }, [], 2, /^HEADGATE_LOG_LEVEL must be one of /m],
])(
  'refuses %j %j with exit code %i and names the door it came through',
  async (environment, flags, exit, message) => {
    const { config, data } = installation({ settings: {}, notifications: {} });
    const { code, stderr } = await headgate(
      ['serve', '--config', config, '--data', data, ...flags],
      environment,
    );
    expect([code, stderr]).toEqual([exit, expect.stringMatching(message)]);
  },
);

it.each([
  [['check', '--confg', 'x'], /unknown option '--confg'/],
  [['nonsense'], /unknown command 'nonsense'/],
  [['serve', '--port'], /argument missing/],
])('answers the mistaken call %j with exit code 2', async (args, message) => {
  const { code, stdout, stderr } = await headgate(args);
  expect([code, stdout]).toEqual([2, '']);
  expect(stderr).toMatch(message);
});

it('has help for every command', async () => {
  for (const command of ['serve', 'demo', 'check', 'version']) {
    const { code, stdout } = await headgate([command, '--help']);
    expect([code, stdout]).toEqual([0, expect.stringContaining(`Usage: headgate ${command}`)]);
  }
});
