import { STATUS_CODES } from 'node:http';
import * as z from 'zod';
import type { RetrySchedule } from '../lib/backoff.ts';
import type { Clock } from '../lib/clock.ts';
import type { HttpAnswer, HttpClient, HttpRequest } from '../lib/http/client.ts';
import { HttpFailure } from '../lib/http/failure.ts';
import { repeatedItems } from '../lib/schemas.ts';
import { LEAST_MASKED, MASK, maskSecrets } from '../lib/secret.ts';
import { truncateToBytes } from '../lib/text.ts';
import type { connectionOf } from './http-connection.ts';
import type { Outcome } from './outcome.ts';

/** Cribl's limits, in milliseconds: the first wait, the factor of the next ones, and the longest. */
const backoff = {
  initialBackoff: z
    .int()
    .min(0)
    .max(600_000)
    .default(1000)
    .describe('Wait before the first retry, in milliseconds.'),
  backoffRate: z.number().min(1).max(20).default(2).describe('Each wait is so many times the one before.'),
  maxBackoff: z
    .int()
    .min(10_000)
    .max(180_000)
    .default(10_000)
    .describe('Longest wait between retries, in milliseconds.'),
};

const responseRetry = z.strictObject({
  httpStatus: z.int().min(100).max(599).describe('HTTP status that is retried by these settings.'),
  ...backoff,
});

const timeoutRetry = z.strictObject({
  timeoutRetry: z.boolean().default(false).describe('Whether these settings apply.'),
  ...backoff,
});

const responseRetries = z
  .array(responseRetry)
  .max(100)
  .superRefine((entries, context) => {
    for (const { index } of repeatedItems(entries, ({ httpStatus }) => String(httpStatus)))
      context.addIssue({
        code: 'custom',
        path: [index, 'httpStatus'],
        message: 'must be listed once; an earlier entry has it too',
      });
  });

/** Settings of retries for a target that speaks HTTP, to be spread into its schema. */
export const retrySettings = {
  responseRetrySettings: responseRetries
    .default([])
    .describe(
      'HTTP statuses that are retried with waits of their own, for as long in all as `delivery.retrySchedule` takes.',
    ),
  timeoutRetrySettings: timeoutRetry
    .optional()
    .describe('Own waits after a time-out, for as long in all as `delivery.retrySchedule` takes.'),
  responseHonorRetryAfterHeader: z
    .boolean()
    .default(true)
    .describe('Whether the Retry-After of an answer lengthens the wait.'),
} as const;

export type RetrySettings = z.output<z.ZodObject<typeof retrySettings>>;

type Backoff = z.output<z.ZodObject<typeof backoff>>;

const toWaits = ({ initialBackoff, backoffRate, maxBackoff }: Backoff): RetrySchedule => ({
  kind: 'growing',
  firstMs: initialBackoff,
  rate: backoffRate,
  mostMs: maxBackoff,
});

/** Returns how a listed status is retried; undefined for any other. */
export function waitsForStatus(
  { responseRetrySettings }: RetrySettings,
  status: number,
): RetrySchedule | undefined {
  const own = responseRetrySettings.find(({ httpStatus }) => httpStatus === status);
  return own && toWaits(own);
}

/** Returns how a time-out is retried; undefined where the schedule decides. */
const waitsForTimeout = ({ timeoutRetrySettings: own }: RetrySettings): RetrySchedule | undefined =>
  own?.timeoutRetry ? toWaits(own) : undefined;

/** Bytes a target reads of an answer: a short one is read to its end, so that its connection can be used again. */
const MAX_ANSWER_BYTES = 64 * 1024;
const MAX_SHOWN_BYTES = 2048;

export interface HttpExchange {
  readonly url: string;
  readonly retries: RetrySettings;
  /** Texts that are never shown, though the receiver may echo them. */
  readonly secrets: readonly string[];
  /** Epoch milliseconds, for a Retry-After that is a date. */
  readonly now: number;
}

