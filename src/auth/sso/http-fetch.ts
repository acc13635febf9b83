import type { CustomFetch } from 'openid-client';
import type { HttpClient } from '../../lib/http.ts';

const TIMEOUT_MS = 10_000;
const LARGEST_ANSWER = 1024 * 1024;
const WITHOUT_BODY = [204, 205, 304];

/** The one way out over HTTP, in the form of `fetch`: what may be connected to is judged there. */
export const fetchOver =
  (http: Pick<HttpClient, 'request'>): CustomFetch =>
  async (url, { method, headers, body, signal }) => {
    const sent = body instanceof URLSearchParams ? body.toString() : body;
    const answer = await http.request({
      url,
      method: method === 'POST' ? 'POST' : 'GET',
      headers,
      ...(typeof sent === 'string' && { body: sent }),
      ...(signal !== undefined && { signal }),
      timeoutMs: TIMEOUT_MS,
      maxAnswerBytes: LARGEST_ANSWER,
    });
    if (answer.truncated) throw new Error(`an answer of the provider is over ${LARGEST_ANSWER} bytes`);
    return new Response(WITHOUT_BODY.includes(answer.status) ? null : new Uint8Array(answer.body), {
      status: answer.status,
      headers: withoutEncoding(answer.headers),
    });
  };

/** The body is decoded by now. */
const withoutEncoding = (headers: Readonly<Record<string, string>>): Record<string, string> =>
  Object.fromEntries(
    Object.entries(headers).filter(([name]) => !['content-encoding', 'content-length'].includes(name)),
  );
