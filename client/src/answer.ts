import { HeadgateConnectionError, HeadgateError, type Problem } from './errors.ts';
import { retryAfterMs } from './retry.ts';

/** No answer of the API is near that size; more is somebody else's. */
const MOST_BYTES = 64 * 1024 * 1024;
/** What is quoted of an answer that no Headgate gave. */
const QUOTED = 200;

/** An answer, read to its end. */
export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

/** Reads the whole body. Throws `HeadgateConnectionError` when there is too much of it. */
export async function readAnswer({ status, headers, body }: Response): Promise<Answer> {
  const decoder = new TextDecoder();
  let text = '';
  let length = 0;
  const reader = body?.getReader();
  for (;;) {
    const part = await reader?.read();
    if (part === undefined || part.done) break;
    length += part.value.byteLength;
    if (length > MOST_BYTES) {
      await reader?.cancel();
      throw new HeadgateConnectionError(`the answer is over ${MOST_BYTES} bytes`);
    }
    text += decoder.decode(part.value, { stream: true });
  }
  return { status, headers, text: text + decoder.decode() };
}

/** The JSON object of a successful answer. */
export function objectOf({ status, text }: Answer): Record<string, unknown> {
  const value = parsed(text);
  if (value !== undefined) return value;
  throw new HeadgateConnectionError(`answered ${status} without a JSON object: ${quoted(text)}`);
}

/** What a refusal says, as RFC 6749 section 5.2 has it as well. */
export function refusalOf({ status, headers, text }: Answer, now: number): HeadgateError {
  const body = parsed(text);
  const message =
    textOf(body?.message) ?? textOf(body?.error_description) ?? `answered ${status}: ${quoted(text)}`;
  return new HeadgateError(message, {
    status,
    code: textOf(body?.code) ?? textOf(body?.error) ?? 'unknown',
    requestId: textOf(body?.requestId) ?? headers.get('x-request-id') ?? undefined,
    problems: problemsIn(body?.errors),
    retryAfterMs: retryAfterMs(headers.get('retry-after'), now),
  });
}

function parsed(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isRecord(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const textOf = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined);

const quoted = (text: string): string => (text === '' ? 'nothing' : text.slice(0, QUOTED));

const problemsIn = (value: unknown): Problem[] =>
  (Array.isArray(value) ? value : []).flatMap((one: unknown) =>
    isRecord(one) ? [{ path: String(one.path), message: String(one.message) }] : [],
  );
