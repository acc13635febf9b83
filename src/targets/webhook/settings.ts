import * as z from 'zod';
import { expressionOrText } from '../../expressions/schema.ts';
import { withAliases } from '../../lib/aliases.ts';
import { httpUrl, repeatedItems, secretText } from '../../lib/schemas.ts';
import { expressionSetting, settingsAt, type TemplateSetting } from '../declarations.ts';
import { retrySettings } from '../http-target.ts';
import { commonSettings, EVEN_WHEN_INVALID } from '../target.ts';

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

/** The events as they are. */
export const DEFAULT_PAYLOAD = '`${events}`';

const address = {
  type: z.literal('webhook').describe('Kind of target.'),
  url: httpUrl.describe('Where the events go.').meta({ destination: true }),
  method: z.enum(['POST', 'PUT', 'PATCH']).default('POST').describe('HTTP method of the request.'),
  authType: z
    .enum(['none', 'basic', 'token'])
    .default('none')
    .describe('Authentication method of the request.')
    .meta({ protection: true }),
  token: headerToken.optional().describe('Sent as `Authorization: Bearer`; with authType token.'),
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
  customDropWhenNull: z
    .boolean()
    .default(false)
    .describe('Leave an event out when srcExpression gives null.'),
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

export const webhookTemplates: readonly TemplateSetting[] = [
  expressionSetting({
    path: ['srcExpression'],
    fields: 'outgoing-event',
    evaluate: (expression, event) => expression.evaluate(event),
    isEscaped: settings => settingsAt(settings, ['format']).some(({ value }) => value === 'json_array'),
  }),
  expressionSetting({
    path: ['customPayloadExpression'],
    // All events of a request as one text.
    fields: ['events'],
    evaluate(expression, event) {
      const value = expression.evaluate({ events: JSON.stringify(event) });
      if (value === undefined || value === null) throw new Error('it gives nothing');
    },
  }),
];

const connection = {
  timeoutSec: z
    .number()
    .min(1)
    .max(60)
    .default(30)
    .describe('Time limit of a request in seconds, connecting and reading the answer included.'),
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

const fields = z.strictObject({ ...commonSettings, ...address, ...body, ...connection, ...retrySettings });

export type WebhookSettings = z.infer<typeof fields>;
type WebhookCredentials = Pick<WebhookSettings, 'authType' | 'token' | 'username' | 'password'>;

export const webhookSettings = withAliases(
  fields.superRefine((settings, context) => {
    for (const problem of [
      ...authProblems(settings),
      ...headerProblems(settings),
      ...secretProblems(settings),
    ])
      context.addIssue({ code: 'custom', ...problem });
  }, EVEN_WHEN_INVALID),
);

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
