import type { PublishCommandInput } from '@aws-sdk/client-sns';
import * as z from 'zod';
import { deliveryHintsOf } from '../../events/delivery-hints.ts';
import type { HeadgateEvent } from '../../events/event.ts';
import { reasonOf } from '../../lib/errors.ts';
import type { HttpClient } from '../../lib/http/client.ts';
import { HttpFailure } from '../../lib/http/failure.ts';
import { onAbort } from '../../lib/on-abort.ts';
import { CERTIFICATE_RETRIES, classifyConnectionFailure, redactText } from '../http-target.ts';
import { isTriedAgain, type Outcome } from '../outcome.ts';
import { defineTarget, type MessagePreview, nothingToSend, type SendContext } from '../target.ts';
import type { Publisher } from './client.ts';
import { shortText, snsMessage } from './message.ts';
import { evaluateGroup, evaluateTopic, NameMissing, snsTemplates } from './names.ts';
import {
  CredentialsMissing,
  configuredKeys,
  matchesPattern,
  RoleRefused,
  requestPatienceMs,
  type SnsAccess,
  type SnsSettings,
  snsSettings,
  splitNumbers,
  usesProcessIdentity,
} from './settings.ts';

/** Requests for a role and for each phone, retries of the library and waits between them, in ms. */
const BESIDE_REQUEST_MS = 20_000;
const patienceMs = (settings: SnsSettings): number => requestPatienceMs(settings) + BESIDE_REQUEST_MS;

/** Publishes events to a topic of Amazon SNS, or to phones as short messages. */
export const sns = defineTarget({
  type: 'sns',
  description: 'Publishes events to an Amazon SNS topic or to phones.',
  neverGroups: settings => settings.topicType === 'fifo',
  schema: snsSettings,
  aliases: { allowlist: 'allowList' },
  templates: snsTemplates,
  references: [],
  needsRecipients: false,
  usesProcessIdentity,
  files: [],
  testNote: ({ allowList, destinationType }) =>
    destinationType === 'topic' && allowList.length > 0
      ? 'allowList is held against phone numbers that get messages directly; SNS sends to every subscription of a topic, so look there for phones and e-mail addresses outside of it'
      : undefined,
  showsRepeats: ({ destinationType, topicType }) => destinationType !== 'topic' || topicType !== 'fifo',
  concurrency: () => 4,
  patienceMs,
  preview: publications,
  async send(events, settings, context) {
    const [event] = events;
    if (event === undefined) return { kind: 'sent' };
    const timeout = new AbortController();
    const removeListener = onAbort(context.signal, () => timeout.abort());
    const cancel = context.clock.after(patienceMs(settings), () => timeout.abort());
    const publish = (input: PublishCommandInput): Promise<Outcome> =>
      publishOnce(input, settings, context, timeout.signal);
    const { deliveryId, rest, warn = () => {} } = context;
    const publishContext = { publish, deliveryId, rest, warn };
    try {
      return settings.destinationType === 'topic'
        ? await toTopic(events, event, settings, publishContext)
        : await toPhones(event, settings, publishContext);
    } finally {
      cancel();
      removeListener();
    }
  },
});

/** What would be published, by the same way as it is. */
async function publications(
  events: readonly HeadgateEvent[],
  settings: SnsSettings,
  { deliveryId, warn = () => {} }: Pick<SendContext, 'deliveryId' | 'warn'>,
): Promise<MessagePreview> {
  const [event] = events;
  if (event === undefined) return { kind: 'nothing', reason: 'no event' };
  const inputs: PublishCommandInput[] = [];
  const publish = async (input: PublishCommandInput): Promise<Outcome> => {
    inputs.push(input);
    return { kind: 'sent' };
  };
  const context = { publish, deliveryId, rest: undefined, warn };
  const outcome =
    settings.destinationType === 'topic'
      ? await toTopic(events, event, settings, context)
      : await toPhones(event, settings, context);
  if (inputs.length === 0 && outcome.kind === 'refused') return nothingToSend(outcome);
  return { kind: 'text', title: 'Publish', text: inputs.map(input => JSON.stringify(input)).join('\n') };
}

interface PublishContext {
  readonly publish: (input: PublishCommandInput) => Promise<Outcome>;
  readonly deliveryId: string;
  /** The remainder of earlier attempts. */
  readonly rest: string | undefined;
  readonly warn: (reason: string) => void;
}

