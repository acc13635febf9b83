import { gunzipSync } from 'node:zlib';
import type { HttpAnswer, HttpClient, HttpRequest } from '../lib/http/client.ts';
import { MASK, maskSecrets, SecretUrl } from '../lib/secret.ts';
import { truncateToBytes } from '../lib/text.ts';

/** A request as it may be shown. */
export interface RecordedRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

export interface RecordedAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** Headers that are never secret; of others only the names are shown. */
const SHOWN_HEADERS: readonly string[] = [
  'content-encoding',
  'content-type',
  'retry-after',
  'user-agent',
  'webhook-id',
  'webhook-timestamp',
];
const MAX_REQUEST_BYTES = 64 * 1024;
const MAX_UNPACKED_BYTES = 1024 * 1024;
const MAX_ANSWER_BYTES = 2048;

/** The same client, which remembers the last exchange, without these texts. */
export function recordHttp(http: HttpClient, hidden: readonly string[]) {
  let request: RecordedRequest | undefined;
  let answer: RecordedAnswer | undefined;
  const client: HttpClient = {
    async request(sent) {
      request = toRecordedRequest(sent, hidden);
      answer = undefined;
      const got = await http.request(sent);
      answer = toRecordedAnswer(got, hidden);
      return got;
    },
    close: http.close,
  };
  return { http: client, last: () => ({ request, answer }) };
}

function toRecordedRequest(sent: HttpRequest, hidden: readonly string[]): RecordedRequest {
  return {
    method: sent.method,
    // An address that is a secret prints as its host.
    url: hidden.includes(sent.url) ? new SecretUrl(sent.url).toString() : maskSecrets(sent.url, hidden),
    headers: maskHeaders(sent.headers ?? {}, hidden),
    body: truncateToBytes(maskSecrets(textOf(sent), hidden), MAX_REQUEST_BYTES),
  };
}

function toRecordedAnswer({ status, headers, body }: HttpAnswer, hidden: readonly string[]): RecordedAnswer {
  const text = maskSecrets(body.toString('utf8'), hidden).replace(/(?![\n\t])\p{Cc}/gu, ' ');
  return { status, headers: pickShownHeaders(headers), body: truncateToBytes(text.trim(), MAX_ANSWER_BYTES) };
}

/** Names of headers are sent in lower case. */
function maskHeaders(
  headers: Readonly<Record<string, string>>,
  hidden: readonly string[],
): Record<string, string> {
  const names = hidden.map(text => text.toLowerCase());
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) =>
      SHOWN_HEADERS.includes(name) ? [name, value] : [maskSecrets(name, names), MASK],
    ),
  );
}

const pickShownHeaders = (headers: Readonly<Record<string, string>>): Record<string, string> =>
  Object.fromEntries(Object.entries(headers).filter(([name]) => SHOWN_HEADERS.includes(name)));

function textOf({ body = '', headers = {} }: HttpRequest): string {
  if (typeof body === 'string') return body;
  if (headers['content-encoding'] !== 'gzip') return body.toString('utf8');
  try {
    return gunzipSync(body, { maxOutputLength: MAX_UNPACKED_BYTES }).toString('utf8');
  } catch {
    return `${body.length} bytes, compressed`;
  }
}
