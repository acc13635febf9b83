import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { isMap, type PlainMap } from '../../src/config/plain.ts';
import { ADMIN_PASSWORD } from '../acceptance/bin.ts';
import { GOOD_PASSWORD, loginAt } from '../helpers/users.ts';
import { type ApiServer, JSON_BODY, startApiServer } from './api-server.ts';
import { documented, exampleOf, pathWith } from './document.ts';
import { jsonCaller } from './json.ts';

const LOGIN = '/api/v1/auth/login';
const GOOD_LOGIN = JSON.stringify({ username: 'admin', password: ADMIN_PASSWORD });
const TOKEN = 'token-of-a-pipeline';

let server: ApiServer;
let asAdmin: ReturnType<typeof jsonCaller>;

beforeAll(async () => {
  server = await startApiServer({
    settings: {
      api: { loginRateLimit: '1000/second', loginBackOff: { after: 0 } },
      instance: { externalUrl: 'https://headgate.example' },
      pipelines: [{ id: 'edge', engine: 'custom', push: true, token: TOKEN }],
    },
  });
  asAdmin = jsonCaller(server);
});
afterAll(() => server.stop());

async function login(body: string | Buffer, type = 'application/json') {
  const answer = await server.call('POST', LOGIN, { headers: [['content-type', type]], body });
  return { status: answer.status, code: JSON.parse(answer.text).code };
}

describe('the encoding of a body', () => {
  it.each(['utf-16', 'UTF-16LE', 'iso-8859-1', '"utf-16"', 'utf-7', ''])(
    'is refused where it is called %s',
    async charset => {
      const type = `application/json; charset=${charset}`;
      expect(await login(GOOD_LOGIN, type)).toEqual({ status: 415, code: 'unsupported-media-type' });
      const samples = await server.call('POST', '/ingest/samples', {
        headers: [
          ['authorization', `Bearer ${TOKEN}`],
          ['content-type', type],
        ],
        body: '{"samples":[]}',
      });
      expect(samples.status).toBe(415);
    },
  );

  it('is refused where it is packed, and named', async () => {
    const answer = await server.call('POST', LOGIN, {
      headers: [
        ['content-type', 'application/json'],
        ['content-encoding', 'gzip'],
      ],
      body: gzipSync(GOOD_LOGIN),
    });
    expect([answer.status, answer.text]).toEqual([
      415,
      expect.stringContaining("Content-Encoding 'gzip' is not accepted here; send the body as it is"),
    ]);
  });

  it.each(['utf-8', 'UTF-8', '"utf-8"', 'utf8', 'US-ASCII'])(
    'is taken where it is called %s',
    async charset => {
      expect((await login(GOOD_LOGIN, `application/json;charset=${charset}`)).status).toBe(200);
    },
  );

  it('may begin with a byte order mark', async () => {
    expect((await login(`\ufeff${GOOD_LOGIN}`)).status).toBe(200);
    expect((await login(`\ufeff\ufeff${GOOD_LOGIN}`)).status).toBe(400);
  });

  it('is UTF-8 to the last byte: nothing is put in the place of what is none', async () => {
    const [before = '', after = ''] = GOOD_LOGIN.split('admin');
    for (const bytes of [[0xff], [0xc3], [0xed, 0xa0, 0x80], [0xc0, 0x80], [0xf8, 0x88, 0x80, 0x80, 0x80]]) {
      const body = Buffer.concat([Buffer.from(before), Buffer.from(bytes), Buffer.from(after)]);
      expect(await login(body)).toEqual({ status: 400, code: 'invalid-request' });
    }
    expect((await login(Buffer.from(GOOD_LOGIN, 'utf16le'))).status).toBe(400);
  });
});

describe('a name and a password', () => {
  it.each([
    ['half a character in the name', { username: 'admin\ud800', password: ADMIN_PASSWORD }],
    ['half a character in the password', { username: 'admin', password: `${ADMIN_PASSWORD}\udc00` }],
    ['a NUL in the name', { username: 'admin\0', password: ADMIN_PASSWORD }],
    ['a line break in the name', { username: 'admin\r\nx', password: ADMIN_PASSWORD }],
    [
      'a way to a prototype',
      { username: 'admin', constructor: { prototype: { role: 'admin' } }, password: 'x' },
    ],
    ['lists', { username: ['admin'], password: [ADMIN_PASSWORD] }],
    ['operators of a query', { username: { $ne: null }, password: { $gt: '' } }],
  ])('with %s are answered 400', async (_, body) => {
    expect(await login(JSON.stringify(body))).toEqual({ status: 400, code: 'invalid-request' });
    const session = await server.call('POST', '/session/login', {
      headers: [JSON_BODY, ['sec-fetch-site', 'same-origin']],
      body: JSON.stringify(body),
    });
    expect([session.status, session.headers['set-cookie']]).toEqual([400, undefined]);
  });

  it('of which the password is not the very same do not open', async () => {
    for (const password of [
      `${ADMIN_PASSWORD}\0`,
      ` ${ADMIN_PASSWORD}`,
      ADMIN_PASSWORD.toUpperCase(),
      '\0',
      ' ',
    ])
      expect((await login(JSON.stringify({ username: 'admin', password }))).status).toBe(401);
  });
});

