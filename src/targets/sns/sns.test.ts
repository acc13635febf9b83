import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterEach, beforeEach, expect, onTestFinished, test, vi } from 'vitest';
import { alarm, anyEvent } from '../../../test/helpers/any-event.ts';
import { certificateAuthority } from '../../../test/helpers/certificates.ts';
import { testClock } from '../../../test/helpers/clock.ts';
import { rawServer } from '../../../test/helpers/mail-server.ts';
import { noDial } from '../../../test/helpers/no-http.ts';
import { problemOf, snsService } from '../../../test/helpers/sns.ts';
import { until } from '../../../test/helpers/until.ts';
import { withDeliveryHints } from '../../events/delivery-hints.ts';
import type { HeadgateEvent } from '../../events/event.ts';
import { type Clock, systemClock } from '../../lib/clock.ts';
import { createHttpClient, type HttpClient, type HttpRequest } from '../../lib/http/client.ts';
import { HttpFailure } from '../../lib/http/failure.ts';
import type { AddressPolicy } from '../../lib/http/guard.ts';
import type { Outcome } from '../outcome.ts';
import { shortText, snsMessage } from './message.ts';
import { sns } from './sns.ts';

const TOPIC = 'arn:aws:sns:eu-west-1:123456789012:alerts';
const KEY_ID = 'AKIDEXAMPLE0000001';
const SECRET = 'the-secret-key';
const ROLE = 'arn:aws:iam::123456789012:role/headgate';

// Settings of AWS on this machine must not count.
beforeEach(() => {
  vi.stubEnv('AWS_CONFIG_FILE', '/nowhere');
  vi.stubEnv('AWS_SHARED_CREDENTIALS_FILE', '/nowhere');
  vi.stubEnv('AWS_EC2_METADATA_DISABLED', 'true');
  vi.stubEnv('AWS_ACCESS_KEY_ID', undefined);
  vi.stubEnv('AWS_SECRET_ACCESS_KEY', undefined);
});
afterEach(() => vi.unstubAllEnvs());

interface Sending {
  readonly http?: HttpClient;
  readonly events?: readonly HeadgateEvent[];
  readonly internal?: Readonly<Record<string, unknown>>;
  readonly deliveryId?: string;
  readonly rest?: string;
  readonly clock?: Clock;
  readonly policy?: Partial<AddressPolicy>;
  readonly secrets?: Readonly<Record<string, string>>;
  /** False for a workspace of many. */
  readonly isProcess?: boolean;
}

const toTopic = {
  region: 'eu-west-1',
  destinationType: 'topic',
  topicArn: TOPIC,
  messageGroupId: '',
  awsAuthenticationMethod: 'manual',
  awsApiKey: KEY_ID,
  awsSecretKey: SECRET,
};
const toPhones = { ...toTopic, destinationType: 'phoneNumber', topicArn: '' };

function otherClient(options: { readonly clock?: Clock } & Partial<AddressPolicy>): HttpClient {
  const http = createHttpClient({
    privateAddresses: 'allow',
    allowedAddresses: [],
    clock: systemClock,
    ...options,
  });
  onTestFinished(() => http.close());
  return http;
}

let count = 0;

function target(settings: object) {
  const own = otherClient({});
  const configured = sns.configure({ id: 'sns', type: 'sns', ...toTopic, ...settings });
  return {
    send(sending: Sending = {}): Promise<Outcome> {
      const { clock = systemClock, events = [alarm], internal, policy, secrets = {} } = sending;
      const http = sending.http ?? (sending.clock || policy ? otherClient({ clock, ...policy }) : own);
      return configured.send(
        events.map(event => withDeliveryHints(event, { ...event, ...internal })),
        {
          deliveryId: sending.deliveryId ?? `delivery-${++count}`,
          ...(sending.rest !== undefined && { rest: sending.rest }),
          http,
          dial: noDial,
          sender: { hostname: 'host', isProcess: sending.isProcess ?? true },
          secretOf: name => secrets[name],
          clock,
          signal: new AbortController().signal,
          logFolder: '/nowhere',
        },
      );
    },
  };
}