/** A request of a target, with how its failures are retried and shown. */
export interface TargetRequest
  extends Pick<HttpExchange, 'url' | 'retries' | 'secrets'>,
    Pick<HttpRequest, 'skipsVerification' | 'closesConnection' | 'isRoundRobin'> {
  readonly connection: ReturnType<typeof connectionOf>;
  readonly method?: HttpRequest['method'];
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Buffer;
}

interface RequestContext {
  readonly http: Pick<HttpClient, 'request'>;
  readonly clock: Pick<Clock, 'now'>;
  readonly signal: AbortSignal;
}

/**
 * Sends one request; `classify` turns the answer into an outcome. Rejects with errors that are no failure of the
 * exchange.
 */
export async function sendRequest(
  request: TargetRequest,
  { clock, http, signal }: RequestContext,
  classify: (answer: HttpAnswer, exchange: HttpExchange) => Outcome = classifyAnswer,
): Promise<Outcome> {
  const { url, method = 'POST', headers, body, retries, secrets, connection } = request;
  try {
    // Spelled out: to spread the parts of each request costs as much as to send it.

    const answer = await http.request({
      url,
      method,
      headers,
      body,
      timeoutMs: connection.timeoutMs,
      timeouts: connection.timeouts,
      tls: connection.tls,
      proxied: connection.proxied === true,
      proxy: connection.proxy,
      skipsVerification: request.skipsVerification === true,
      closesConnection: request.closesConnection === true,
      isRoundRobin: request.isRoundRobin === true,
      maxAnswerBytes: MAX_ANSWER_BYTES,
      signal,
    });
    return classify(answer, { url, retries, secrets, now: clock.now() });
  } catch (error) {
    return classifyFailure(error, retries);
  }
}

/**
 * True when a receiver is busy, limiting or broken for now. RFC 9110 section 15, RFC 8470 section 5.2, RFC 6585 section
 * 4.
 */
const isTransient = (status: number): boolean =>
  [408, 425, 429].includes(status) || (status >= 500 && status <= 599 && status !== 501 && status !== 505);

/** Statuses that refuse one message, and may accept others. RFC 9110 section 15.5, RFC 6585 section 5. */
const MESSAGE_STATUSES: readonly number[] = [400, 413, 415, 422, 431];

/** Statuses of a receiver, or one behind it, that failed over the request. RFC 9110 section 15.6. */
const BREAKDOWN_STATUSES: readonly number[] = [500, 502, 504];

/** Retries while a person replaces a certificate: three attempts within the time that takes. */
export const CERTIFICATE_RETRIES: RetrySchedule = { kind: 'listed', delays: [0, 300_000, 1_800_000] };

/** By status, how the operator can fix a refusal. */
const REMEDIES: Readonly<Record<number, string>> = {
  401: '; check the authentication settings',
  403: '; check the authentication settings',
  404: '; check the url',
  405: '; check the method',
  410: '; the receiver is gone for good, remove or change the target',
};

const isSuccess = (status: number): boolean => status >= 200 && status <= 299;

/** Most receivers answer nothing: of those there is nothing to mask. */
export const sentOutcome = (answer: HttpAnswer, exchange: HttpExchange): Outcome =>
  answer.body.length === 0
    ? { kind: 'sent', httpStatus: answer.status }
    : { kind: 'sent', ...redactedAnswer(answer, exchange) };

/** Classifies an answer: the one place that knows HTTP statuses. */
export function classifyAnswer(answer: HttpAnswer, exchange: HttpExchange): Outcome {
  const { status } = answer;
  if (isSuccess(status)) return sentOutcome(answer, exchange);
  const shown = redactedAnswer(answer, exchange);
  const waits = waitsForStatus(exchange.retries, status);
  if (waits === undefined && !isTransient(status))
    return {
      kind: 'refused',
      reason: refusalReason(answer, exchange),
      ...shown,
      ...(MESSAGE_STATUSES.includes(status) && { isAboutMessage: true }),
    };
  return retryOutcome(statusText(status), answer, exchange);
}