async function toTopic(
  events: readonly HeadgateEvent[],
  event: HeadgateEvent,
  settings: SnsSettings,
  { publish, deliveryId, warn }: PublishContext,
): Promise<Outcome> {
  const names = destinationFor(event, settings, warn);
  if ('kind' in names) return names;
  const { topic, group } = names;
  const { attributes, subject, text } = snsMessage(events);
  return publish({
    TopicArn: topic,
    Message: text,
    MessageAttributes: { ...attributes },
    ...(subject !== '' && { Subject: subject }),
    ...(group !== undefined && {
      MessageGroupId: idText(group),
      // The same on every attempt, and another for the end of the incident: SNS drops messages of the same id.
      MessageDeduplicationId: idText(deliveryId),
    }),
  });
}

interface Destination {
  readonly topic: string;
  /** Undefined for a topic without groups. */
  readonly group: string | undefined;
}

/** Finds where an event goes, or why that is unknown, which says nothing about the target. */
function destinationFor(
  event: HeadgateEvent,
  { topicArn, messageGroupId }: SnsSettings,
  warn: (reason: string) => void,
): Destination | Outcome {
  const refused = (reason: string): Outcome => ({ kind: 'refused', reason, isAboutMessage: true });
  const { __topicArn: wanted } = deliveryHintsOf(event);
  try {
    const topic = evaluateTopic(topicArn, event, wanted);
    if (!topic.endsWith('.fifo')) return { topic, group: undefined };
    return { topic, group: evaluateGroup(event, messageGroupId, warn) };
  } catch (error) {
    if (error instanceof NameMissing) return refused(error.message);
    throw error;
  }
}

/** Letters, digits and marks, at most 128. */
const idText = (text: string): string => text.replace(/[^\x21-\x7e]/gu, '-').slice(0, 128);

/**
 * Phones that are done, each with the reason of a refusal or null, kept with the delivery: a phone that got the message
 * must not get it again, and phones have no key that drops repeats.
 */
const restSchema = z.record(z.string(), z.string().nullable());

function parseRest(rest: string | undefined): Map<string, Outcome> {
  const known = rest === undefined ? {} : (restSchema.safeParse(JSON.parse(rest)).data ?? {});
  return new Map(
    Object.entries(known).map(([number, reason]): [string, Outcome] => [
      number,
      reason === null ? { kind: 'sent' } : { kind: 'refused', reason, isAboutMessage: true },
    ]),
  );
}

function formatRest(outcomes: ReadonlyMap<string, Outcome>): string {
  const done = [...outcomes].flatMap(([number, end]) =>
    isTriedAgain(end) ? [] : [[number, end.kind === 'sent' ? null : end.reason] as const],
  );
  return JSON.stringify(Object.fromEntries(done));
}

async function toPhones(
  event: HeadgateEvent,
  settings: SnsSettings,
  { publish, rest }: PublishContext,
): Promise<Outcome> {
  const { __phoneNumber: wanted } = deliveryHintsOf(event);
  const numbers = splitNumbers(
    typeof wanted === 'string' && wanted !== '' ? wanted : (settings.phoneNumber ?? ''),
  );
  const outcomes = parseRest(rest);
  for (const number of new Set(numbers)) {
    if (outcomes.has(number)) continue;
    const refusal = refusalOf(number, settings);
    const end = refusal ?? (await publish({ PhoneNumber: number, Message: shortText(event) }));
    outcomes.set(number, end);
  }
  const outcome = combineOutcomes(outcomes);
  return isTriedAgain(outcome) ? { ...outcome, rest: formatRest(outcomes) } : outcome;
}

function refusalOf(number: string, { allowList }: SnsSettings): Outcome | undefined {
  const refused = (reason: string): Outcome => ({ kind: 'refused', reason, isAboutMessage: true });
  if (!/^\+[1-9]\d{6,14}$/.test(number))
    return refused('no phone number such as +15555551234; set phoneNumber');
  if (allowList.length > 0 && !allowList.some(pattern => matchesPattern(pattern, number)))
    return refused('not in allowList');
  return undefined;
}

