import { setServerTime } from './words.js';

const TIMEOUT_MS = 10_000;

/** An answer of the API that is an error, or no answer at all: `status` is then 0. */
class ApiError extends Error {
  constructor(status, message, waitSeconds) {
    super(message);
    this.status = status;
    this.waitSeconds = waitSeconds;
  }
}

/** Calls the API; `token` is sent as it is and kept nowhere here. Throws `ApiError` with the API's own text. */
export async function call(path, { token, method = 'GET', body, signal }) {
  const limit = AbortSignal.timeout(TIMEOUT_MS);
  let answer;
  let content;
  try {
    answer = await fetch(`/api/v1${path}`, {
      method,
      headers: {
        ...(token && { authorization: token }),
        ...(body && { 'content-type': 'application/json' }),
      },
      body: body && JSON.stringify(body),
      credentials: 'omit',
      cache: 'no-store',
      signal: signal ? AbortSignal.any([signal, limit]) : limit,
    });
    content = await answer.json();
  } catch {
    throw new ApiError(0, 'Headgate does not answer. Is it running, and can this machine reach it?');
  }
  setServerTime(answer.headers.get('date'));
  if (answer.ok) return content;
  const wait = Number(answer.headers.get('retry-after'));
  throw new ApiError(
    answer.status,
    content.message ?? `The server answered ${answer.status}`,
    wait || undefined,
  );
}
