import { setServerTime } from './words.js';

const TIMEOUT_MS = 10_000;

/** An answer of the API that is an error, or no answer at all: `status` is then 0. */
class ApiError extends Error {
  constructor(status, { message, code }, waitSeconds) {
    super(message);
    this.status = status;
    this.code = code;
    this.waitSeconds = waitSeconds;
  }
}

/**
 * Calls the server. `token` is for the API, `csrfToken` for what the session's cookie opens; both are kept nowhere here.
 * Throws `ApiError` with the server's own text.
 */
export async function call(path, { token, csrfToken, method = 'GET', body, signal }) {
  const limit = AbortSignal.timeout(TIMEOUT_MS);
  let answer;
  let content;
  try {
    answer = await fetch(path, {
      method,
      headers: {
        ...(token && { authorization: token }),
        ...(csrfToken && { 'x-csrf-token': csrfToken }),
        ...(body && { 'content-type': 'application/json' }),
      },
      body: body && JSON.stringify(body),
      credentials: token ? 'omit' : 'same-origin',
      cache: 'no-store',
      signal: signal ? AbortSignal.any([signal, limit]) : limit,
    });
    content = await answer.json();
  } catch {
    throw new ApiError(0, {
      message: 'Headgate does not answer. Is it running, and can this machine reach it?',
    });
  }
  setServerTime(answer.headers.get('date'));
  if (answer.ok) return content;
  const wait = Number(answer.headers.get('retry-after'));
  throw new ApiError(
    answer.status,
    { message: `The server answered ${answer.status}`, ...content },
    wait || undefined,
  );
}
