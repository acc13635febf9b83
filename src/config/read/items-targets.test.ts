import { describe, expect, test } from 'vitest';
import { errorsOf, warningsOf } from '../../../test/helpers/config-folder.ts';
import { findTargetType } from '../../targets/index.ts';

/** A valid target of each type, without what is optional. */
const VALID = {
  webhook: { url: 'https://hooks.example/x' },
  slack: { slackUrl: 'https://hooks.slack.com/services/T0/B0/key' },
  pager_duty: { routingKey: '0123456789abcdef0123456789abcdef', severity: 'error' },
  sns: {
    region: 'eu-west-1',
    destinationType: 'topic',
    topicArn: 'arn:aws:sns:eu-west-1:123456789012:alarms',
    messageGroupId: '',
  },
  smtp: {
    host: 'mail.example',
    port: 587,
    smtpUsername: 'u',
    smtpPassword: 'p',
    from: 'headgate@shop.example',
  },
  router: { routes: [{ filter: "severity === 'error'", output: 'other' }] },
  bulletin_message: {},
  notifications_log: {},
  default: { defaultId: 'other' },
} as const;
type TypeName = keyof typeof VALID;

const OTHER = { id: 'other', type: 'notifications_log' };

/** What a file that holds this target beside another is refused for; the place is left out. */
function refusals(type: TypeName, change: object): string[] {
  const target = { id: 't', type, ...VALID[type], ...change };
  return errorsOf({ notifications: JSON.stringify({ targets: [target, OTHER] }) }).map(line =>
    line.replace(/^notifications\.yml:1:\d+: /, ''),
  );
}

function settingsOf(type: TypeName, change: object = {}): object {
  const found = findTargetType(type)?.configure({ id: 't', type, ...VALID[type], ...change });
  return JSON.parse(JSON.stringify(found?.settings));
}

const without = (type: TypeName, key: string): object =>
  Object.fromEntries(Object.entries(VALID[type]).filter(([name]) => name !== key));

describe('what a type needs', () => {
  test.each<[TypeName, string]>([
    ['webhook', 'url'],
    ['slack', 'slackUrl'],
    ['pager_duty', 'routingKey'],
    ['pager_duty', 'severity'],
    ['sns', 'region'],
    ['sns', 'destinationType'],
    ['sns', 'topicArn'],
    ['sns', 'messageGroupId'],
    ['smtp', 'host'],
    ['smtp', 'port'],
    ['smtp', 'smtpUsername'],
    ['smtp', 'smtpPassword'],
    ['smtp', 'from'],
    ['router', 'routes'],
    ['default', 'defaultId'],
  ])('a %s target without %s is refused', (type, key) => {
    const target = { id: 't', type, ...without(type, key) };
    const found = errorsOf({ notifications: JSON.stringify({ targets: [target, OTHER] }) });
    expect(found).toEqual([expect.stringContaining(`'${key}' is required`)]);
  });

  test('nothing more is needed', () => {
    for (const type of Object.keys(VALID) as TypeName[])
      expect(settingsOf(type)).toMatchObject({ id: 't', type });
  });
});