/** The receiver wants the message later: as it says itself, or by the settings for its status, or by the schedule. */
export function retryOutcome(reason: string, answer: HttpAnswer, exchange: HttpExchange): Outcome {
  const { headers, status } = answer;
  const waits = waitsForStatus(exchange.retries, status);
  const retryAfter = exchange.retries.responseHonorRetryAfterHeader ? headers['retry-after'] : undefined;
  const retryAfterMs = parseRetryAfter(retryAfter, exchange.now);
  return {
    kind: 'retry',
    reason,
    ...redactedAnswer(answer, exchange),
    ...(BREAKDOWN_STATUSES.includes(answer.status) && { mayBeAboutMessage: true }),
    ...(waits && { waits }),
    ...(retryAfterMs !== undefined && { retryAfterMs }),
    ...((status === 429 || retryAfterMs !== undefined) && { pauseTarget: true }),
  };
}

/** Returns the first 2 KB of an answer, secrets masked. */
export function redactedAnswer(
  { body, status }: HttpAnswer,
  exchange: Pick<HttpExchange, 'secrets' | 'url'>,
): { readonly httpStatus: number; readonly answer?: string } {
  const text = redactText(body, hiddenInAnswers(exchange));
  return { httpStatus: status, ...(text !== '' && { answer: text }) };
}

/** The texts that no answer shows: most targets have one address, so that those of the last one are kept. */
function hiddenInAnswers({ secrets, url }: Pick<HttpExchange, 'secrets' | 'url'>): readonly string[] {
  const last = lastHidden.get(secrets);
  if (last?.url === url) return last.texts;
  const texts = [...secrets, ...addressPieces(new URL(url))];
  lastHidden.set(secrets, { url, texts });
  return texts;
}

const lastHidden = new WeakMap<
  readonly string[],
  { readonly url: string; readonly texts: readonly string[] }
>();

/** Classifies a failure before the end of an answer. Throws again what is no failure of the exchange. */
export function classifyFailure(error: unknown, retries: RetrySettings): Outcome {
  if (!(error instanceof HttpFailure)) throw error;
  const waits = error.reason === 'timeout' ? waitsForTimeout(retries) : undefined;
  return { ...classifyConnectionFailure(error), ...(waits && { waits }) };
}

/** True when the request was written and no answer came, so that nobody knows whether it has arrived. */
export const isUnanswered = (error: unknown): boolean =>
  error instanceof HttpFailure && classifyConnectionFailure(error).kind === 'unknown';

/**
 * Classifies a failure for targets that retry by the schedule alone. A receiver that ends TLS has not read the request,
 * though it may have been written by then (RFC 8446 section 4.4.2.4).
 */
export function classifyConnectionFailure({
  message: reason,
  reason: kind,
  isWritten,
}: HttpFailure): Outcome {
  if (kind === 'forbidden-address') return { kind: 'refused', reason };
  if (kind === 'tls') return { kind: 'retry', reason, waits: CERTIFICATE_RETRIES, isTargetBroken: true };
  return { kind: isWritten ? 'unknown' : 'retry', reason };
}

export const statusText = (status: number): string => {
  const name = STATUS_CODES[status];
  return `the receiver answered ${status}${name === undefined ? '' : ` ${name}`}`;
};

function refusalReason(answer: HttpAnswer, exchange: HttpExchange): string {
  const { status } = answer;
  if (status < 300 || status > 399) return `${statusText(status)}${REMEDIES[status] ?? ''}`;
  return `${statusText(status)}: redirect not followed, Location ${locationHost(answer.headers.location, exchange.url)}`;
}

