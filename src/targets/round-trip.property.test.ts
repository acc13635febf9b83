import fc from 'fast-check';
import { expect, test } from 'vitest';
import { MASK, Secret } from '../lib/secret.ts';
import { findTargetType, targetTypes } from './index.ts';

const id = fc.stringMatching(/^[a-zA-Z0-9_-]{1,20}$/);
const line = fc.string({ minLength: 1, maxLength: 20 }).filter(text => !/\p{Cc}/u.test(text));
const word = fc.stringMatching(/^[!-~]{1,30}$/);
const url = fc.webUrl({ withQueryParameters: true });
const mailbox = fc.stringMatching(/^[a-z0-9.]{1,10}@[a-z0-9]{1,10}\.example$/);

const optional = <Value>(value: fc.Arbitrary<Value>) => fc.option(value, { nil: undefined });

const backoff = {
  initialBackoff: optional(fc.integer({ min: 0, max: 600_000 })),
  backoffRate: optional(fc.double({ min: 1, max: 20, noNaN: true })),
  maxBackoff: optional(fc.integer({ min: 10_000, max: 180_000 })),
};

const retries = {
  responseRetrySettings: optional(
    fc.uniqueArray(fc.record({ httpStatus: fc.integer({ min: 100, max: 599 }), ...backoff }), {
      selector: entry => entry.httpStatus,
      maxLength: 4,
    }),
  ),
  timeoutRetrySettings: optional(fc.record({ timeoutRetry: optional(fc.boolean()), ...backoff })),
  responseHonorRetryAfterHeader: optional(fc.boolean()),
};

const common = {
  id,
  description: optional(fc.string()),
  systemFields: optional(fc.array(fc.constantFrom('c*', 'cribl_host', '*', 'cribl_wp'), { maxLength: 4 })),
  onBackpressure: optional(fc.constantFrom('queue', 'block', 'drop')),
  fallback: optional(id),
  pacing: optional(fc.constantFrom('1/second', '30/minute', '5/hour', '1000/day')),
};

const credentials = fc.oneof(
  fc.record({ authType: optional(fc.constant('none')) }),
  fc.record({ authType: fc.constant('token'), token: word }),
  fc.record({
    authType: fc.constant('basic'),
    username: line.filter(text => !text.includes(':')),
    password: line,
  }),
);

const webhookRest = fc.record({
  ...common,
  ...retries,
  url,
  method: optional(fc.constantFrom('POST', 'PUT', 'PATCH')),
  format: optional(fc.constantFrom('ndjson', 'json_array', 'custom')),
  extraHttpHeaders: optional(
    fc.uniqueArray(fc.record({ name: fc.stringMatching(/^x-[a-z]{1,8}$/), value: word }), {
      selector: header => header.name,
      maxLength: 4,
    }),
  ),
  signingSecret: optional(
    fc
      .uint8Array({ minLength: 24, maxLength: 64 })
      .map(bytes => `whsec_${Buffer.from(bytes).toString('base64')}`),
  ),
  customEventDelimiter: optional(fc.string({ minLength: 1, maxLength: 10 })),
  compress: optional(fc.boolean()),
  concurrency: optional(fc.integer({ min: 1, max: 32 })),
  timeoutSec: optional(fc.integer({ min: 1, max: 60 })),
  maxPayloadEvents: optional(fc.nat()),
});

const account = fc.oneof(
  fc.record({ smtpUsername: line, smtpPassword: line }),
  fc.constant({ smtpUsername: '', smtpPassword: '' }),
);

const valid: Readonly<Record<string, fc.Arbitrary<object>>> = {
  webhook: fc.tuple(webhookRest, credentials).map(([rest, auth]) => ({ ...rest, ...auth })),
  slack: fc.record({ ...common, ...retries, slackUrl: url }),
  pager_duty: fc.record({
    ...common,
    ...retries,
    routingKey: word,
    severity: fc.constantFrom('info', 'warning', 'error', 'critical', 'warn'),
    class: optional(line),
  }),
  sns: fc.record({
    ...common,
    region: fc.constantFrom('eu-west-1', 'us-gov-east-1'),
    destinationType: fc.constantFrom('topic', 'phoneNumber'),
    topicArn: fc.constantFrom('arn:aws:sns:eu-west-1:1:t', '`arn:${name}`'),
    messageGroupId: fc.constantFrom('', 'g'),
    allowList: optional(fc.array(fc.constantFrom('+1555*', '*@shop.example'), { maxLength: 3 })),
    durationSeconds: optional(fc.integer({ min: 900, max: 43_200 })),
    endpoint: optional(url),
  }),
  smtp: fc
    .tuple(
      fc.record({
        ...common,
        host: fc.domain(),
        port: fc.integer({ min: 1, max: 65_535 }),
        from: mailbox,
        encryptionOption: optional(fc.constantFrom('STARTTLS', 'STARTTLS_REQUIRED', 'TLS', 'NONE', 'SSL')),
        tls: optional(
          fc.record({
            rejectUnauthorized: optional(fc.boolean()),
            minVersion: optional(fc.constantFrom('TLSv1.2', 'TLSv1.3')),
          }),
        ),
      }),
      account,
    )
    .map(([rest, login]) => ({ ...rest, ...login })),
  router: fc.record({
    ...common,
    routes: fc.array(
      fc.record({
        filter: fc.constantFrom('true', "severity == 'warn'"),
        output: id,
        final: optional(fc.boolean()),
      }),
      {
        minLength: 1,
        maxLength: 5,
      },
    ),
  }),
  bulletin_message: fc.record({
    ...common,
    message: optional(fc.constantFrom('', '${_raw}', 'a ${status} b')),
    title: optional(line),
    severity: optional(fc.constantFrom('info', 'warn', 'error', 'fatal')),
  }),
  notifications_log: fc.record({ ...common, logsDir: optional(fc.constantFrom('', 'a', 'a/b')) }),
  default: fc.record({ ...common, defaultId: id }),
};

/** Settings as a file would give them, with the masks of a read. */
function plain(value: unknown): unknown {
  if (value instanceof Secret) return value.reveal();
  if (typeof value !== 'object' || value === null) return value;
  if ('toJSON' in value && typeof value.toJSON === 'function') return value.toJSON();
  if (Array.isArray(value)) return value.map(plain);
  return Object.fromEntries(Object.entries(value).map(([key, entry]) => [key, plain(entry)]));
}

test.each(targetTypes.map(({ type }) => type))(
  'a valid %s target says of itself what makes the same target again, and no secret',
  type => {
    const configure = (raw: unknown) => findTargetType(type)?.configure(raw).settings;
    fc.assert(
      fc.property(valid[type] ?? fc.constant({}), drawn => {
        const raw = JSON.parse(JSON.stringify({ ...drawn, type }));
        const settings = configure(raw);
        const again = configure(plain(settings));
        expect(plain(again)).toEqual(plain(settings));
        expect(JSON.stringify(again)).toBe(JSON.stringify(settings));
        for (const key of ['token', 'password', 'smtpPassword', 'routingKey', 'signingSecret'])
          if (key in raw) expect(JSON.parse(JSON.stringify(settings))[key]).toBe(MASK);
      }),
      { numRuns: 200 },
    );
  },
);