test('a topic gets a subject, a text and the fields as attributes, signed by the given keys', async () => {
  const { url, published } = await snsService();
  expect(await target({ endpoint: url }).send()).toEqual({ kind: 'sent', httpStatus: 200 });
  expect(published).toMatchObject([
    {
      topic: TOPIC,
      subject: '[ALARM] app_silent: Source syslog:app had no data for 60s',
      message: `Source syslog:app had no data for 60s\n\nThe application of the shop.\n\n${alarm.runbookUrl}\n\n${alarm.incidentUrl}`,
      attributes: {
        status: 'ALARM',
        severity: 'warn',
        cribl_notification: 'app_silent',
        cribl_host: 'headgate',
        id: 'e1',
      },
      groupId: undefined,
      keyId: KEY_ID,
    },
  ]);
});

test('a FIFO topic gets the same id on every attempt, and another for the end, so that none is dropped', async () => {
  const { url, published } = await snsService();
  const fifo = target({
    endpoint: url,
    topicArn: `${TOPIC}.fifo`,
    topicType: 'fifo',
    messageGroupId: "'my group'",
  });
  await fifo.send({ deliveryId: 'd-1' });
  await fifo.send({ deliveryId: 'd-1' });
  await fifo.send({ deliveryId: 'd-2', events: [{ ...alarm, status: 'OK' }] });
  expect(published.map(one => [one.deduplicationId, one.isDelivered])).toEqual([
    ['d-1', true],
    ['d-1', false],
    ['d-2', true],
  ]);
  expect(new Set(published.map(one => one.groupId))).toEqual(new Set(['my-group']));
});

test('a subject is ASCII on one line under 100 characters, and the whole text is in the message', async () => {
  const { url, published } = await snsService();
  const _raw = `Größe\r\n\tde données ✓ ${'x'.repeat(120)}`;
  await target({ endpoint: url }).send({ events: [{ ...alarm, _raw }] });
  expect(published[0]?.subject).toMatch(/^\[ALARM\] app_silent: Grosse de donnees \? x{54,}$/);
  expect(published[0]?.subject).toHaveLength(99);
  expect(published[0]?.message).toContain('x'.repeat(120));
});

test('phones get a short message each, and only those that match allowList', async () => {
  const { url, published } = await snsService();
  const phones = target({
    ...toPhones,
    endpoint: url,
    phoneNumber: '+15555550001, +15555550002',
    allowList: ['+1555555****', 'ops@example.com'],
  });
  expect(await phones.send()).toEqual({ kind: 'sent', httpStatus: 200 });
  expect(published.map(one => [one.phone, one.message, one.subject])).toEqual([
    ['+15555550001', `ALARM: Source syslog:app had no data for 60s\n${alarm.incidentUrl}`, undefined],
    ['+15555550002', `ALARM: Source syslog:app had no data for 60s\n${alarm.incidentUrl}`, undefined],
  ]);
  const internal = { __phoneNumber: '+15555550003,+4915100000000' };
  expect(await phones.send({ internal })).toEqual({
    kind: 'sent',
    except: 'taken for the others, +4915100000000: not in allowList',
  });
  expect(published.map(one => one.phone).slice(2)).toEqual(['+15555550003']);
  expect(await phones.send({ internal: { __phoneNumber: '+4915100000000' } })).toEqual({
    kind: 'refused',
    reason: '+4915100000000: not in allowList',
    isAboutMessage: true,
  });
});

test('one phone that is not reached keeps no other from the message, and none gets it twice', async () => {
  let isBusy = true;
  const { url, published } = await snsService({
    failure: form =>
      isBusy && form.get('PhoneNumber') === '+15555550001'
        ? { status: 500, code: 'InternalError', message: 'busy' }
        : undefined,
  });
  const phones = target({ ...toPhones, endpoint: url, phoneNumber: '+15555550001,+15555550002' });
  const first = await phones.send({ deliveryId: 'd-phones' });
  expect(first).toMatchObject({
    kind: 'retry',
    reason: expect.stringMatching(/^taken for the others, \+15555550001: SNS answered Internal/),
  });
  isBusy = false;
  const rest = first.kind === 'retry' ? first.rest : undefined;
  expect(await phones.send({ deliveryId: 'd-phones', ...(rest !== undefined && { rest }) })).toEqual({
    kind: 'sent',
    httpStatus: 200,
  });
  expect(published.map(one => one.phone)).toEqual(['+15555550002', '+15555550001']);
});

test('an event may name its own topic', async () => {
  const { url, published } = await snsService();
  await target({ endpoint: url }).send({ internal: { __topicArn: `${TOPIC}-own` } });
  expect(published[0]?.topic).toBe(`${TOPIC}-own`);
});

