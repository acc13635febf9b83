import { createHmac } from 'node:crypto';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import type { HeadgateEvent } from '../../events/event.ts';
import type { Secret } from '../../lib/secret.ts';
import { VERSION } from '../../lib/version.ts';
import { describeFailedRequest, sendRequest, type TargetRequest } from '../http-target.ts';
import type { RefusedOutcome } from '../outcome.ts';
import { defineTarget, nothingToSend, type SendContext } from '../target.ts';
import { createTemplateReporter, type TemplateReporter } from '../template-warnings.ts';
import { addressOf } from './address.ts';
import { answerJudge } from './answer.ts';
import { droppedBy, isDropped, renderBody, withMembers } from './body.ts';
import { findPreset, presetSignature } from './presets/index.ts';
import {
  connectionOf,
  connectionSecrets,
  requestPatienceMs,
  type WebhookSettings,
  webhookSettings,
  webhookTemplates,
} from './settings.ts';

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
  showsRepeats: ({ preset }) => preset !== undefined && findPreset(preset)?.dropsRepeats !== true,
  resendMs: ({ preset }) => findPreset(preset)?.resendMs,
  concurrency: settings => settings.concurrency,
  patienceMs: settings => requestPatienceMs(settings),
  batching: ({ maxPayloadEvents, maxPayloadSizeKB, flushPeriodSec }) => ({
    maxEvents: maxPayloadEvents === 0 ? Infinity : maxPayloadEvents,
    maxBytes: maxPayloadSizeKB * 1024,
    lingerMs: flushPeriodSec * 1000,
  }),
  skipReason: (event, settings) => (isDropped(event, settings) ? droppedBy(event, settings) : undefined),
  keepsOpen: ({ preset, resolveUrl }) => resolveUrl !== undefined || findPreset(preset)?.keepsOpen === true,
  opensAt: ['url', 'resolveUrl', 'preset', 'options'],
  requestKey: (event, settings) => {
    const { method, url } = requestLine(event, settings);
    return `${method} ${url}`;
  },
  async send(events, settings, context) {
    const [first] = events;
    if (first === undefined) return { kind: 'sent' };
    const composed = await compose([first, ...events.slice(1)], settings, context);
    if ('kind' in composed) return composed;
    const { request, text } = composed;
    const outcome = await sendRequest(
      request,
      context,
      answerJudge({
        successExpression: settings.successExpression,
        hasSeveralEvents: events.length > 1,
        warn: context.warn ?? ignore,
      }),
    );
    if (outcome.kind === 'sent') return outcome;
    const { headers, secrets } = request;
    const failed = describeFailedRequest(
      { reason: outcome.reason, payload: text, headers, secrets },
      settings,
    );
    if (failed) context.logFailedRequest?.(failed);
    return outcome;
  },
  async preview([first, ...others], settings, context) {
    if (first === undefined) return { kind: 'nothing', reason: 'no event' };
    const composed = await compose([first, ...others], settings, context);
    return 'kind' in composed ? nothingToSend(composed) : { kind: 'request', ...composed };
  },
});

const ignore = (): void => {};

interface ComposedRequest {
  readonly request: TargetRequest;
  /** Its body before it is compressed. */
  readonly text: string;
  /** What signs it in the address or in the body. */
  readonly hidden: readonly string[];
}

type Events = readonly [HeadgateEvent, ...HeadgateEvent[]];
type ComposeContext = Pick<SendContext, 'clock' | 'deliveryId' | 'knownFields' | 'warn'>;

/** Makes the request of the events, or says why there is none. */
async function compose(
  events: Events,
  settings: WebhookSettings,
  context: ComposeContext,
): Promise<ComposedRequest | RefusedOutcome> {
  const [first, ...others] = events;
  const fixed = fixedPartsOf(settings);
  const warn = context.warn ?? ignore;
  const rendered = renderBody(events, settings, warn);
  // Only a test reaches this.
  if (rendered === undefined)
    return { kind: 'refused', reason: droppedBy(first, settings), isAboutMessage: true };
  const { method, url } = requestLine(
    first,
    settings,
    createTemplateReporter(settings, warn, context.knownFields),
  );
  if (others.some(event => !isFor(event, settings, { method, url }))) return APART;
  const { query = {}, members = {} } = presetSignature(
    settings.preset,
    settings.secretOptions,
    context.clock.now(),
  );
  const text = withMembers(rendered, { ...members, ...fixed.members });
  const body = settings.compress ? await compressed(text) : text;
  const request = {
    url: withQuery(url, query),
    method,
    headers: {
      ...fixed.headers,
      // Standard Webhooks: the same on every attempt, so that receivers can drop repeats.
      'webhook-id': context.deliveryId,
      ...signatureOf(body, settings, context),
    },
    body,
    skipsVerification: !settings.rejectUnauthorized,
    closesConnection: !settings.keepAlive,
    isRoundRobin: settings.useRoundRobinDns,
    connection: fixed.connection,
    retries: settings,
    secrets: fixed.secrets,
  };
  return { request, text, hidden: [...Object.values(query), ...Object.values(members)] };
}

/** What of every request the settings alone decide. */
interface FixedParts extends Pick<TargetRequest, 'connection' | 'headers' | 'secrets'> {
  readonly members: Readonly<Record<string, string>>;
}

