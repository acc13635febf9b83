import type { Call, Verb } from '../resources/verb.ts';
import { invoke } from '../resources/verb.ts';

export type Method = 'GET' | 'POST' | 'PATCH' | 'PUT' | 'DELETE';

/** What goes over the wire. */
export interface Answer {
  readonly body: object;
  /** With its quotes, as in RFC 9110 section 8.8.3. */
  readonly etag?: string;
}

/** One row of the API: a path of `/api/v1` and the verb behind it. The permission is the verb's. */
export interface Route {
  readonly method: Method;
  readonly path: string;
  readonly summary: string;
  /**
   * `input` is the query and the places in the path; of a request that writes also `body`, undefined when none was
   * sent, and `ifMatch`, the header.
   */
  run(call: Call, input: object): Promise<Answer>;
}

interface RouteOptions<Input, Output> extends Pick<Route, 'method' | 'path' | 'summary'> {
  readonly verb: Verb<Input, Output>;
  /** Turns what the verb answers into what goes over the wire. */
  readonly shape: (output: Output) => object;
  /** The tag of the one configuration object that is answered; undefined when there is none. */
  readonly etag?: (output: Output) => string | undefined;
}

export function route<Input, Output>(options: RouteOptions<Input, Output>): Route {
  const { method, path, summary, verb, shape } = options;
  return {
    method,
    path,
    summary,
    async run(call, input) {
      const output = await invoke(verb, call, input);
      const etag = options.etag?.(output);
      return { body: shape(output), ...(etag !== undefined && { etag }) };
    },
  };
}

export const get = <Input, Output>(
  path: string,
  summary: string,
  verb: Verb<Input, Output>,
  shape: (output: Output) => object,
): Route => route({ method: 'GET', path, summary, verb, shape });