describe('values', () => {
  test.each<[TypeName, object, string | RegExp]>([
    ['webhook', { method: 'GET' }, "must be one of POST, PUT, PATCH, not 'GET' (targets[0].method)"],
    ['webhook', { method: 'post' }, /not 'post'; did you mean 'POST'\?/],
    [
      'webhook',
      { format: 'ndjosn' },
      /one of ndjson, json_array, custom, not 'ndjosn'; did you mean 'ndjson'\?/,
    ],
    ['webhook', { concurrency: 33 }, 'must be at most 32, not 33 (targets[0].concurrency)'],
    ['webhook', { timeoutSec: 0 }, 'must be at least 1, not 0 (targets[0].timeoutSec)'],
    ['webhook', { timeoutSec: 61 }, 'must be at most 60, not 61 (targets[0].timeoutSec)'],
    ['webhook', { maxPayloadSizeKB: 1023 }, 'must be at least 1024, not 1023 (targets[0].maxPayloadSizeKB)'],
    ['webhook', { maxPayloadEvents: -1 }, 'must be at least 0, not -1 (targets[0].maxPayloadEvents)'],
    ['webhook', { flushPeriodSec: 0 }, 'must be more than 0, not 0 (targets[0].flushPeriodSec)'],
    ['webhook', { compress: 'yes' }, "must be true or false, not 'yes' (targets[0].compress)"],
    ['webhook', { failedRequestLoggingMode: 'all' }, /one of none, payload, payloadAndHeaders, not 'all'/],
    ['webhook', { customContentType: 'text/plain\r\nx: y' }, /must be a media type such as text\/plain, not/],
    [
      'webhook',
      { pacing: 5 },
      /must be a rate such as 2\/second.*, not the number 5 \(targets\[0\]\.pacing\)$/,
    ],
    ['webhook', { onBackpressure: 'queu' }, /one of queue, block, drop, not 'queu'; did you mean 'queue'\?/],
    [
      'webhook',
      { signingSecret: 'whsec_c2hvcnQ=' },
      /24 to 64 random bytes as base64 behind "whsec_".*'\*{8}'/,
    ],
    [
      'webhook',
      { responseRetrySettings: [{ httpStatus: 99 }] },
      /must be at least 100, not 99 .*httpStatus\)$/,
    ],
    [
      'webhook',
      { responseRetrySettings: [{ httpStatus: 503 }, { httpStatus: 503 }] },
      /must be listed once; an earlier entry has it too.*\[1\]\.httpStatus\)$/,
    ],
    ['webhook', { timeoutRetrySettings: { timeoutRetry: true, backoffRate: 21 } }, /at most 20, not 21/],
    ['webhook', { timeoutRetrySettings: { maxBackoff: 5 } }, /must be at least 10000, not 5/],
    ['webhook', { urll: 'x' }, /unknown key 'urll'; did you mean 'url'\? Allowed: id, description/],
    ['slack', { slackUrl: 'hooks.slack.com/x' }, /must begin|begins with http/],
    ['slack', { token: 'x' }, /unknown key 'token'/],
    [
      'pager_duty',
      { severity: 'high' },
      /one of info, warning, error, critical, warn, not 'high' \(targets\[0\]\.severity\)$/,
    ],
    ['pager_duty', { routingKey: 'a b' }, /1 to 255 visible ASCII characters.*'\*{8}'/],
    ['pager_duty', { group: '' }, 'must not be empty (targets[0].group)'],
    ['sns', { region: 'eu-west-1.evil.example/' }, /must be a region such as 'eu-central-1', not/],
    ['sns', { signatureVersion: 'v2' }, /must be v4: AWS has replaced version 2 .*signatureVersion\)$/],
    ['sns', { topicArn: 'my topic' }, /^at character 4: .*; a text stands in quotes of its own/],
    ['sns', { messageGroupId: 'a b', topicType: 'fifo', topicArn: 'topic' }, /; a text stands in quotes/],
    ['sns', { destinationType: 'sms' }, /must be one of topic, phoneNumber, not 'sms'/],
    ['sns', { topicArn: '' }, "must not be '' with destinationType 'topic'; found '' (targets[0].topicArn)"],
    [
      'sns',
      { topicType: 'fifo', messageGroupId: 'g' },
      /does not end with \.fifo; set topicType to 'standard'/,
    ],
    ['sns', { topicArn: 'arn:aws:sns:eu-west-1:1:a.fifo' }, /ends with \.fifo; set topicType to 'fifo'/],
    [
      'sns',
      { topicType: 'fifo', topicArn: 'arn:aws:sns:eu-west-1:1:a.fifo' },
      "must not be '' with topicType 'fifo'; found '' (targets[0].messageGroupId)",
    ],
    [
      'sns',
      { allowList: ['+1555', '555'] },
      /must be a phone number such as .*'555' \(targets\[0\]\.allowList\[1\]\)$/,
    ],
    ['sns', { phoneNumber: '0555 123' }, /must be phone numbers such as/],
    [
      'sns',
      { destinationType: 'phoneNumber', topicArn: '', phoneNumber: '+15555550000', allowList: ['+1666*'] },
      /\+15555550000 is not in allowList/,
    ],
    [
      'sns',
      { awsAuthenticationMethod: 'secret' },
      "is required with awsAuthenticationMethod 'secret' (targets[0].awsSecret)",
    ],
    [
      'sns',
      { awsSecret: 'pair' },
      /is not used with awsAuthenticationMethod 'auto'; remove it or set that to 'secret'/,
    ],
    [
      'sns',
      { awsAuthenticationMethod: 'manual', awsApiKey: 'A' },
      /required beside the other key.*awsSecretKey\)$/,
    ],
    ['sns', { enableAssumeRole: true }, 'is required with enableAssumeRole (targets[0].assumeRoleArn)'],
    ['sns', { assumeRoleArn: 'role/of-somebody-else' }, /must begin with 'arn:'/],
    ['sns', { durationSeconds: 899 }, 'must be at least 900, not 899 (targets[0].durationSeconds)'],
    [
      'smtp',
      { host: 'mail.example:25' },
      /must be a host name or an address, without port, not 'mail\.example:25'/,
    ],
    ['smtp', { host: 'smtp://mail' }, /must be a host name or an address/],
    ['smtp', { port: '587' }, "must be a number, not '587' (targets[0].port)"],
    ['smtp', { port: 65_536 }, 'must be at most 65535, not 65536 (targets[0].port)'],
    [
      'smtp',
      { smtpPassword: '' },
      /must not be '' while smtpUsername is given.*\(targets\[0\]\.smtpPassword\)$/,
    ],
    [
      'smtp',
      { smtpUsername: '' },
      /must not be '' while smtpPassword is given.*\(targets\[0\]\.smtpUsername\)$/,
    ],
    ['smtp', { smtpUsername: 'a\r\nb' }, /must hold neither line breaks/],
    [
      'smtp',
      { from: 'nobody' },
      "must be an e-mail address such as 'ops@example.com', not 'nobody' (targets[0].from)",
    ],
    ['smtp', { from: 'a@b.example\r\nBcc: x@y.example' }, /must be an e-mail address/],
    [
      'smtp',
      { encryptionOption: 'tls' },
      /one of STARTTLS, STARTTLS_REQUIRED, TLS, NONE, SSL.*did you mean 'TLS'\?/,
    ],
    ['smtp', { tls: { minVersion: 'TLSv1.3', maxVersion: 'TLSv1.2' } }, /must not be newer than maxVersion/],
    ['smtp', { tls: { minVersion: '1.2' } }, /must be one of TLSv1, /],
    ['router', { routes: [] }, 'must have at least 1 items (targets[0].routes)'],
    [
      'router',
      { routes: [{ filter: '', output: 't' }] },
      /must not be empty \(targets\[0\]\.routes\[0\]\.filter\)$/,
    ],
    ['bulletin_message', { message: '${a = b}' }, /at character 3: assignment expression is not allowed/],
    [
      'bulletin_message',
      { severity: 'warning' },
      /one of info, warn, error, fatal, not 'warning'; did you mean 'warn'\?/,
    ],
    ['notifications_log', { logNotifications: 'no' }, /must be true or false/],
    ['notifications_log', { logsDir: '../x' }, /must be a relative path/],
    ['default', { defaultId: 'a b' }, /must be 1 to 512 letters/],
  ])('of a %s target: %j is refused', (type, change, message) => {
    const expected = typeof message === 'string' ? message : expect.stringMatching(message);
    expect(refusals(type, change)).toContainEqual(expected);
  });

  test('a rule between two settings shows although a third is wrong', () => {
    expect(refusals('smtp', { port: 0, smtpPassword: '' })).toHaveLength(2);
    expect(refusals('sns', { topicArn: '', durationSeconds: 1 })).toHaveLength(2);
  });

  test.each<[TypeName, object, object]>([
    ['pager_duty', { severity: 'warn' }, { severity: 'warning' }],
    ['smtp', { encryptionOption: 'SSL' }, { encryptionOption: 'TLS' }],
    ['smtp', { smtpUsername: '', smtpPassword: '' }, { smtpUsername: '' }],
    ['smtp', { from: 'Headgate <headgate@shop.example>' }, { from: 'Headgate <headgate@shop.example>' }],
    ['smtp', { host: '[2001:db8::1]' }, { host: '[2001:db8::1]' }],
    ['smtp', {}, { tls: { rejectUnauthorized: true } }],
    [
      'sns',
      {},
      { topicType: 'standard', awsAuthenticationMethod: 'auto', allowList: [], signatureVersion: 'v4' },
    ],
    ['sns', { topicArn: '`arn:${x}`', topicType: 'fifo', messageGroupId: 'g' }, { topicArn: '`arn:${x}`' }],
    [
      'sns',
      { destinationType: 'phoneNumber', topicArn: '', phoneNumber: '+15555551234', allowList: ['+1555*'] },
      { phoneNumber: '+15555551234' },
    ],
    ['router', {}, { routes: [{ filter: "severity === 'error'", output: 'other', final: true }] }],
    ['slack', {}, { slackUrl: 'https://hooks.slack.com/********', responseHonorRetryAfterHeader: true }],
    ['bulletin_message', {}, { message: '${_raw}', title: 'Notification' }],
    ['notifications_log', {}, { logNotifications: true, logsDir: '' }],
    ['webhook', { pacing: '30/minute' }, { pacing: '30/minute' }],
    [
      'webhook',
      { responseRetrySettings: [{ httpStatus: 503 }] },
      {
        responseRetrySettings: [
          { httpStatus: 503, initialBackoff: 1000, backoffRate: 2, maxBackoff: 10_000 },
        ],
      },
    ],
  ])('of a %s target: %j is read', (type, change, shown) => {
    expect(settingsOf(type, change)).toMatchObject(shown);
  });
});

