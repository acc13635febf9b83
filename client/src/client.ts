import { type Answer, objectOf, readAnswer, refusalOf } from './answer.ts';
import type { CallOptions } from './call-options.ts';
import { type ClientOptions, connect } from './connection.ts';
import { HeadgateConnectionError, HeadgateUsageError } from './errors.ts';
import { keepEtag } from './etag.ts';
import { eventsIn } from './event-stream.ts';
import { OPERATIONS } from './generated/operations.ts';
import { type Page, paged } from './paged.ts';
import { type Operation, type RequestInput, requestOf } from './request.ts';
import { send } from './send.ts';
import type { Nouns } from './types.ts';

/** Every operation of the API as `client.noun.verb(input, { signal })`. */
export type Client = Nouns;

/** Makes a client. Nothing is sent before the first call. Throws `HeadgateUsageError` for a `baseUrl` that is none. */
export function createClient(options: ClientOptions): Client {
  const { base, sending, withToken } = connect(options);
  const { environment } = sending;

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

/** What the table says an operation is, its type says as well: both are generated from one document. */
function treeOf(verbOf: (operation: Operation) => unknown): Client {
  const tree: Record<string, Record<string, unknown>> = {};
  for (const [id, operation] of Object.entries(OPERATIONS)) {
    const [noun = '', verb = ''] = id.split('.');
    tree[noun] = { ...tree[noun], [verb]: verbOf(operation) };
  }
  return tree as unknown as Client;
}

function pipelineToken(token: string | undefined): string {
  if (token === undefined)
    throw new HeadgateUsageError(
      'this call needs the token of a pipeline: give createClient an `ingestToken`',
    );
  return token;
}

/** Mostly objects; a version or a count is a plain value. */
const itemsIn = ({ items }: Record<string, unknown>): unknown[] => (Array.isArray(items) ? items : []);