test.each([
  [`'${TOPIC}'`, TOPIC],
  [`"${TOPIC}"`, TOPIC],
  ['`arn:aws:sns:eu-west-1:123456789012:${status}-${severity}`', `${TOPIC.replace('alerts', 'ALARM-warn')}`],
  ['arn:aws:sns:eu-west-1:123456789012:${severity}', `${TOPIC.replace('alerts', 'warn')}`],
  [`severity == 'warn' ? '${TOPIC}-w' : '${TOPIC}-e'`, `${TOPIC}-w`],
  ['topic', `${TOPIC}-own`],
])('the topic %s is evaluated for the event', async (topicArn, topic) => {
  const { url, published } = await snsService();
  const events = [{ ...alarm, topic: `${TOPIC}-own` }];
  expect(await target({ endpoint: url, topicArn }).send({ events })).toMatchObject({ kind: 'sent' });
  expect(published[0]?.topic).toBe(topic);
});

test.each([
  ["'my group'", 'my-group'],
  ['headgate', 'headgate'],
  ['team-a', 'team-a'],
  ['severity', 'warn'],
  ['`${cribl_notification}/${severity}`', 'app_silent/warn'],
  ["input.split(':')[1]", 'app'],
  ['none[0]', 'app_silent'],
  ['none.trim()', 'app_silent'],
])('the message group %s is evaluated for the event', async (messageGroupId, group) => {
  const { url, published } = await snsService();
  const fifo = { endpoint: url, topicArn: `${TOPIC}.fifo`, topicType: 'fifo', messageGroupId };
  expect(await target(fifo).send({ events: [{ ...alarm, input: 'syslog:app' }] })).toMatchObject({
    kind: 'sent',
  });
  expect(published[0]?.groupId).toBe(group);
});

test.each([
  [{ topicArn: '`${C.env.TOPIC}`' }, 'topicArn: `${C.env.TOPIC}` gives no text for this event'],
  [{ topicArn: 'none.trim()' }, expect.stringMatching(/^topicArn: /)],
  [{ topicArn: "'alerts'" }, "topicArn: 'alerts' is no ARN of a topic"],
])('%j is refused with its reason, and nothing is sent', async (settings, reason) => {
  const { url, count: requests } = await snsService();
  expect(await target({ endpoint: url, ...settings }).send()).toEqual({
    kind: 'refused',
    reason,
    isAboutMessage: true,
  });
  expect(requests()).toBe(0);
});

test('a certificate that nobody vouches for is refused, and accepted where the settings allow it', async () => {
  const certificate = certificateAuthority().issue('sns');
  const { url, published } = await snsService({ certificate });
  expect(await target({ endpoint: url }).send()).toMatchObject({ kind: 'retry', isTargetBroken: true });
  const trusting = target({ endpoint: url, rejectUnauthorized: false });
  expect(await trusting.send()).toEqual({ kind: 'sent', httpStatus: 200 });
  expect(published).toHaveLength(1);
});

test.each([true, false])('a connection is kept only with reuseConnections: %s', async reuseConnections => {
  const { url, isKept } = await snsService();
  await target({ endpoint: url, reuseConnections }).send();
  expect(isKept).toEqual([reuseConnections]);
});

test('keys come from the environment, from the settings or from a stored secret', async () => {
  const other = 'AKIDEXAMPLE0000002';
  const { url, published } = await snsService({ keys: { [KEY_ID]: SECRET, [other]: 'another' } });
  vi.stubEnv('AWS_ACCESS_KEY_ID', other);
  vi.stubEnv('AWS_SECRET_ACCESS_KEY', 'another');
  const none = { awsApiKey: undefined, awsSecretKey: undefined, endpoint: url };
  await target({ ...none, awsAuthenticationMethod: 'auto' }).send();
  await target({ ...none, awsAuthenticationMethod: 'manual' }).send();
  await target({ endpoint: url }).send();
  const stored = target({ ...none, awsAuthenticationMethod: 'secret', awsSecret: 'aws' });
  await stored.send({ secrets: { aws: `${KEY_ID}:${SECRET}\n` } });
  await stored.send({ secrets: { aws: `${other}:another` } });
  expect(published.map(one => one.keyId)).toEqual([other, other, KEY_ID, KEY_ID, other]);
  for (const secrets of [{}, { aws: 'a password: of somebody' }])
    expect(await stored.send({ secrets })).toMatchObject({
      kind: 'refused',
      reason: expect.stringContaining("'aws' must hold ACCESS_KEY_ID:SECRET_ACCESS_KEY"),
    });
});

