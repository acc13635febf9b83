import { STATUS_CODES } from 'node:http';
import type { Waits } from '../lib/backoff.ts';
import { cutToBytes } from '../lib/bytes.ts';
import { type HttpAnswer, HttpFailure } from '../lib/http.ts';
import { MASK } from '../lib/secret.ts';
import type { Outcome } from './outcome.ts';
import { type RetrySettings, waitsOfStatus, waitsOfTimeout } from './retry-settings.ts';

/** Bytes a target reads of an answer: a short one is read to its end, so that its connection can be used again. */
export const MAX_ANSWER_BYTES = 64 * 1024;
const KEPT_ANSWER_BYTES = 2048;

export interface Exchange {
  readonly url: string;
  readonly retries: RetrySettings;
  /** What must not be shown although the receiver may echo it. */
  readonly secrets: readonly string[];
  /** Epoch milliseconds, for a Retry-After that is a date. */
  readonly now: number;
}

/** A receiver that is busy, limiting or broken for now. RFC 9110 section 15, RFC 8470 section 5.2, RFC 6585 section 4. */
const isPassing = (status: number): boolean =>
  [408, 425, 429].includes(status) || (status >= 500 && status <= 599 && status !== 501 && status !== 505);

/** What says nothing of the receiver: it does not like this one message. RFC 9110 section 15.5, RFC 6585 section 5. */
const ABOUT_THE_MESSAGE: readonly number[] = [400, 413, 415, 422, 431];

/** A certificate is mended by a person: three tries within the time that takes. */
export const CERTIFICATE_WAITS: Waits = { kind: 'listed', delays: [0, 300_000, 1_800_000] };

/** What the operator can do about a refusal. */
const REMEDIES: Readonly<Record<number, string>> = {
  401: '; check the authentication settings',
  403: '; check the authentication settings',
  404: '; check the url',
  405: '; check the method',
  410: '; the receiver is gone for good, remove or change the target',
};

/** What an answer means for the delivery: the one place that classes HTTP statuses. */
export function outcomeOfAnswer(answer: HttpAnswer, exchange: Exchange): Outcome {
  const { status } = answer;
  if (status >= 200 && status <= 299) return { kind: 'sent', httpStatus: status };
  const shown = shownAnswer(answer, exchange);
  const waits = waitsOfStatus(exchange.retries, status);
  if (waits === undefined && !isPassing(status))
    return {
      kind: 'refused',
      reason: refusal(answer, exchange),
      ...shown,
      ...(ABOUT_THE_MESSAGE.includes(status) && { isAboutMessage: true }),
    };
  const wish = exchange.retries.responseHonorRetryAfterHeader ? answer.headers['retry-after'] : undefined;
  const retryAfterMs = parseRetryAfter(wish, exchange.now);
  return {
    kind: 'retry',
    reason: said(status),
    ...shown,
    ...(waits && { waits }),
    ...(retryAfterMs !== undefined && { retryAfterMs }),
    ...((status === 429 || retryAfterMs !== undefined) && { pauseTarget: true }),
  };
}

/** What is kept of an answer: its first 2 KB, without what is secret. */
export function shownAnswer(
  { body, status }: HttpAnswer,
  exchange: Pick<Exchange, 'secrets' | 'url'>,
): { readonly httpStatus: number; readonly answer?: string } {
  const text = readable(body, secretForms(exchange));
  return { httpStatus: status, ...(text !== '' && { answer: text }) };
}

/** What it means that no answer came. Anything but a failure of the exchange is thrown again. */
export function outcomeOfFailure(error: unknown, retries: RetrySettings): Outcome {
  if (!(error instanceof HttpFailure)) throw error;
  const { reason: kind, message: reason } = error;
  if (kind === 'forbidden-address') return { kind: 'refused', reason };
  if (kind === 'tls') return { kind: 'retry', reason, waits: CERTIFICATE_WAITS, isTargetBroken: true };
  const waits = kind === 'timeout' ? waitsOfTimeout(retries) : undefined;
  return { kind: 'retry', reason, ...(waits && { waits }) };
}

const said = (status: number): string => {
  const name = STATUS_CODES[status];
  return `the receiver answered ${status}${name === undefined ? '' : ` ${name}`}`;
};

function refusal(answer: HttpAnswer, exchange: Exchange): string {
  const { status } = answer;
  if (status < 300 || status > 399) return `${said(status)}${REMEDIES[status] ?? ''}`;
  return `${said(status)}: redirect not followed, Location ${locationHost(answer.headers.location, exchange.url)}`;
}

/** The host only: the rest of an address may be a secret. */
function locationHost(location: string | undefined, base: string): string {
  if (location === undefined) return 'missing';
  try {
    return `host ${new URL(location, base).host}`;
  } catch {
    return 'unreadable';
  }
}

const SECONDS = /^\d{1,10}$/;
/** The three forms of RFC 9110 section 5.6.7; the last names no zone and means UTC. */
const HTTP_DATE = /^[A-Z][a-z]{2,8}, \d{2}[ -][A-Z][a-z]{2}[ -]\d{2,4} \d{2}:\d{2}:\d{2} GMT$/;
const ASCTIME_DATE = /^[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d \d{2}:\d{2}:\d{2} \d{4}$/;

/** Milliseconds a receiver asks to wait (RFC 9110 section 10.2.3); undefined when it does not say so readably. */
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

/** Secrets as receivers echo them: plain, inside JSON, inside an address. */
function secretForms(exchange: Pick<Exchange, 'secrets' | 'url'>): readonly string[] {
  const secrets = [...exchange.secrets, ...secretPieces(new URL(exchange.url))];
  const forms = secrets.flatMap(secret => [
    secret,
    JSON.stringify(secret).slice(1, -1),
    encodeURIComponent(secret),
  ]);
  return [...new Set(forms)].filter(form => form !== '').sort((a, b) => b.length - a.length);
}

/** An address may be the key: receivers give back all of it, or the part that is one. */
const secretPieces = ({ pathname, search, searchParams }: URL): readonly string[] => [
  ...[pathname + search, ...searchParams.values()].filter(({ length }) => length >= SHORTEST_SECRET_PIECE),
  ...pathname.split('/').filter(({ length }) => length >= SHORTEST_SECRET_SEGMENT),
];

const SHORTEST_SECRET_PIECE = 8;
/** A shorter one is mostly a word, such as `webhooks`. */
const SHORTEST_SECRET_SEGMENT = 16;

/** Masked before it is cut, so that no half of a secret is left; without characters that steer a terminal. */
export function readable(body: Buffer, secrets: readonly string[]): string {
  const masked = secrets.reduce((text, secret) => text.replaceAll(secret, MASK), body.toString('utf8'));
  return cutToBytes(masked.replace(/(?![\n\t])\p{Cc}/gu, ' ').trim(), KEPT_ANSWER_BYTES);
}
