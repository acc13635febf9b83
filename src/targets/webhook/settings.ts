import * as z from 'zod';
import { compileExpression } from '../../expressions/expression.ts';
import { expressionOrText, expressionText } from '../../expressions/schema.ts';
import { withAliases } from '../../lib/aliases.ts';
import { EVEN_WHEN_INVALID, repeatedItems, secretText } from '../../lib/schemas.ts';
import { expressionSetting, settingsAt, type TemplateSetting, templateSetting } from '../declarations.ts';
import {
  connectionOf,
  connectionSecrets,
  connectionSettings,
  requestPatienceMs,
} from '../http-connection.ts';
import { retrySettings } from '../http-target.ts';
import { commonSettings } from '../target.ts';
import { addressText } from './address.ts';
import { ANSWER_FIELDS } from './answer.ts';
import { findPreset, presets } from './presets/index.ts';
import type { PresetOption } from './presets/preset.ts';

/**
 * Set by the product or the connection itself: framing and hop-by-hop fields (RFC 9110 section 7.6.1, RFC 9112), fields
 * of a proxy or a browser, and the fields of Standard Webhooks.
 */
const FORBIDDEN_HEADERS = [
  'accept-encoding',
  'connection',
  'content-encoding',
  'content-length',
  'cookie',
  'cookie2',
  'expect',
  'forwarded',
  'host',
  'keep-alive',
  'origin',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'referer',
  'set-cookie',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'via',
  'webhook-id',
  'webhook-signature',
  'webhook-timestamp',
  'x-real-ip',
];
const isForbidden = (name: string): boolean =>
  FORBIDDEN_HEADERS.includes(name.toLowerCase()) || name.toLowerCase().startsWith('x-forwarded-');

