import { gunzipSync } from 'node:zlib';
import { cutToBytes } from '../lib/bytes.ts';
import type { HttpAnswer, HttpClient, HttpRequest } from '../lib/http.ts';
import { MASK, type Secret, withoutSecrets } from '../lib/secret.ts';

/** A request as it may be shown. */
export interface SeenRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

export interface SeenAnswer {
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
const MOST_SENT_BYTES = 64 * 1024;
const MOST_UNPACKED_BYTES = 1024 * 1024;
const MOST_ANSWERED_BYTES = 2048;

/** The same client, which remembers the last exchange, without these secrets. */
export function recordHttp(http: HttpClient, held: readonly Secret[]) {
  let request: SeenRequest | undefined;
  let answer: SeenAnswer | undefined;
  const client: HttpClient = {
    async request(sent) {
      request = seenRequest(sent, held);
      answer = undefined;
      const got = await http.request(sent);
      answer = seenAnswer(got, sent, held);
      return got;
    },
    close: http.close,
  };
  return { http: client, last: () => ({ request, answer }) };
}

function seenRequest(sent: HttpRequest, held: readonly Secret[]): SeenRequest {
  const secrets = held.map(secret => secret.reveal());
  return {
    method: sent.method,
    // An address that is a secret prints as its host.
    url: held.find(secret => secret.reveal() === sent.url)?.toString() ?? withoutSecrets(sent.url, secrets),
    headers: seenHeaders(sent.headers ?? {}),
    body: cutToBytes(withoutSecrets(textOf(sent), secrets), MOST_SENT_BYTES),
  };
}

function seenAnswer(
  { status, headers, body }: HttpAnswer,
  { url }: HttpRequest,
  held: readonly Secret[],
): SeenAnswer {
  const secrets = held.flatMap(secret => {
    const text = secret.reveal();
    return text === url ? [text, ...pieces(url)] : [text];
  });
  const text = withoutSecrets(body.toString('utf8'), secrets).replace(/(?![\n\t])\p{Cc}/gu, ' ');
  return { status, headers: shownOf(headers), body: cutToBytes(text.trim(), MOST_ANSWERED_BYTES) };
}

/** What a receiver may give back of an address that is a secret. */
function pieces(url: string): readonly string[] {
  const { pathname, search } = new URL(url);
  return [pathname + search, ...pathname.split('/')].filter(({ length }) => length >= SHORTEST_PIECE);
}

const SHORTEST_PIECE = 8;

const seenHeaders = (headers: Readonly<Record<string, string>>): Record<string, string> =>
  Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name, SHOWN_HEADERS.includes(name) ? value : MASK]),
  );

const shownOf = (headers: Readonly<Record<string, string>>): Record<string, string> =>
  Object.fromEntries(Object.entries(headers).filter(([name]) => SHOWN_HEADERS.includes(name)));

function textOf({ body = '', headers = {} }: HttpRequest): string {
  if (typeof body === 'string') return body;
  if (headers['content-encoding'] !== 'gzip') return body.toString('utf8');
  try {
    return gunzipSync(body, { maxOutputLength: MOST_UNPACKED_BYTES }).toString('utf8');
  } catch {
    return `${body.length} bytes, compressed`;
  }
}
