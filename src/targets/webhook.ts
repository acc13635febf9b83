import * as z from 'zod';
import type { HeadgateEvent } from '../events/event.ts';
import { httpUrl, secretText } from '../lib/schemas.ts';
import type { Secret } from '../lib/secret.ts';
import { VERSION } from '../lib/version.ts';
import { MAX_ANSWER_BYTES, outcomeOfAnswer, outcomeOfFailure } from './http-outcome.ts';
import { commonSettings } from './settings.ts';
import { defineTarget } from './target.ts';

/** Covers connecting, sending and reading the answer. */
const TIMEOUT_MS = 30_000;

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

const schema = z
  .strictObject({
    ...commonSettings,
    type: z.literal('webhook'),
    url: httpUrl.describe('Where the events go.'),
    method: z.enum(['POST', 'PUT', 'PATCH']).default('POST').describe('HTTP method of the request.'),
    format: z.enum(['ndjson']).default('ndjson').describe('One JSON object per line.'),
    authType: z
      .enum(['none', 'basic', 'token'])
      .default('none')
      .describe('Authentication method of the request.'),
    token: headerToken.optional().describe('Sent as `Authorization: Bearer`; with authType token.'),
    username: basicUsername.optional().describe('With authType basic.'),
    password: basicPassword.optional().describe('With authType basic.'),
  })
  .superRefine(
    (settings, context) => {
      for (const problem of authProblems(settings)) context.addIssue({ code: 'custom', ...problem });
    },
    // Also when another setting is wrong, so that all errors show at once.
    { when: ({ value }) => typeof value === 'object' && value !== null },
  );

type Settings = z.infer<typeof schema>;
type Credentials = Pick<Settings, 'authType' | 'token' | 'username' | 'password'>;

const NEEDED = { none: [], basic: ['username', 'password'], token: ['token'] } as const;
const CREDENTIALS = ['token', 'username', 'password'] as const;

function authProblems(settings: Credentials): { path: string[]; message: string }[] {
  // Absent when `authType` itself was refused, which is problem enough.
  const needed: readonly string[] | undefined = NEEDED[settings.authType];
  if (needed === undefined) return [];
  return CREDENTIALS.flatMap(name => {
    const given = settings[name] !== undefined;
    if (given === needed.includes(name)) return [];
    const message = given
      ? `is not used with authType '${settings.authType}'; remove it or set authType to '${name === 'token' ? 'token' : 'basic'}'`
      : `is required with authType '${settings.authType}'`;
    return [{ path: [name], message }];
  });
}

/** Posts events to an address of the user's. */
export const webhook = defineTarget({
  type: 'webhook',
  description: 'Sends events to an HTTP address.',
  schema,
  concurrency: 5,
  async send(events, settings, context) {
    const authorization = authorizationOf(settings);
    try {
      const answer = await context.http.request({
        url: settings.url,
        method: settings.method,
        headers: {
          'content-type': 'application/x-ndjson',
          'user-agent': `headgate/${VERSION}`,
          // Standard Webhooks: the same on every attempt, so that receivers can drop repeats.
          'webhook-id': context.deliveryId,
          ...(authorization !== undefined && { authorization }),
        },
        body: ndjson(events),
        timeoutMs: TIMEOUT_MS,
        maxAnswerBytes: MAX_ANSWER_BYTES,
        signal: context.signal,
      });
      return outcomeOfAnswer(answer, {
        url: settings.url,
        secrets: secretsOf(settings, authorization),
        now: context.clock.now(),
      });
    } catch (error) {
      return outcomeOfFailure(error);
    }
  },
});

const ndjson = (events: readonly HeadgateEvent[]): string =>
  events.map(event => `${JSON.stringify(event)}\n`).join('');

function authorizationOf({ authType, token, username, password }: Credentials): string | undefined {
  if (authType === 'none') return undefined;
  if (authType === 'token') return `Bearer ${reveal(token)}`;
  return `Basic ${Buffer.from(`${username ?? ''}:${reveal(password)}`).toString('base64')}`;
}

const reveal = (secret: Secret | undefined): string => secret?.reveal() ?? '';

const secretsOf = (settings: Credentials, authorization: string | undefined): string[] => [
  reveal(settings.token),
  reveal(settings.password),
  authorization?.replace(/^\w+ /, '') ?? '',
];