/** One phone that is not reached keeps no other from the message. */
function combineOutcomes(outcomes: ReadonlyMap<string, Outcome>): Outcome {
  const failed = [...outcomes].filter(([, end]) => end.kind !== 'sent');
  const [first] = failed;
  if (first === undefined) return { kind: 'sent', httpStatus: 200 };
  const reason = failed
    .slice(0, 10)
    .map(([number, end]) => `${number}: ${end.kind === 'sent' ? '' : end.reason}`)
    .join('; ');
  const [, whole] =
    failed.find(([, { kind }]) => kind === 'unknown') ??
    failed.find(([, { kind }]) => kind === 'retry') ??
    first;
  const taken = failed.length < outcomes.size ? 'taken for the others, ' : '';
  if (isTriedAgain(whole)) return { ...whole, reason: `${taken}${reason}` };
  return taken === ''
    ? { ...whole, ...(whole.kind === 'refused' && { reason }) }
    : { kind: 'sent', except: `${taken}${reason}` };
}

interface CachedPublisher {
  readonly publisher: Promise<Publisher>;
  readonly keys: string;
}

/** Keeps the keys of a target for each HTTP client: a role is not assumed for every message. */
const publishers = new WeakMap<SnsSettings, WeakMap<HttpClient, CachedPublisher>>();

function publisherOf(settings: SnsSettings, { http, secretOf, sender }: SendContext): Promise<Publisher> {
  const access = { settings, http, secretOf, sender };
  const keys = JSON.stringify(configuredKeys(access) ?? null);
  const ofTarget = publishers.get(settings) ?? new WeakMap<HttpClient, CachedPublisher>();
  publishers.set(settings, ofTarget);
  const known = ofTarget.get(http);
  if (known?.keys === keys) return known.publisher;
  const publisher = import('./client.ts').then(({ createPublisher }) => createPublisher(access));
  ofTarget.set(http, { publisher, keys });
  return publisher;
}

async function publishOnce(
  input: PublishCommandInput,
  settings: SnsSettings,
  context: SendContext,
  signal: AbortSignal,
): Promise<Outcome> {
  let isUnanswered = false;
  const onUnanswered = (): void => {
    isUnanswered = true;
  };
  const attempt = async (): Promise<Outcome> => {
    const publisher = await publisherOf(settings, context);
    await publisher.publish(input, { signal, onUnanswered });
    return { kind: 'sent', httpStatus: 200 };
  };
  try {
    return await attempt().catch(error => {
      if (!hasExpiredCredentials(error)) throw error;
      publishers.get(settings)?.delete(context.http);
      return attempt();
    });
  } catch (error) {
    const outcome: Outcome = signal.aborted
      ? { kind: 'retry', reason: `SNS: no end within ${patienceMs(settings) / 1000} s` }
      : classifySnsFailure(error, { settings, secretOf: context.secretOf });
    return isUnanswered && outcome.kind !== 'sent' ? asUnknown(outcome) : outcome;
  }
}

/** A retry of the library's own may have been refused after a request that was not answered. */
function asUnknown({ reason, httpStatus, answer }: Exclude<Outcome, { kind: 'sent' }>): Outcome {
  const said = { ...(httpStatus !== undefined && { httpStatus }), ...(answer !== undefined && { answer }) };
  return { kind: 'unknown', reason, ...said };
}

/** The fields of the library's errors that this product reads. */
const failure = z.object({
  name: z.string().catch(''),
  $metadata: z.object({ httpStatusCode: z.number().optional() }).optional().catch(undefined),
});

const TRANSIENT =
  /^(Throttl|TooManyRequests|RequestLimitExceeded|KMSThrottling|InternalError|InternalFailure|ServiceUnavailable|RequestTimeout)/;
const EXPIRED = /^(ExpiredToken|RequestExpired|TokenRefreshRequired)/;
/** Errors about one message or one phone, as documented for Publish. */
const MESSAGE_ERRORS =
  /^(InvalidParameter|ParameterValueInvalid|OptedOut|ValidationException|InvalidMessage|MessageRejected)/;
const NO_CREDENTIALS = /^(CredentialsProviderError|TokenProviderError)$/;

const REMEDY_OF_KEYS =
  /^(InvalidClientTokenId|SignatureDoesNotMatch|UnrecognizedClient|InvalidAccessKeyId|InvalidSecurity)/;
