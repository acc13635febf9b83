import { type Authentication, obtainToken } from './authentication.ts';
import { type Environment, surroundings } from './environment.ts';
import { HeadgateUsageError } from './errors.ts';
import type { Sending } from './send.ts';
import { keepTokens, type Token } from './tokens.ts';

export interface ClientOptions extends Partial<Environment> {
  /** `https://headgate.example/api/v1`; an origin alone gets `/api/v1`. */
  readonly baseUrl: string;
  /** Who calls; without it only what is public can be asked. */
  readonly auth?: Authentication;
  /** The token of a pipeline that pushes, for `ingest`. */
  readonly ingestToken?: string;
  /** For one try of a request, in milliseconds; 30 s by default. */
  readonly timeoutMs?: number;
  /** How often a request is sent again after 429, 503 or a lost connection; 3 by default. */
  readonly retries?: number;
}

/** A server, and the tokens of whoever asks it. */
export interface Connection {
  /** Without a slash at its end. */
  readonly base: string;
  readonly sending: Sending;
  /** Asks with a token, and once more with a newer one when that is refused: it may end before its time. */
  readonly withToken: <Result extends { readonly status: number }>(
    ask: (authorization: string) => Promise<Result>,
    signal: AbortSignal | undefined,
  ) => Promise<Result>;
}

/** Sends nothing yet. Throws `HeadgateUsageError` for a `baseUrl` that is none. */
export function connect(options: ClientOptions): Connection {
  const sending = sendingOf(options);
  const base = baseOf(options.baseUrl);
  const tokens = keepTokens(() => obtainToken(options.auth, base, sending), sending.environment.now);
  return {
    base,
    sending,
    async withToken(ask, signal) {
      const token = await patiently(tokens.current(), signal);
      const answer = await ask(token);
      return answer.status === 401 ? ask(await patiently(tokens.after(token), signal)) : answer;
    },
  };
}

/**
 * Gets a token as a client would, for programs that keep it for another run. Throws `HeadgateError` when it is refused.
 */
export function logIn(options: ClientOptions): Promise<Token> {
  return obtainToken(options.auth, baseOf(options.baseUrl), sendingOf(options));
}

const sendingOf = (options: ClientOptions): Sending => ({
  environment: { ...surroundings, ...given(options) },
  timeoutMs: options.timeoutMs ?? 30_000,
  retries: options.retries ?? 3,
});

function given({ fetch, now, sleep, random }: Partial<Environment>): Partial<Environment> {
  return { ...(fetch && { fetch }), ...(now && { now }), ...(sleep && { sleep }), ...(random && { random }) };
}

function baseOf(baseUrl: string): string {
  const url = URL.canParse(baseUrl) ? new URL(baseUrl) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol) || url.search !== '' || url.hash !== '')
    throw new HeadgateUsageError('baseUrl must be an address such as https://headgate.example/api/v1');
  const path = url.pathname.replace(/\/+$/, '');
  return `${url.origin}${path === '' ? '/api/v1' : path}`;
}

/** A renewal goes on for the others when one of those who wait for it gives up. */
function patiently<Result>(work: Promise<Result>, signal: AbortSignal | undefined): Promise<Result> {
  if (signal === undefined) return work;
  return new Promise((resolve, reject) => {
    const aborted = (): void => reject(signal.reason);
    if (signal.aborted) aborted();
    signal.addEventListener('abort', aborted, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', aborted));
  });
}