describe('a password to be', () => {
  it('of a megabyte or 257 characters is refused before anything is hashed', async () => {
    const cost = async (work: () => Promise<unknown>): Promise<number> => {
      const began = process.cpuUsage();
      for (let round = 0; round < 20; round++) await work();
      const { user, system } = process.cpuUsage(began);
      return user + system;
    };
    const refuse = async (password: string): Promise<void> => {
      const { status, body } = await asAdmin('POST', '/system/users', { username: 'long', password });
      expect([status, body.errors[0].path]).toEqual([400, 'password']);
    };
    const hashed = await cost(() => loginAt(server, 'admin', 'wrong'));
    expect(await cost(() => refuse('\u{1f600}'.repeat(257)))).toBeLessThan(hashed / 2);
    await refuse('x'.repeat(1_000_000));
  });

  it('may be nothing but spaces, and these count', async () => {
    const password = ' '.repeat(15);
    const made = await asAdmin('POST', '/system/users', { username: 'blank', password });
    expect((await loginAt(server, 'blank', password)).status).toBe(made.status === 200 ? 200 : 401);
    expect((await loginAt(server, 'blank', `${password} `)).status).toBe(401);
  });
});

describe('addresses inside', () => {
  it.each([
    'http://169.254.169.254/latest',
    'https://169.254.169.254/',
    'https://[::ffff:169.254.169.254]/',
    'https://0xa9.0xfe.0xa9.0xfe/',
    'https://2852039166/',
    'https://[fd00:ec2::254]/',
    'https://user:pass@hooks.example/',
    'file:///etc/passwd',
    'gopher://hooks.example/',
  ])('are no target, no pipeline and no provider of identities: %s', async url => {
    const target = await asAdmin('POST', '/notification-targets', { id: 'inside', type: 'webhook', url });
    expect([target.status, target.body.errors[0].path]).toEqual([400, 'url']);
    const openid = { issuer: url, client_id: 'c', client_secret: 's', scope: 'openid' };
    for (const [path, change] of [
      ['auth.openid.issuer', { auth: { type: 'openid', openid } }],
      ['pipelines[0].url', { pipelines: [{ id: 'other', engine: 'vector', url }] }],
    ] as const) {
      const { status, body } = await asAdmin('PATCH', '/system/settings/conf', change);
      expect([status, body.errors[0].path]).toEqual([400, path]);
    }
  });
});

const BCC = '\r\nBcc: x@y.example';