/** A token of RFC 9110 section 5.6.2. */
const headerName = z
  .string()
  .max(256)
  .regex(/^[\w!#$%&'*+.^`|~-]+$/, 'must be the name of a header: letters, digits and "-"')
  .refine(name => !isForbidden(name), {
    error: 'is a header that cannot be set; the connection or Headgate itself sets it',
  });

/** RFC 9110 section 5.5: no line breaks, no control characters but the tab, only characters of one byte. */
const headerValue = secretText.refine(
  secret => secret.reveal().length <= 16_384 && /^[\t\x20-\x7e\xa0-\xff]*$/.test(secret.reveal()),
  {
    error: 'must be at most 16384 characters of Latin-1, without line breaks and other control characters',
  },
);

/** The user's own headers. Their values may be keys, so that no read shows them. */
const extraHttpHeaders = z
  .array(
    z.strictObject({
      name: headerName.describe('Name of the header.'),
      value: headerValue.describe('Value of the header.'),
    }),
  )
  .max(64)
  .superRefine((headers, context) => {
    for (const { index, first } of repeatedItems(headers, ({ name }) => name.toLowerCase()))
      context.addIssue({
        code: 'custom',
        path: [index, 'name'],
        message: `must be given once; item ${first} of the list is the same header`,
      });
  });

/** A header takes no control characters (RFC 9110 section 5.5), a token in it only visible ASCII (RFC 6750). */
const headerToken = secretText.refine(secret => /^[\x21-\x7e]+$/.test(secret.reveal()), {
  error: 'must be one or more visible ASCII characters, without spaces and line breaks',
});
/** RFC 7617 section 2 forbids control characters in both and a colon in the name. */
const basicUsername = z
  .string()
  .regex(/^[^\p{Cc}:]+$/u, 'must not be empty and must hold neither ":" nor line breaks');
const basicPassword = secretText.refine(secret => !/\p{Cc}/u.test(secret.reveal()), {
  error: 'must hold neither line breaks nor other control characters',
});
/** Standard Webhooks: 24 to 64 random bytes as base64 behind `whsec_`. */
const signingSecret = secretText.refine(secret => isSigningSecret(secret.reveal()), {
  error: 'must be 24 to 64 random bytes as base64 behind "whsec_"',
});

function isSigningSecret(text: string): boolean {
  const [, base64] = /^whsec_([A-Za-z0-9+/]+={0,2})$/.exec(text) ?? [];
  if (base64 === undefined) return false;
  const bytes = Buffer.from(base64, 'base64');
  return bytes.length >= 24 && bytes.length <= 64 && bytes.toString('base64') === base64;
}

/**
 * By these names expressions read `options`, the facts of the event as lines, and what a reminder says of itself. No event
 * has them: names that begin so never leave.
 */
export const OPTIONS_FIELD = '__options';
export const FACTS_FIELD = '__facts';
export const REMINDER_FIELD = '__reminder';

/** The events as they are. */
export const DEFAULT_PAYLOAD = '`${events}`';

const optionName = z.string().regex(/^\w{1,64}$/, 'must be 1 to 64 letters, digits or "_"');

const service = {
  preset: z
    .enum(presets.map(({ name }) => name))
    .optional()
    .describe(
      'Service that is spoken to: it sets what is sent, how large, how fast, and which answers mean success, where these settings do not.',
    ),
  options: z
    .record(optionName, z.string().max(1024))
    .optional()
    .describe('What the preset needs to know, such as a channel, by its names.'),
  secretOptions: z
    .record(optionName, secretText)
    .optional()
    .describe('Keys that the preset sends in the body, by their names.'),
} as const;

const address = {
  type: z.literal('webhook').describe('Kind of target.'),
  url: addressText
    .describe(
      'Where the events go. Its path and its query may have `${…}` places; events with different addresses travel apart.',
    )
    .meta({ destination: true, places: true }),
  method: z.enum(['POST', 'PUT', 'PATCH']).default('POST').describe('HTTP method of the request.'),
  resolveUrl: addressText
    .optional()
    .describe('Where ends of alarms go, for receivers that close at another address; by default `url`.')
    .meta({ destination: true, places: true }),
  resolveMethod: z
    .enum(['POST', 'PUT', 'PATCH', 'DELETE'])
    .optional()
    .describe('HTTP method of ends; by default `method`.'),
  authType: z
    .enum(['none', 'basic', 'token'])
    .default('none')
    .describe('Authentication method of the request.')
    .meta({ protection: true }),
  token: headerToken.optional().describe('Sent as `Authorization: Bearer`; with authType token.'),
  authScheme: z
    .string()
    .regex(/^[A-Za-z][\w-]{0,63}$/, 'must be a word such as Bearer')
    .optional()
    .describe('The word before the token in `Authorization`; by default Bearer.'),
  username: basicUsername.optional().describe('With authType basic.'),
  password: basicPassword.optional().describe('With authType basic.'),
  extraHttpHeaders: extraHttpHeaders.default([]).describe('Headers of your own.'),
  signingSecret: signingSecret.optional().describe('Key that signs each request as Standard Webhooks says.'),
  previousSigningSecret: signingSecret
    .optional()
    .describe('The key before it, with which requests are signed as well while receivers change over.'),
} as const;

const body = {
  format: z
    .enum(['ndjson', 'json_array', 'custom'])
    .default('ndjson')
    .describe('ndjson: one JSON object per line. json_array: a JSON array. custom: by your expressions.'),
  srcExpression: expressionOrText
    .optional()
    .describe('Expression that makes of an event what is sent of it.')
    .meta({ aliases: ['customSourceExpression'], template: true }),
  resolveExpression: expressionOrText
    .optional()
    .describe('Expression that makes of the end of an alarm what is sent of it; by default srcExpression.')
    .meta({ template: true }),
  customDropWhenNull: z
    .boolean()
    .default(false)
    .describe('Leave an event out when srcExpression, or resolveExpression for an end, gives null.'),
  customEventDelimiter: z
    .string()
    .min(1)
    .max(64)
    .default('\n')
    .describe('What stands between events in format custom.'),
  customContentType: z
    .string()
    .max(255)
    .regex(/^[\w!#$&^.+-]+\/[\w!#$&^.+-]+(; ?[\w-]+=[\w."-]+)*$/, 'must be a media type such as text/plain')
    .default('application/x-ndjson')
    .describe('Content-Type of the request in format custom.'),
  customPayloadExpression: expressionOrText
    .prefault(DEFAULT_PAYLOAD)
    .describe('Expression that makes the body of the events in format custom.')
    .meta({ template: true }),
  compress: z.boolean().default(false).describe('Send the body compressed by gzip.'),
  maxPayloadSizeKB: z
    .int()
    .min(1024)
    .max(512_000)
    .default(4096)
    .describe(
      'Most of a body, in units of 1024 bytes, before it is compressed; a larger event travels alone.',
    ),
  maxPayloadEvents: z
    .int()
    .min(0)
    .default(0)
    .describe('Most events of a request; 0 for no limit but that of the size.'),
  flushPeriodSec: z
    .number()
    .positive()
    .max(3600)
    .default(1)
    .describe(
      'What came while all requests were under way waits so long for company, in seconds, unless a request is full or none is under way any more.',
    ),
} as const;

/** It makes of an event what is sent of it. */
const eventExpression = (name: string): TemplateSetting =>
  expressionSetting({
    path: [name],
    fields: 'outgoing-event',
    ownFields: [OPTIONS_FIELD, FACTS_FIELD, REMINDER_FIELD],
    evaluate: (expression, event) => expression.evaluate(event),
    isEscaped: settings =>
      settingsAt(withPreset(settings), ['format']).some(({ value }) => value === 'json_array'),
  });

export const webhookTemplates: readonly TemplateSetting[] = [
  templateSetting({ path: ['url'], fields: 'outgoing-event' }),
  templateSetting({ path: ['resolveUrl'], fields: 'outgoing-event' }),
  eventExpression('srcExpression'),
  eventExpression('resolveExpression'),
  expressionSetting({
    path: ['customPayloadExpression'],
    // All events of a request as one text.
    fields: ['events'],
    evaluate(expression, event) {
      const value = expression.evaluate({ events: JSON.stringify(event) });
      if (value === undefined || value === null) throw new Error('it gives nothing');
    },
  }),
  expressionSetting({ path: ['successExpression'], fields: ANSWER_FIELDS, compile: compileExpression }),
];

const judging = {
  successExpression: expressionText
    .optional()
    .describe(
      "Expression over the `status`, `headers`, `body` and `json` of an answer: true where the receiver has the events, false where it refuses them, 'later' where they are to be sent again. Without it the status decides, which it reads as `byStatus`.",
    )
    .meta({ template: true }),
} as const;

const connection = {
  timeoutSec: z
    .number()
    .min(1)
    .max(60)
    .optional()
    .describe(
      'Time limit of a whole request in seconds, connecting and reading the answer included; each step ends at its own limit in `timeouts` before. Without it 30, or as long as the steps together where `timeouts` is set.',
    ),
  concurrency: z.int().min(1).max(32).default(5).describe('How many requests may be under way at once.'),
  keepAlive: z
    .boolean()
    .default(true)
    .describe('Use connections for more than one request.')
    .meta({ aliases: ['keepAliveTime'] }),
  rejectUnauthorized: z
    .boolean()
    .default(true)
    .describe('Refuse certificates that nobody vouches for.')
    .meta({ protection: true }),
  useRoundRobinDns: z
    .boolean()
    .default(false)
    .describe('New connections take turns among the addresses of the host.'),
  failedRequestLoggingMode: z
    .enum(['none', 'payload', 'payloadAndHeaders'])
    .default('none')
    .describe('What of a failed request is logged: nothing, its body, or headers as well; 2 KB of each.'),
  safeHeaders: z
    .array(z.string().min(1).max(256))
    .max(64)
    .default([])
    .describe('Headers whose values are logged in clear; Authorization never is.')
    .meta({ protection: true }),
} as const;

const fields = z.strictObject({
  ...commonSettings,
  ...service,
  ...address,
  ...body,
  ...judging,
  ...connection,
  ...connectionSettings,
  ...retrySettings,
});

export { connectionOf, connectionSecrets, requestPatienceMs };
export type WebhookSettings = z.infer<typeof fields>;
type WebhookCredentials = Pick<WebhookSettings, 'authType' | 'token' | 'username' | 'password'>;

export const webhookSettings = withAliases(
  fields.superRefine((settings, context) => {
    for (const problem of [
      ...authProblems(settings),
      ...optionProblems(settings),
      ...headerProblems(settings),
      ...secretProblems(settings),
    ])
      context.addIssue({ code: 'custom', ...problem });
  }, EVEN_WHEN_INVALID),
  withPreset,
);

/** A preset sets what is not said: settings of one's own come first. */
function withPreset<Settings>(settings: Settings): Settings {
  if (typeof settings !== 'object' || settings === null) return settings;
  const found = findPreset(Reflect.get(settings, 'preset'));
  return found === undefined ? settings : { ...found.settings, ...settings };
}

/** The names that a preset knows, and all that it needs. */
function optionProblems({ preset, options, secretOptions }: WebhookSettings): SettingProblem[] {
  const found = findPreset(preset);
  const problems = (
    key: 'options' | 'secretOptions',
    given: unknown,
    known: Readonly<Record<string, PresetOption>> = {},
  ): SettingProblem[] => {
    const names = typeof given === 'object' && given !== null ? Object.keys(given) : [];
    const has = Object.keys(known).length === 0 ? 'none' : Object.keys(known).join(', ');
    const unknown = names
      .filter(name => !Object.hasOwn(known, name))
      .map(name => ({
        path: [key, name],
        message:
          found === undefined
            ? `is for a preset; set 'preset', or remove it`
            : `is no ${key === 'options' ? 'option' : 'secret option'} of preset '${found.name}'; it has ${has}`,
      }));
    const missing = Object.entries(known)
      .filter(([name, { isRequired }]) => isRequired === true && !names.includes(name))
      .map(([name, { description }]) => ({
        path: [key, name],
        message: `is required with preset '${found?.name}': ${description}`,
      }));
    return [...unknown, ...missing];
  };
  return [
    ...problems('options', options, found?.options),
    ...problems('secretOptions', secretOptions, found?.secretOptions),
  ];
}

interface SettingProblem {
  readonly path: PropertyKey[];
  readonly message: string;
}

const NEEDED = { none: [], basic: ['username', 'password'], token: ['token'] } as const;
const CREDENTIALS = ['token', 'username', 'password'] as const;

function authProblems(settings: WebhookCredentials): SettingProblem[] {
  // When `authType` itself was refused, no further problem is reported.
  if (!Object.hasOwn(NEEDED, settings.authType)) return [];
  const needed: readonly string[] = NEEDED[settings.authType];
  return CREDENTIALS.flatMap(name => {
    const given = settings[name] !== undefined;
    if (given === needed.includes(name)) return [];
    const message = given
      ? `is not used with authType '${settings.authType}'; remove it or set authType to '${name === 'token' ? 'token' : 'basic'}'`
      : `is required with authType '${settings.authType}'`;
    return [{ path: [name], message }];
  });
}

function secretProblems({
  signingSecret: now,
  previousSigningSecret: before,
}: WebhookSettings): SettingProblem[] {
  if (before === undefined || now !== undefined) return [];
  return [{ path: ['signingSecret'], message: "is required with 'previousSigningSecret'" }];
}

/** A scheme other than Basic and Bearer goes in as a header, but not beside one of those. */
function headerProblems({ authType, extraHttpHeaders: headers }: WebhookSettings): SettingProblem[] {
  if (authType === 'none' || !Array.isArray(headers)) return [];
  const index = headers.findIndex(header => header?.name?.toLowerCase?.() === 'authorization');
  return index === -1
    ? []
    : [
        {
          path: ['extraHttpHeaders', index, 'name'],
          message: `must not be Authorization: authType '${authType}' sets it; remove it or set authType to 'none'`,
        },
      ];
}