test('without any keys the target is broken, and nothing is sent', async () => {
  const { url, count: requests } = await snsService();
  const settings = {
    awsApiKey: undefined,
    awsSecretKey: undefined,
    awsAuthenticationMethod: 'auto',
    endpoint: url,
  };
  expect(await target(settings).send()).toMatchObject({
    kind: 'retry',
    isTargetBroken: true,
    reason: expect.stringContaining('no keys for AWS'),
  });
  expect(requests()).toBe(0);
});

test.each([
  [{ awsAuthenticationMethod: 'auto' }, 'awsAuthenticationMethod'],
  [{ awsAuthenticationMethod: 'manual' }, 'awsApiKey'],
  [
    { awsAuthenticationMethod: 'auto', enableAssumeRole: true, assumeRoleArn: ROLE },
    'awsAuthenticationMethod',
  ],
])('in a workspace of many, %j sends nothing and names what to set', async (settings, path) => {
  const { url, count: requests } = await snsService();
  vi.stubEnv('AWS_ACCESS_KEY_ID', KEY_ID);
  vi.stubEnv('AWS_SECRET_ACCESS_KEY', SECRET);
  const none = { awsApiKey: undefined, awsSecretKey: undefined, endpoint: url };
  expect(await target({ ...none, ...settings }).send({ isProcess: false })).toEqual({
    kind: 'refused',
    reason: expect.stringMatching(new RegExp(`^${path}.*'manual'.*'secret'`)),
  });
  expect(requests()).toBe(0);
});

const MARK = 'of-the-operator';