describe('a line break', () => {
  const smtp = {
    type: 'smtp',
    host: 'mail.example',
    port: 587,
    from: 'a@b.example',
    smtpUsername: 'u',
    smtpPassword: 'p',
  };
  const hook = { type: 'webhook', url: 'https://hooks.example/' };
  const sns = {
    type: 'sns',
    region: 'eu-west-1',
    destinationType: 'topic',
    topicArn: 'arn:aws:sns:eu-west-1:1:t',
    messageGroupId: '',
  };
  const keys = { awsAuthenticationMethod: 'manual', awsApiKey: 'AKID', awsSecretKey: 'k' };
  it.each([
    ['from', { ...smtp, from: `a@b.example${BCC}` }],
    ['host', { ...smtp, host: `mail.example${BCC}` }],
    ['smtpUsername', { ...smtp, smtpUsername: `u${BCC}` }],
    ['extraHttpHeaders[0].name', { ...hook, extraHttpHeaders: [{ name: `x-a${BCC}`, value: 'b' }] }],
    ['extraHttpHeaders[0].value', { ...hook, extraHttpHeaders: [{ name: 'x-a', value: `b${BCC}` }] }],
    ['customContentType', { ...hook, customContentType: `text/plain${BCC}` }],
    ['method', { ...hook, method: `POST${BCC}` }],
    ['url', { ...hook, url: `https://hooks.example/${BCC}` }],
    ['token', { ...hook, authType: 'token', token: `t${BCC}` }],
    ['username', { ...hook, authType: 'basic', username: `u${BCC}`, password: 'p' }],
    ['password', { ...hook, authType: 'basic', username: 'u', password: `p${BCC}` }],
    ['signingSecret', { ...hook, signingSecret: `whsec_${Buffer.alloc(32).toString('base64')}${BCC}` }],
    ['from', { ...smtp, from: `Ops\r\nBcc: <x@y.example>` }],
    ['from', { ...smtp, from: `"Ops\u2028" <x@y.example> SIZE=1\r\nRCPT TO:<x@y.example>` }],
    ['smtpPassword', { ...smtp, smtpPassword: `p${BCC}` }],
    ['slackUrl', { type: 'slack', slackUrl: `https://hooks.slack.example/services/T0${BCC}` }],
    ['routingKey', { type: 'pager_duty', severity: 'info', routingKey: `k${BCC}` }],
    ['url', { type: 'pager_duty', severity: 'info', routingKey: 'k', url: `https://pd.example/${BCC}` }],
    ['region', { ...sns, region: `eu-west-1${BCC}` }],
    ['phoneNumber', { ...sns, destinationType: 'phoneNumber', phoneNumber: `+15555550001${BCC}` }],
    ['allowList[0]', { ...sns, allowList: [`ops@shop.example${BCC}`] }],
    ['awsApiKey', { ...sns, ...keys, awsApiKey: `AKID${BCC}` }],
    ['awsSecretKey', { ...sns, ...keys, awsSecretKey: `k${BCC}` }],
    ['endpoint', { ...sns, endpoint: `https://sns.example/${BCC}` }],
    ['logsDir', { type: 'notifications_log', logsDir: `a${BCC}` }],
  ])('is refused in what becomes a header or a command: %s', async (path, target) => {
    const { status, body } = await asAdmin('POST', '/notification-targets', { id: 'broken', ...target });
    expect([status, body.errors?.[0]?.path]).toEqual([400, path]);
  });

  it.each([
    [{ to: `ops@shop.example${BCC}` }, 'to'],
    [{ to: 'ops@shop.example\r\nRCPT TO:<x@y.example>' }, 'to'],
    [{ to: `Ops${BCC} <ops@shop.example>` }, 'to'],
    [{ to: '"a\r\n DATA" <ops@shop.example>' }, 'to'],
    [{ to: 'ops@shop.example', cc: `c@shop.example${BCC}` }, 'cc'],
    [{ to: 'ops@shop.example', bcc: 'b@shop.example\0' }, 'bcc'],
    [{ to: 'ops@shop.example\u2028Bcc: x@y.example' }, 'to'],
  ])('is refused in what says whom a mail goes to: %j', async (emailRecipient, key) => {
    const notification = {
      id: 'mails',
      condition: 'monitor-alerts',
      targets: ['mail'],
      conf: {},
      targetConfigs: [{ id: 'mail', conf: { emailRecipient } }],
    };
    await asAdmin('POST', '/notification-targets', { id: 'mail', ...smtp });
    const saved = await asAdmin('POST', '/notifications', notification);
    expect([saved.status, saved.body.errors.map((one: { path: string }) => one.path)]).toEqual([
      400,
      expect.arrayContaining([`targetConfigs[0].conf.emailRecipient.${key}`]),
    ]);
    const tested = await asAdmin('POST', '/notification-targets/mail/test', {
      testEmails: [emailRecipient.to],
    });
    expect(tested.status).toBe(key === 'to' ? 400 : 200);
  });

  it('is refused in the subject of a mail', async () => {
    const conf = { subject: `Alarm${BCC}`, emailRecipient: { to: 'ops@shop.example' } };
    const body = {
      id: 'mails',
      condition: 'monitor-alerts',
      targets: [],
      conf: {},
      targetConfigs: [{ id: 'mail', conf }],
    };
    const { status, body: answer } = await asAdmin('POST', '/notifications', body);
    expect([status, answer.errors[0].path]).toEqual([400, 'targetConfigs[0].conf.subject']);
  });

  it.each(['first', 'last', 'email'])('is refused in what a person is called: %s', async key => {
    const body = { username: 'pat', password: GOOD_PASSWORD, [key]: `a${BCC}` };
    const answer = await asAdmin('POST', '/system/users', body);
    expect(answer.body).toMatchObject({ code: 'invalid-request', errors: [{ path: key }] });
    const own = await asAdmin('PATCH', '/system/users/admin/info', { [key]: `a${BCC}` });
    expect([400, 403]).toContain(own.status);
  });
});

