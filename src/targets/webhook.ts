import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import type { Secret } from '../lib/secret.ts';
import { VERSION } from '../lib/version.ts';
import { failedRequest } from './failed-request.ts';
import { MAX_ANSWER_BYTES, outcomeOfAnswer, outcomeOfFailure } from './http-outcome.ts';
import type { Outcome } from './outcome.ts';
import { defineTarget, type SendContext } from './target.ts';
import { bodyText, isDropped } from './webhook-body.ts';
import { type WebhookSettings, webhookSettings } from './webhook-settings.ts';
import { signed } from './webhook-signature.ts';

/** Posts events to an address of the user's. */
export const webhook = defineTarget({
  type: 'webhook',
  description: 'Sends events to an HTTP address.',
  schema: webhookSettings,
  concurrency: settings => settings.concurrency,
  batching: ({ maxPayloadEvents, maxPayloadSizeKB, flushPeriodSec }) => ({
    maxEvents: maxPayloadEvents === 0 ? Infinity : maxPayloadEvents,
    maxBytes: maxPayloadSizeKB * 1024,
    gatherMs: flushPeriodSec * 1000,
  }),
  skipsBecause: (event, settings) => (isDropped(event, settings) ? DROPPED : undefined),
  async send(events, settings, context) {
    const authorization = authorizationOf(settings);
    const text = bodyText(events, settings, context.warn ?? ignore);
    // Nothing but a test comes here then.
    if (text === undefined) return { kind: 'refused', reason: DROPPED, isAboutMessage: true };
    const secrets = secretsOf(settings, authorization);
    const body = settings.compress ? await compressed(text) : text;
    const headers = {
      ...headersOf(settings, context.deliveryId, authorization),
      ...signatureOf(body, settings, context),
    };
    const outcome = await exchange({ headers, body, secrets }, settings, context);
    if (outcome.kind === 'sent') return outcome;
    const failed = failedRequest({ reason: outcome.reason, payload: text, headers, secrets }, settings);
    if (failed) context.failed?.(failed);
    return outcome;
  },
});

interface Message {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Buffer;
  readonly secrets: readonly string[];
}

async function exchange(
  { headers, body, secrets }: Message,
  settings: WebhookSettings,
  context: SendContext,
): Promise<Outcome> {
  const { url } = settings;
  try {
    const answer = await context.http.request({
      url,
      method: settings.method,
      headers,
      body,
      trustsAnyone: !settings.rejectUnauthorized,
      closes: !settings.keepAlive,
      timeoutMs: settings.timeoutSec * 1000,
      maxAnswerBytes: MAX_ANSWER_BYTES,
      proxied: true,
      takesTurns: settings.useRoundRobinDns,
      signal: context.signal,
    });
    return outcomeOfAnswer(answer, { url, retries: settings, secrets, now: context.clock.now() });
  } catch (error) {
    return outcomeOfFailure(error, settings);
  }
}

const ignore = (): void => {};

const DROPPED = 'dropped by srcExpression';

const CONTENT_TYPES = { ndjson: 'application/x-ndjson', json_array: 'application/json' } as const;

const contentTypeOf = ({ format, customContentType }: WebhookSettings): string =>
  format === 'custom' ? customContentType : CONTENT_TYPES[format];

/** Names are compared without case, and the user's own win over ours. */
const headersOf = (
  settings: WebhookSettings,
  deliveryId: string,
  authorization: string | undefined,
): Record<string, string> => ({
  'content-type': contentTypeOf(settings),
  'user-agent': `headgate/${VERSION}`,
  ...Object.fromEntries(
    settings.extraHttpHeaders.map(({ name, value }) => [name.toLowerCase(), value.reveal()]),
  ),
  ...(settings.compress && { 'content-encoding': 'gzip' }),
  // Standard Webhooks: the same on every attempt, so that receivers can drop repeats.
  'webhook-id': deliveryId,
  ...(authorization !== undefined && { authorization }),
});

const compressed = promisify(gzip);

const signatureOf = (
  body: string | Buffer,
  { signingSecret, previousSigningSecret }: WebhookSettings,
  { deliveryId, clock }: SendContext,
): Record<string, string> =>
  signed(
    { id: deliveryId, timestamp: Math.floor(clock.now() / 1000), body },
    [signingSecret, previousSigningSecret].filter(secret => secret !== undefined),
  );

function authorizationOf({ authType, token, username, password }: WebhookSettings): string | undefined {
  if (authType === 'none') return undefined;
  if (authType === 'token') return `Bearer ${reveal(token)}`;
  return `Basic ${Buffer.from(`${username ?? ''}:${reveal(password)}`).toString('base64')}`;
}

const reveal = (secret: Secret | undefined): string => secret?.reveal() ?? '';

const secretsOf = (settings: WebhookSettings, authorization: string | undefined): string[] => [
  reveal(settings.token),
  reveal(settings.password),
  reveal(settings.signingSecret),
  reveal(settings.previousSigningSecret),
  authorization?.replace(/^\w+ /, '') ?? '',
  ...settings.extraHttpHeaders.flatMap(({ value }) => headerSecrets(value.reveal())),
];

/** What follows a scheme such as `GenieKey` is the key itself. A flag such as `on` is no secret and stands everywhere. */
const headerSecrets = (value: string): string[] =>
  [value, value.replace(/^\w+ /, '')].filter(text => text.length >= SHORTEST_HEADER_SECRET);

const SHORTEST_HEADER_SECRET = 4;