/** Every variable that the library reads, with a value that shows where it arrives. */
function operatorsVariables(elsewhere: string): void {
  const folder = mkdtempSync(join(tmpdir(), 'headgate-aws-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const profile = `[default]\naws_access_key_id = AKIAOPERATOR000001\naws_secret_access_key = ${MARK}\nendpoint_url = ${elsewhere}\nsdk_ua_app_id = ${MARK}\nuse_fips_endpoint = true\n`;
  for (const name of ['AWS_CONFIG_FILE', 'AWS_SHARED_CREDENTIALS_FILE']) {
    const file = join(folder, name);
    writeFileSync(file, profile);
    vi.stubEnv(name, file);
  }
  for (const name of ['AWS_ENDPOINT_URL', 'AWS_ENDPOINT_URL_SNS', 'AWS_ENDPOINT_URL_STS'])
    vi.stubEnv(name, elsewhere);
  for (const name of ['AWS_USE_FIPS_ENDPOINT', 'AWS_USE_DUALSTACK_ENDPOINT']) vi.stubEnv(name, 'true');
  for (const name of [
    'AWS_ACCESS_KEY_ID',
    'AWS_SECRET_ACCESS_KEY',
    'AWS_SESSION_TOKEN',
    'AWS_EXECUTION_ENV',
    'AWS_SDK_UA_APP_ID',
    'AWS_LAMBDA_FUNCTION_NAME',
    '_X_AMZN_TRACE_ID',
    'AWS_REGION',
    'AWS_SIGV4A_SIGNING_REGION_SET',
  ])
    vi.stubEnv(name, MARK);
}

test.each([
  [
    403,
    'AccessDenied',
    { kind: 'retry', isTargetBroken: true, reason: /^STS answered AccessDenied: .*sts:AssumeRole/ },
  ],
  [
    403,
    'InvalidClientTokenId',
    { kind: 'retry', isTargetBroken: true, reason: /^STS answered .*; check the keys$/ },
  ],
  [400, 'Throttling', { kind: 'retry', isTargetBroken: undefined, reason: /^STS answered Throttling/ }],
  [503, 'ServiceUnavailable', { kind: 'retry', isTargetBroken: undefined, reason: /^STS answered/ }],
])(
  'that a role is not taken on is named as of STS and tried again: %i %s',
  async (status, code, expected) => {
    const body = `<ErrorResponse><Error><Code>${code}</Code><Message>no</Message></Error></ErrorResponse>`;
    const http = {
      request: async () => ({ status, headers: {}, body: Buffer.from(body), truncated: false }),
      close: async () => {},
    };
    const role = { enableAssumeRole: true, assumeRoleArn: ROLE };
    const { kind, isTargetBroken, reason } = Object.assign(
      { isTargetBroken: undefined, reason: '' },
      await target(role).send({ http }),
    );
    expect({ kind, isTargetBroken }).toEqual({
      kind: expected.kind,
      isTargetBroken: expected.isTargetBroken,
    });
    expect(reason).toMatch(expected.reason);
  },
);

test('nobody doubts whether a message has arrived when STS does not answer', async () => {
  const http = {
    request: async () => {
      throw new HttpFailure('timeout', 'https://sts.example: timed out', undefined, true);
    },
    close: async () => {},
  };
  const role = { enableAssumeRole: true, assumeRoleArn: ROLE };
  expect(await target(role).send({ http })).toEqual({
    kind: 'retry',
    reason: 'STS: https://sts.example: timed out',
  });
});

/** Answers as SNS and STS would, and remembers what it was asked. */
function recordingClient() {
  const requests: HttpRequest[] = [];
  const http: HttpClient = {
    async request(request) {
      requests.push(request);
      const isRole = String(request.body).includes('Action=AssumeRole');
      const body = Buffer.from(
        isRole
          ? '<AssumeRoleResponse><AssumeRoleResult><Credentials><AccessKeyId>ASIAROLE0000000001</AccessKeyId><SecretAccessKey>role</SecretAccessKey><SessionToken>t</SessionToken><Expiration>2100-01-01T00:00:00Z</Expiration></Credentials></AssumeRoleResult></AssumeRoleResponse>'
          : '<PublishResponse><PublishResult><MessageId>m</MessageId></PublishResult></PublishResponse>',
      );
      return { status: 200, headers: { 'content-type': 'text/xml' }, body, truncated: false };
    },
    close: async () => {},
  };
  return { http, requests };
}

test('in a workspace of many, no variable and no profile of the process counts, and none is shown', async () => {
  operatorsVariables('https://elsewhere.example');
  const { http, requests } = recordingClient();
  const role = { enableAssumeRole: true, assumeRoleArn: ROLE };
  expect(await target(role).send({ http, isProcess: false })).toEqual({ kind: 'sent', httpStatus: 200 });
  expect(requests.map(({ url }) => url)).toEqual([
    'https://sts.eu-west-1.amazonaws.com/',
    'https://sns.eu-west-1.amazonaws.com/',
  ]);
  expect(JSON.stringify(requests)).not.toMatch(new RegExp(`${MARK}|AKIAOPERATOR|nodejs|linux`, 'i'));
});

test('the variables of the process count where it sends in its own name', async () => {
  operatorsVariables('https://elsewhere.example');
  for (const name of ['AWS_USE_FIPS_ENDPOINT', 'AWS_USE_DUALSTACK_ENDPOINT']) vi.stubEnv(name, 'false');
  const { http, requests } = recordingClient();
  await target({}).send({ http });
  expect(requests[0]?.url).toBe('https://elsewhere.example/');
  expect(requests[0]?.headers?.['user-agent']).toContain(MARK);
});

test('a role is assumed once and its keys sign what follows', async () => {
  const { url, published, roles } = await snsService();
  vi.stubEnv('AWS_ENDPOINT_URL_STS', url);
  const settings = {
    enableAssumeRole: true,
    assumeRoleArn: ROLE,
    assumeRoleExternalId: 'ours',
    durationSeconds: 900,
  };
  const assumed = target({ endpoint: url, ...settings });
  await assumed.send();
  await assumed.send();
  expect(roles.map(form => Object.fromEntries(form))).toMatchObject([
    { RoleArn: ROLE, ExternalId: 'ours', DurationSeconds: '900', RoleSessionName: 'headgate' },
  ]);
  expect(published.map(one => one.keyId)).toEqual(['ASIAROLE0000000001', 'ASIAROLE0000000001']);
});

test('each send uses the client it is given', async () => {
  const { url, published } = await snsService();
  const topic = target({ endpoint: url });
  const http = otherClient({});
  const urls: string[] = [];
  const watched: HttpClient = {
    ...http,
    request(request) {
      urls.push(request.url);
      return http.request(request);
    },
  };
  await topic.send();
  await topic.send({ http: watched });
  await topic.send();
  expect(urls).toEqual([`${url}/`]);
  expect(published).toHaveLength(3);
});

test('keys that have expired are renewed, once', async () => {
  const { url, published, roles } = await snsService({
    failure: (form, n) =>
      form.get('Action') === 'Publish' && n === 2 ? { status: 403, code: 'ExpiredToken' } : undefined,
  });
  vi.stubEnv('AWS_ENDPOINT_URL_STS', url);
  const assumed = target({ endpoint: url, enableAssumeRole: true, assumeRoleArn: ROLE });
  expect(await assumed.send()).toEqual({ kind: 'sent', httpStatus: 200 });
  expect(roles).toHaveLength(2);
  expect(published).toHaveLength(1);
});

test.each([
  [400, 'InvalidParameter', 'refused', true],
  [400, 'ParameterValueInvalid', 'refused', true],
  [403, 'AuthorizationError', 'refused', undefined],
  [403, 'InvalidClientTokenId', 'refused', undefined],
  [403, 'SignatureDoesNotMatch', 'refused', undefined],
  [404, 'NotFound', 'refused', undefined],
  [400, 'EndpointDisabled', 'refused', undefined],
  [400, 'Throttled', 'retry', undefined],
  [400, 'ThrottlingException', 'retry', undefined],
  [400, 'KMSThrottlingException', 'retry', undefined],
  [500, 'InternalError', 'retry', undefined],
  [503, 'ServiceUnavailable', 'retry', undefined],
  [403, 'ExpiredToken', 'retry', undefined],
])('%i %s: %s', async (status, code, kind, isAboutMessage) => {
  const { url } = await snsService({ failure: () => ({ status, code, message: `oh no, ${SECRET}` }) });
  const outcome = await target({ endpoint: url }).send();
  expect(outcome.kind).toBe(kind);
  expect('isAboutMessage' in outcome ? outcome.isAboutMessage : undefined).toBe(isAboutMessage);
  expect(outcome).toMatchObject({ httpStatus: status, answer: expect.stringContaining('oh no') });
  expect('pauseTarget' in outcome).toBe(/Throttl/.test(code));
  expect(JSON.stringify(outcome)).not.toContain(SECRET);
});

test('a request is repeated at once only where maxRetries says so', async () => {
  const { url, count: requests } = await snsService({
    failure: () => ({ status: 500, code: 'InternalError' }),
  });
  await target({ endpoint: url }).send();
  expect(requests()).toBe(1);
  await target({ endpoint: url, maxRetries: 1 }).send();
  expect(requests()).toBe(3);
});

test('the address is checked as those of all targets are', async () => {
  const { url, count: requests } = await snsService();
  const outcome = await target({ endpoint: url }).send({ policy: { privateAddresses: 'refuse' } });
  expect(outcome).toMatchObject({ kind: 'refused', reason: expect.stringContaining('not public') });
  expect(requests()).toBe(0);
});

test('a message for a service that is not there is tried again, and nobody knows of one that is not answered', async () => {
  expect(await target({ endpoint: 'http://127.0.0.1:1' }).send()).toMatchObject({ kind: 'retry' });
  let isThere = false;
  const port = await rawServer(() => {
    isThere = true;
  });
  const clock = testClock();
  const sent = target({ endpoint: `http://127.0.0.1:${port}` }).send({ clock });
  await until(() => isThere);
  await clock.advance(50_000);
  expect(await sent).toMatchObject({
    kind: 'unknown',
    reason: expect.stringMatching(/timed out after 30 s waiting for the first byte/),
  });
});

test('no event makes a request that SNS refuses', () => {
  const property = fc.property(
    fc.array(anyEvent, { minLength: 1, maxLength: 3 }),
    fc.boolean(),
    (events, isLong) => {
      const [first] = events;
      if (first === undefined) return;
      const event = isLong ? { ...first, _raw: `${first._raw.slice(0, 5)}é`.repeat(150_000) } : first;
      const { attributes, subject, text } = snsMessage([event, ...events.slice(1)]);
      const values = Object.entries(attributes).map(([name, { StringValue }]) => [name, StringValue]);
      const none = { groupId: undefined, deduplicationId: undefined };
      const toATopic = { ...none, topic: TOPIC, phone: undefined, subject: subject || undefined };
      expect(
        problemOf({ ...toATopic, message: text, attributes: Object.fromEntries(values) }),
      ).toBeUndefined();
      const toAPhone = {
        ...none,
        topic: undefined,
        phone: '+15555550001',
        subject: undefined,
        attributes: {},
      };
      expect(problemOf({ ...toAPhone, message: shortText(event) })).toBeUndefined();
    },
  );
  fc.assert(property, { numRuns: 100 });
});