const REMEDIES: readonly (readonly [name: RegExp, remedy: string])[] = [
  [/^(AuthorizationError|AccessDenied)/, 'the keys may not publish there; grant sns:Publish'],
  [REMEDY_OF_KEYS, 'check the keys'],
  [/^NotFound/, 'check topicArn and region'],
];
const ROLE_REMEDIES: typeof REMEDIES = [
  [
    /^AccessDenied/,
    'the keys may not take on the role; grant sts:AssumeRole and let the role trust them, and check assumeRoleExternalId',
  ],
  [REMEDY_OF_KEYS, 'check the keys'],
];

/** True for expired keys: new ones are requested, and the message is tried again at once. */
const hasExpiredCredentials = (error: unknown): boolean =>
  EXPIRED.test(failure.safeParse(error instanceof RoleRefused ? error.cause : error).data?.name ?? '');

type Redaction = Pick<SnsAccess, 'secretOf' | 'settings'>;

/** Classifies that a role was not taken on: nothing was sent, and all messages fail until it is. */
function classifyRoleFailure(cause: unknown, access: Redaction): Outcome {
  if (cause instanceof HttpFailure) {
    const outcome = classifyConnectionFailure(cause);
    const reason = `STS: ${cause.message}`;
    const isLost = outcome.kind === 'sent' || outcome.kind === 'unknown';
    return isLost ? { kind: 'retry', reason } : { ...outcome, reason };
  }
  const { name = '', $metadata } = failure.safeParse(cause).data ?? {};
  const status = $metadata?.httpStatusCode;
  const answer = redactError(`${name}: ${reasonOf(cause)}`, access);
  if (NO_CREDENTIALS.test(name)) return withoutKeys(answer);
  const remedy = ROLE_REMEDIES.find(([pattern]) => pattern.test(name))?.[1] ?? 'check assumeRoleArn';
  const details = {
    reason: `STS answered ${answer}; ${remedy}`,
    answer,
    ...(status !== undefined && { httpStatus: status }),
  };
  if (isPassing(name, status)) return { kind: 'retry', ...details };
  // Somebody grants it, and AWS takes a while until it is known everywhere.
  return { kind: 'retry', ...details, waits: CERTIFICATE_RETRIES, isTargetBroken: true };
}

const withoutKeys = (answer: string): Outcome => ({
  kind: 'retry',
  reason: `no keys for AWS: ${answer}`,
  waits: CERTIFICATE_RETRIES,
  isTargetBroken: true,
});

const isPassing = (name: string, status: number | undefined): boolean =>
  status === undefined ||
  status >= 500 ||
  [408, 429].includes(status) ||
  TRANSIENT.test(name) ||
  EXPIRED.test(name);

/** Classifies the failure of a message that was not accepted. */
function classifySnsFailure(error: unknown, access: Redaction): Outcome {
  if (error instanceof RoleRefused) return classifyRoleFailure(error.cause, access);
  if (error instanceof CredentialsMissing) return { kind: 'refused', reason: error.message };
  if (error instanceof HttpFailure) return classifyConnectionFailure(error);
  const { name = '', $metadata } = failure.safeParse(error).data ?? {};
  const status = $metadata?.httpStatusCode;
  const answer = redactError(`${name}: ${reasonOf(error)}`, access);
  if (NO_CREDENTIALS.test(name)) return withoutKeys(answer);
  const remedy = REMEDIES.find(([pattern]) => pattern.test(name))?.[1];
  const reason = `SNS answered ${answer}${remedy === undefined ? '' : `; ${remedy}`}`;
  const details = { reason, answer, ...(status !== undefined && { httpStatus: status }) };
  if (/^(Throttl|TooMany|RequestLimit|KMSThrottling)/.test(name) || status === 429)
    return { kind: 'retry', ...details, pauseTarget: true };
  if (isPassing(name, status)) return { kind: 'retry', ...details };
  return { kind: 'refused', ...details, ...(MESSAGE_ERRORS.test(name) && { isAboutMessage: true }) };
}

function redactError(text: string, access: Redaction): string {
  const secret = configuredKeys(access)?.secretAccessKey;
  return redactText(Buffer.from(text), secret === undefined ? [] : [secret])
    .replace(/\s+/g, ' ')
    .slice(0, 500);
}