describe('headers of a webhook', () => {
  const headers = (...list: readonly [string, string][]) => ({
    extraHttpHeaders: list.map(([name, value]) => ({ name, value })),
  });

  test.each([
    'Host',
    'content-length',
    'Transfer-Encoding',
    'Connection',
    'Cookie',
    'Proxy-Authorization',
    'X-Forwarded-For',
    'x-forwarded-anything',
    'Webhook-Id',
  ])('%s cannot be set', name => {
    expect(refusals('webhook', headers([name, 'x']))).toEqual([
      expect.stringMatching(/is a header that cannot be set.*\(targets\[0\]\.extraHttpHeaders\[0\]\.name\)$/),
    ]);
  });

  test.each([
    [headers(['a b', 'x']), /must be the name of a header/],
    [headers(['', 'x']), /must be the name of a header/],
    [headers(['x-a', 'hunter2\r\nx-b: y']), /without line breaks.*'\*{8}'/],
    [headers(['x-a', 'snow☃']), /Latin-1/],
    [headers(['x-a', '1'], ['X-A', '2']), /must be given once; item 0 of the list is the same header/],
    [
      { ...headers(['Authorization', 'x']), authType: 'token', token: 't' },
      /must not be Authorization: authType 'token' sets it/,
    ],
    [{ extraHttpHeaders: [{ value: 'x' }] }, /'name' is required/],
  ])('%j is refused and its value not shown', (change, message) => {
    const found = refusals('webhook', change);
    expect(found).toEqual([expect.stringMatching(message)]);
    expect(found.join()).not.toContain('hunter2');
  });

  test('a scheme that no authType has goes in as a header', () => {
    expect(settingsOf('webhook', headers(['Authorization', 'GenieKey 1-2-3']))).toMatchObject({
      extraHttpHeaders: [{ name: 'Authorization', value: '********' }],
    });
  });
});