const fixedParts = new WeakMap<WebhookSettings, FixedParts>();

function fixedPartsOf(settings: WebhookSettings): FixedParts {
  const known = fixedParts.get(settings);
  if (known !== undefined) return known;
  const authorization = authorizationOf(settings);
  const made = {
    connection: connectionOf(settings),
    headers: headersOf(settings, authorization),
    secrets: secretsOf(settings, authorization),
    members: secretMembers(settings),
  };
  fixedParts.set(settings, made);
  return made;
}

type SecretSettings = Pick<WebhookSettings, 'preset' | 'secretOptions'>;

/** The keys that are sent in the body. */
const secretMembers = ({ preset, secretOptions = {} }: SecretSettings): Record<string, string> =>
  Object.fromEntries(
    Object.entries(secretOptions)
      .filter(([name]) => name !== findPreset(preset)?.signing?.secretOption)
      .map(([name, secret]) => [name, secret.reveal()]),
  );

/** What is in the query already stays as it was written. */
function withQuery(url: string, more: Readonly<Record<string, string>>): string {
  if (Object.keys(more).length === 0) return url;
  const added = new URLSearchParams({ ...more }).toString();
  const [, address = url, fragment = ''] = /^([^#]*)(#.*)?$/s.exec(url) ?? [];
  return `${address}${address.includes('?') ? '&' : '?'}${added}${fragment}`;
}

/** What was bound together before the settings changed. */
const APART: RefusedOutcome = {
  kind: 'refused',
  reason: 'these events go to different addresses now',
  isAboutMessage: true,
};

type AddressSettings = Pick<WebhookSettings, 'url' | 'method' | 'resolveUrl' | 'resolveMethod' | 'preset'>;
type RequestLine = Pick<TargetRequest, 'url'> & Required<Pick<TargetRequest, 'method'>>;

/** Where an event goes and how. A place that fails is empty, which `report` is told. */
function requestLine(
  event: HeadgateEvent,
  { url, method, resolveUrl, resolveMethod, preset }: AddressSettings,
  report?: TemplateReporter,
): RequestLine {
  if (event.status !== 'OK') return { method, url: addressOf(url, 'url').render(event, report) };
  const path = findPreset(preset)?.resolvePath;
  const own = path === undefined ? url : withPath(url, path);
  const address = resolveUrl === undefined ? addressOf(own, 'url') : addressOf(resolveUrl, 'resolveUrl');
  return { method: resolveMethod ?? method, url: address.render(event, report) };
}

/** The address with a path behind its own, and with both their queries; a `?` in a place is none. */
function withPath(url: string, path: string): string {
  const [, base = url, query = ''] = /^((?:\$\{[^}]*\}|[^?])*)\?(.*)$/s.exec(url) ?? [];
  const [more = '', own = ''] = path.split('?');
  const both = [query, own].filter(part => part !== '').join('&');
  return `${base.replace(/\/+$/, '')}${more}${both === '' ? '' : `?${both}`}`;
}

/** Most webhooks have one address, which needs no comparison. */
function isFor(event: HeadgateEvent, settings: AddressSettings, line: RequestLine): boolean {
  const { method, url } = requestLine(event, settings);
  return method === line.method && url === line.url;
}

const CONTENT_TYPES = { ndjson: 'application/x-ndjson', json_array: 'application/json' } as const;

const contentTypeOf = ({ format, customContentType }: WebhookSettings): string =>
  format === 'custom' ? customContentType : CONTENT_TYPES[format];

/** Compares names without case; the user's own headers replace ours. */
const headersOf = (
  settings: WebhookSettings,
  authorization: string | undefined,
): Readonly<Record<string, string>> => ({
  'content-type': contentTypeOf(settings),
  'user-agent': `headgate/${VERSION}`,
  ...Object.fromEntries(
    settings.extraHttpHeaders.map(({ name, value }) => [name.toLowerCase(), value.reveal()]),
  ),
  ...(settings.compress && { 'content-encoding': 'gzip' }),
  ...(authorization !== undefined && { authorization }),
});

const compressed = promisify(gzip);

const signatureOf = (
  body: string | Buffer,
  { signingSecret, previousSigningSecret }: WebhookSettings,
  { deliveryId, clock }: ComposeContext,
): Record<string, string> =>
  signatureHeaders(
    { id: deliveryId, timestamp: Math.floor(clock.now() / 1000), body },
    [signingSecret, previousSigningSecret].filter(secret => secret !== undefined),
  );

function authorizationOf({
  authType,
  authScheme,
  token,
  username,
  password,
}: WebhookSettings): string | undefined {
  if (authType === 'none') return undefined;
  if (authType === 'token') return `${authScheme ?? 'Bearer'} ${reveal(token)}`;
  return `Basic ${Buffer.from(`${username ?? ''}:${reveal(password)}`).toString('base64')}`;
}

const reveal = (secret: Secret | undefined): string => secret?.reveal() ?? '';

const secretsOf = (settings: WebhookSettings, authorization: string | undefined): string[] => [
  ...connectionSecrets(settings),
  reveal(settings.token),
  reveal(settings.password),
  reveal(settings.signingSecret),
  reveal(settings.previousSigningSecret),
  ...Object.values(settings.secretOptions ?? {}).map(secret => secret.reveal()),
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
