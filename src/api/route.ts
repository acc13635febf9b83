import * as z from 'zod';
import { isMap, type PlainMap } from '../config/plain.ts';
import type { Call, Verb } from '../resources/verb.ts';
import { invoke } from '../resources/verb.ts';

type Method = 'GET' | 'POST' | 'PATCH' | 'PUT' | 'DELETE';

/** What goes over the wire. */
interface Answer {
  readonly body: object;
  /** With its quotes, as in RFC 9110 section 8.8.3. */
  readonly etag?: string;
}

/** One row of the API: a path of `/api/v1` and the verb behind it. The permission is the verb's. */
export interface Route {
  readonly method: Method;
  readonly path: string;
  readonly summary: string;
  /** Whether the path is there below `/m/{group}` as well, and then about that group only. */
  readonly grouped?: boolean;
  /**
   * `input` is the query and the places in the path; of a request that writes also `body`, undefined when none was
   * sent, and `ifMatch`, the header.
   */
  run(call: Call, input: object): Promise<Answer>;
}

interface RouteOptions<Input, Output> extends Omit<Route, 'run'> {
  readonly verb: Verb<Input, Output>;
  /** Turns a body of the family's making into the verb's own. */
  readonly accept?: (body: unknown, call: Call, input: PlainMap) => unknown;
  /** Turns what the verb answers into what goes over the wire. */
  readonly shape: (output: Output) => object;
  /** The tag of the one configuration object that is answered; undefined when there is none. */
  readonly etag?: (output: Output) => string | undefined;
}

export function route<Input, Output>(options: RouteOptions<Input, Output>): Route {
  const { verb, shape, accept, etag, ...row } = options;
  return {
    ...row,
    async run(call, input) {
      const output = await invoke(accept === undefined ? verb : accepting(verb, accept, call), call, input);
      const tag = etag?.(output);
      return { body: shape(output), ...(tag !== undefined && { etag: tag }) };
    },
  };
}

/** The verb, which looks at the body as `accept` hands it over, but not before it has authorised the call. */
const accepting = <Input, Output>(
  verb: Verb<Input, Output>,
  accept: NonNullable<RouteOptions<Input, Output>['accept']>,
  call: Call,
): Verb<Input, Output> => ({
  ...verb,
  input: z.preprocess(
    input => (isMap(input) ? { ...input, body: accept(input.body, call, input) } : input),
    verb.input,
  ),
});

export const get = <Input, Output>(
  path: string,
  summary: string,
  verb: Verb<Input, Output>,
  shape: (output: Output) => object,
): Route => route({ method: 'GET', path, summary, verb, shape });