describe('other names', () => {
  test.each<[TypeName, string, string, unknown]>([
    ['webhook', 'customSourceExpression', 'srcExpression', '_raw'],
    ['webhook', 'keepAliveTime', 'keepAlive', false],
    ['slack', 'url', 'slackUrl', 'https://hooks.slack.com/********'],
    ['sns', 'allowlist', 'allowList', ['+1*']],
    ['smtp', 'username', 'smtpUsername', 'somebody'],
    ['smtp', 'password', 'smtpPassword', '********'],
    ['router', 'rules', 'routes', [{ filter: 'true', output: 't', final: false }]],
    ['bulletin_message', 'text', 'message', 'so: ${_raw}'],
  ])('a %s target may say %s for %s, and not both', (type, name, key, value) => {
    const plain = { id: 't', type, ...without(type, key) };
    const configured = findTargetType(type)?.configure({ ...plain, [name]: value }).settings;
    const shown = JSON.parse(JSON.stringify(configured));
    expect(shown[key]).toEqual(value);
    expect(shown).not.toHaveProperty(name);
    const both = { ...plain, [key]: value, [name]: value };
    const found = errorsOf({ notifications: JSON.stringify({ targets: [both] }) });
    expect(found).toContainEqual(
      expect.stringContaining(
        `'${name}' is another name of '${key}', which is given as well; keep one of them`,
      ),
    );
  });

  test('what is wrong under another name is shown there, and a secret masked', () => {
    const target = { id: 't', type: 'slack', url: 'hunter2' };
    const found = errorsOf({ notifications: JSON.stringify({ targets: [target] }) });
    expect(found).toEqual([expect.stringMatching(/not '\*{8}' \(targets\[0\]\.url\)$/)]);
  });

  test('a slip is told from another name', () => {
    expect(refusals('router', { rulez: [] })).toEqual([
      expect.stringContaining("unknown key 'rulez'; did you mean 'rules'?"),
    ]);
  });

  test('a secret in clear is warned of under its other name', () => {
    const target = { id: 't', type: 'smtp', ...without('smtp', 'smtpPassword'), password: 'p' };
    expect(warningsOf({ notifications: JSON.stringify({ targets: [target] }) })).toContainEqual(
      expect.stringMatching(/this secret is readable.*\(targets\[0\]\.password\)$/),
    );
  });
});