/** Returns the host only: the rest of an address may be a secret. */
function locationHost(location: string | undefined, base: string): string {
  if (location === undefined) return 'missing';
  try {
    const { host } = new URL(location, base);
    return host === '' ? 'without a host' : `host ${host}`;
  } catch {
    return 'unreadable';
  }
}

const SECONDS = /^\d{1,10}$/;
/** The three forms of RFC 9110 section 5.6.7; the last names no zone and means UTC. */
const HTTP_DATE = /^[A-Z][a-z]{2,8}, \d{2}[ -][A-Z][a-z]{2}[ -]\d{2,4} \d{2}:\d{2}:\d{2} GMT$/;
const ASCTIME_DATE = /^[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d \d{2}:\d{2}:\d{2} \d{4}$/;

/**
 * Parses the milliseconds that a receiver requests to wait (RFC 9110 section 10.2.3); undefined when it is not
 * readable.
 */
function parseRetryAfter(value: string | undefined, now: number): number | undefined {
  if (value === undefined) return undefined;
  if (SECONDS.test(value)) return Number(value) * 1000;
  const time = HTTP_DATE.test(value)
    ? Date.parse(value)
    : ASCTIME_DATE.test(value)
      ? Date.parse(`${value} GMT`)
      : Number.NaN;
  return Number.isNaN(time) ? undefined : Math.max(0, time - now);
}

/** Any address may be the key: receivers return all of it, or the part that is one. */
const addressPieces = ({ pathname, search, searchParams }: URL): readonly string[] => [
  ...[pathname + search, ...searchParams.values()].filter(({ length }) => length >= LEAST_MASKED),
  ...pathname.split('/').filter(({ length }) => length >= MIN_SECRET_SEGMENT),
];

/** A shorter one is mostly a word, such as `webhooks`. */
const MIN_SECRET_SEGMENT = 16;

/** Masks before it cuts, so that no half of a secret is left; drops control characters of terminals. */
export function redactText(body: Buffer, secrets: readonly string[]): string {
  const masked = maskSecrets(body.toString('utf8'), secrets);
  return truncateToBytes(masked.replace(/(?![\n\t])\p{Cc}/gu, ' ').trim(), MAX_SHOWN_BYTES);
}

/** The log entry of a request that did not arrive; each part of at most 2 KB, without secrets. */
export interface FailedRequest {
  readonly reason: string;
  readonly payload: string;
  /** One in each line, as `name: value`; values are masked, except those that are listed as safe. */
  readonly headers?: string;
}

interface FailedSend {
  readonly reason: string;
  /** Before it is compressed. */
  readonly payload: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly secrets: readonly string[];
}

interface FailedRequestSettings {
  readonly failedRequestLoggingMode: 'none' | 'payload' | 'payloadAndHeaders';
  readonly safeHeaders: readonly string[];
}

const MAX_HEADER_BYTES = 2048;
/** Never safe, whatever a configuration lists: with them others could send in our name. */
const NEVER_SAFE: readonly string[] = ['authorization', 'webhook-signature'];

/** Describes a request as the settings of a target want it logged; undefined for nothing. */
export function describeFailedRequest(
  { reason, payload, headers, secrets }: FailedSend,
  { failedRequestLoggingMode: mode, safeHeaders }: FailedRequestSettings,
): FailedRequest | undefined {
  if (mode === 'none') return undefined;
  // Masked before it is cut, so that no half of a secret is left.
  const shown = { reason, payload: redactText(Buffer.from(maskSecrets(payload, secrets)), []) };
  if (mode === 'payload') return shown;
  const safe = new Set(safeHeaders.map(name => name.toLowerCase()));
  const lines = Object.entries(headers).map(([name, value]) =>
    safe.has(name) && !NEVER_SAFE.includes(name) ? `${name}: ${value}` : `${name}: ${MASK}`,
  );
  return { ...shown, headers: truncateToBytes(lines.join('\n'), MAX_HEADER_BYTES) };
}
