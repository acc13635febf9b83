import { objectOf, refusalOf } from './answer.ts';
import type { CallOptions } from './call-options.ts';
import { type ClientOptions, connect } from './connection.ts';
import { type RequestInput, requestOf } from './request.ts';
import { send } from './send.ts';

/** An address below `baseUrl`. */
export interface Call {
  readonly method: string;
  /** The input fills its `{name}` places. */
  readonly path: string;
  /** Names in the input that go into the query. */
  readonly query?: readonly string[];
}

/** Answers the object that came back, or undefined when nothing did. Throws as the operations of a client. */
export type Caller = (
  call: Call,
  input?: RequestInput,
  options?: CallOptions,
) => Promise<Record<string, unknown> | undefined>;

/**
 * Makes what asks addresses beside the API's document, such as the management plane of a hosted deployment, with the
 * tokens and the patience of a client. Nothing is sent before the first call. Throws as `createClient`.
 */
export function createCaller(options: ClientOptions): Caller {
  const { base, sending, withToken } = connect(options);
  return async (call, input = {}, { signal } = {}) => {
    const request = requestOf({ query: [], ...call, access: 'token', answer: 'object' }, input, base);
    const answer = await withToken(
      authorization => send({ ...request, headers: { ...request.headers, authorization }, signal }, sending),
      signal,
    );
    if (answer.status === 202 || answer.status === 204) return undefined;
    if (answer.status !== 200 && answer.status !== 201) throw refusalOf(answer, sending.environment.now());
    return objectOf(answer);
  };
}
