import { createHmac } from 'node:crypto';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import type { Secret } from '../../lib/secret.ts';
import { VERSION } from '../../lib/version.ts';
import { describeFailedRequest, sendRequest } from '../http-target.ts';
import { defineTarget, type SendContext } from '../target.ts';
import { isDropped, renderBody } from './body.ts';
import { type WebhookSettings, webhookSettings, webhookTemplates } from './settings.ts';

/** Posts events to the user's address. */
export const webhook = defineTarget({
  type: 'webhook',
  description: 'Sends events to an HTTP address.',
  schema: webhookSettings,
  templates: webhookTemplates,
  references: [],
  needsRecipients: false,
  usesProcessIdentity: () => undefined,
  files: [],
  concurrency: settings => settings.concurrency,
  batching: ({ maxPayloadEvents, maxPayloadSizeKB, flushPeriodSec }) => ({
    maxEvents: maxPayloadEvents === 0 ? Infinity : maxPayloadEvents,
    maxBytes: maxPayloadSizeKB * 1024,
    lingerMs: flushPeriodSec * 1000,
  }),
  skipReason: (event, settings) => (isDropped(event, settings) ? DROPPED : undefined),
  async send(events, settings, context) {
    const authorization = authorizationOf(settings);
    const text = renderBody(events, settings, context.warn ?? ignore);
    // Only a test reaches this.
    if (text === undefined) return { kind: 'refused', reason: DROPPED, isAboutMessage: true };
    const secrets = secretsOf(settings, authorization);
    const body = settings.compress ? await compressed(text) : text;
    const headers = {
      ...headersOf(settings, context.deliveryId, authorization),
      ...signatureOf(body, settings, context),
    };
    const outcome = await sendRequest(
      {
        url: settings.url,
        method: settings.method,
        headers,
        body,
        skipsVerification: !settings.rejectUnauthorized,
        closesConnection: !settings.keepAlive,
        isRoundRobin: settings.useRoundRobinDns,
        timeoutMs: settings.timeoutSec * 1000,
        ...{ retries: settings, secrets },
      },
      context,
    );
    if (outcome.kind === 'sent') return outcome;
    const failed = describeFailedRequest(
      { reason: outcome.reason, payload: text, headers, secrets },
      settings,
    );
    if (failed) context.logFailedRequest?.(failed);
    return outcome;
  },
});

const ignore = (): void => {};

const DROPPED = 'dropped by srcExpression';

const CONTENT_TYPES = { ndjson: 'application/x-ndjson', json_array: 'application/json' } as const;

const contentTypeOf = ({ format, customContentType }: WebhookSettings): string =>
  format === 'custom' ? customContentType : CONTENT_TYPES[format];

/** Compares names without case; the user's own headers replace ours. */
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
  signatureHeaders(
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

/**
 * The text after a scheme such as `GenieKey` is the key itself. A flag such as `on` is no secret and stands everywhere.
 */
const headerSecrets = (value: string): string[] => [value, value.replace(/^\w+ /, '')];

interface SignedMessage {
  readonly id: string;
  /** Epoch seconds of the attempt. */
  readonly timestamp: number;
  /** As it goes over the wire. */
  readonly body: string | Buffer;
}

/** The fields of Standard Webhooks 1.0 that prove who sent a message; with two secrets it is signed by both. */
function signatureHeaders(
  { id, timestamp, body }: SignedMessage,
  secrets: readonly Secret[],
): Record<string, string> {
  if (secrets.length === 0) return {};
  const signatures = secrets.map(secret => {
    const key = Buffer.from(secret.reveal().slice('whsec_'.length), 'base64');
    const hmac = createHmac('sha256', key).update(`${id}.${timestamp}.`).update(body);
    return `v1,${hmac.digest('base64')}`;
  });
  return { 'webhook-timestamp': String(timestamp), 'webhook-signature': signatures.join(' ') };
}
