import { type Answer, isRecord, objectOf, readAnswer, refusalOf } from './answer.ts';
import { type Authentication, obtainToken } from './authentication.ts';
import type { CallOptions } from './call-options.ts';
import { type Environment, surroundings } from './environment.ts';
import { HeadgateConnectionError, HeadgateUsageError } from './errors.ts';
import { keepEtag } from './etag.ts';
import { eventsIn } from './event-stream.ts';
import { OPERATIONS } from './generated/operations.ts';
import { type Page, paged } from './paged.ts';
import { type Operation, type RequestInput, requestOf } from './request.ts';
import { type Sending, send } from './send.ts';
import { keepTokens, type Token } from './tokens.ts';
import type { Nouns } from './types.ts';

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

/** Every operation of the API as `client.noun.verb(input, { signal })`. */
export type Client = Nouns;

/** Makes a client. Nothing is sent before the first call. Throws `HeadgateUsageError` for a `baseUrl` that is none. */
export function createClient(options: ClientOptions): Client {
  const sending = sendingOf(options);
  const { environment } = sending;
  const base = baseOf(options.baseUrl);
  const tokens = keepTokens(() => obtainToken(options.auth, base, sending), environment.now);

  async function answered(
    operation: Operation,
    input: RequestInput,
    { signal }: CallOptions,
  ): Promise<Answer> {
    const request = requestOf(operation, input, base);
    const sent = (authorization?: string) =>
      send(
        {
          ...request,
          headers: { ...request.headers, ...(authorization !== undefined && { authorization }) },
          signal,
        },
        sending,
      );
    if (operation.access === 'public') return sent();
    if (operation.access === 'pipeline') return sent(`Bearer ${pipelineToken(options.ingestToken)}`);
    return withToken(sent, signal);
  }

  /** A token may end before its time, by a restart with new keys or by an administrator: one new one, one more try. */
  async function withToken<Result extends { readonly status: number }>(
    ask: (authorization: string) => Promise<Result>,
    signal: AbortSignal | undefined,
  ): Promise<Result> {
    const token = await patiently(tokens.current(), signal);
    const answer = await ask(token);
    return answer.status === 401 ? ask(await patiently(tokens.after(token), signal)) : answer;
  }

  async function call(operation: Operation, input: RequestInput, options: CallOptions) {
    const answer = await answered(operation, input, options);
    if (answer.status !== 200) throw refusalOf(answer, environment.now());
    return { body: objectOf(answer), etag: answer.headers.get('etag') };
  }

  async function single(operation: Operation, input: RequestInput, options: CallOptions): Promise<unknown> {
    const { body, etag } = await call(operation, input, options);
    if (operation.answer === 'object') return body;
    const [item] = itemsIn(body);
    if (item === undefined && operation.answer === 'item')
      throw new HeadgateConnectionError('the answer holds no item');
    return keepEtag(item, etag);
  }

  async function page(
    operation: Operation,
    input: RequestInput,
    options: CallOptions,
  ): Promise<Page<unknown>> {
    const { body } = await call(operation, input, options);
    const items = itemsIn(body);
    const { offset, limit, totalCount } = body;
    return {
      items,
      offset: typeof offset === 'number' ? offset : 0,
      limit: typeof limit === 'number' ? limit : items.length,
      totalCount: typeof totalCount === 'number' ? totalCount : items.length,
    };
  }

  /** A stream is read as it comes and has no time limit; whoever leaves the loop ends it. */
  async function* stream(
    operation: Operation,
    input: RequestInput,
    options: CallOptions,
  ): AsyncGenerator<unknown> {
    const { url, headers } = requestOf(operation, input, base);
    const open = async (authorization: string): Promise<Response> =>
      environment.fetch(url, {
        headers: { ...headers, accept: 'text/event-stream', authorization },
        redirect: 'error',
        signal: options.signal ?? null,
      });
    const answer = await withToken(open, options.signal);
    if (answer.status !== 200 || answer.body === null)
      throw refusalOf(await readAnswer(answer), environment.now());
    yield* eventsIn(answer.body);
  }

  function verbOf(operation: Operation) {
    return (input: RequestInput = {}, options: CallOptions = {}): unknown => {
      if (operation.answer === 'stream') return stream(operation, input, options);
      return operation.answer === 'list'
        ? paged((place, how) => page(operation, { ...input, ...place }, how), input, options)
        : single(operation, input, options);
    };
  }

  return treeOf(verbOf);
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

/** What the table says an operation is, its type says as well: both are generated from one document. */
function treeOf(verbOf: (operation: Operation) => unknown): Client {
  const tree: Record<string, Record<string, unknown>> = {};
  for (const [id, operation] of Object.entries(OPERATIONS)) {
    const [noun = '', verb = ''] = id.split('.');
    tree[noun] = { ...tree[noun], [verb]: verbOf(operation) };
  }
  return tree as unknown as Client;
}

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

function pipelineToken(token: string | undefined): string {
  if (token === undefined)
    throw new HeadgateUsageError(
      'this call needs the token of a pipeline: give createClient an `ingestToken`',
    );
  return token;
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

const itemsIn = ({ items }: Record<string, unknown>): Record<string, unknown>[] =>
  Array.isArray(items) ? items.filter(isRecord) : [];
