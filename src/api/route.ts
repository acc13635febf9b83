import type { Call, Verb } from '../resources/verb.ts';
import { invoke } from '../resources/verb.ts';

/** One row of the API: a path of `/api/v1` and the verb behind it. The permission is the verb's. */
export interface Route {
  readonly method: 'GET';
  readonly path: string;
  readonly summary: string;
  run(call: Call, input: unknown): Promise<object>;
}

/** `shape` turns what the verb answers into what goes over the wire. */
export function get<Input, Output>(
  path: string,
  summary: string,
  verb: Verb<Input, Output>,
  shape: (output: Output) => object,
): Route {
  return { method: 'GET', path, summary, run: async (call, input) => shape(await invoke(verb, call, input)) };
}