it('what looks like a template is a name like any other', async () => {
  const name = '{{constructor.constructor("return process")()}}${process.env.HOME}';
  const user = {
    username: name,
    first: name,
    last: name,
    password: GOOD_PASSWORD,
    forcePasswordChange: false,
  };
  const made = await asAdmin('POST', '/system/users', user);
  expect(made.body.items[0]).toMatchObject({ username: name.toLowerCase(), first: name, last: name });
  const target = { id: 'named', type: 'bulletin_message', description: name };
  expect((await asAdmin('POST', '/notification-targets', target)).body.items[0].description).toBe(name);
  const { token } = (await loginAt(server, name, GOOD_PASSWORD)).body;
  const who = await server.call('GET', '/api/v1/auth/me', { headers: [['authorization', token]] });
  expect(who.text).toContain(JSON.stringify(name.toLowerCase()).slice(1, -1));
});

const level = (n: number): string =>
  `a${n}: &a${n} [${Array(10)
    .fill(`*a${n - 1}`)
    .join(', ')}]`;
it.each([
  [
    'aliases that stand for a billion values',
    ['a0: &a0 [x, x]', ...Array.from({ length: 9 }, (_, n) => level(n + 1))].join('\n'),
  ],
  ['5000 levels', '['.repeat(5000)],
  ['5000 levels that end', `a: ${'{b: '.repeat(5000)}1${'}'.repeat(5000)}`],
  ['a way to a prototype', 'a: &a { x: 1 }\n__proto__: *a'],
  ['a merge with a prototype', 'a: &a { __proto__: { x: 1 } }\nb: { <<: *a }'],
  ['a tag that makes an object', 'a: !!js/function "function () {}"'],
])('a file that holds %s is refused with its place before it takes anything', async (_, text) => {
  const began = process.cpuUsage();
  const { status, body } = await asAdmin('POST', '/system/config/check', {
    files: { 'notifications.yml': text },
  });
  const { user, system } = process.cpuUsage(began);
  expect(status).toBe(200);
  const [{ ok, errors }] = body.items;
  expect(ok).toBe(false);
  expect(errors[0]).toMatchObject({
    file: expect.stringMatching(/notifications\.yml$/),
    line: expect.any(Number),
  });
  expect((user + system) / 1000).toBeLessThan(CPU_MS);
  expect(Object.getPrototypeOf({})).toBe(Object.prototype);
  expect(Reflect.get({}, 'x')).toBeUndefined();
});

/** Long enough that the square of it takes a second, and short enough that reading it takes a moment. */
const SIZE = 40_000;
/** What makes a pattern that tries again and again take its square or more. */
const LONG = ['a', ' ', '1', '.', '@', '/', ':', '${', 'a.', '\u0300'].map(unit =>
  unit.repeat(SIZE / unit.length),
);
const CPU_MS = 1500;

/** The text behind that at each place in turn, with all others left alone. */
function* withLongText(value: unknown, long: string): Generator<unknown> {
  if (typeof value === 'string') {
    yield `${value}${long}!`;
  } else if (Array.isArray(value)) {
    for (const [index, one] of value.entries())
      for (const changed of withLongText(one, long)) yield value.with(index, changed);
  } else if (isMap(value)) {
    for (const [key, one] of Object.entries(value))
      for (const changed of withLongText(one, long)) yield { ...value, [key]: changed };
  }
}

describe('texts of 40 KB', () => {
  const writing = documented.filter(({ body, access }) => body !== undefined && access !== 'public');

  it.each(writing.map(operation => [operation.id, operation] as const))(
    'are judged by %s in time that grows with them only',
    async (_, operation) => {
      const { path, body } = exampleOf(operation);
      for (const long of LONG)
        for (const changed of withLongText(body, long)) {
          const began = process.cpuUsage();
          const token = operation.access === 'pipeline' ? `Bearer ${TOKEN}` : server.token;
          const answer = await server.call(operation.method, path, {
            headers: [['authorization', token], JSON_BODY],
            body: JSON.stringify(changed),
          });
          const { user, system } = process.cpuUsage(began);
          expect(answer.status).toBeLessThan(500);
          expect((user + system) / 1000).toBeLessThan(CPU_MS);
        }
    },
  );

  it('in a path are no text that anybody searches long', async () => {
    for (const unit of ['a', '%20', '/', '.', '%2e', '-', '%']) {
      const began = process.cpuUsage();
      for (const { method, path, parameters } of documented) {
        const places: PlainMap = Object.fromEntries(
          parameters.map(({ name }) => [name, unit.repeat(8000 / unit.length)]),
        );
        const url = pathWith(
          path,
          Object.fromEntries(Object.entries(places).map(([name, text]) => [name, String(text)])),
        );
        expect((await server.call(method, url)).status).toBeLessThan(500);
      }
      const { user, system } = process.cpuUsage(began);
      expect((user + system) / 1000 / documented.length).toBeLessThan(CPU_MS);
    }
  });
});
