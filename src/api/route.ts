import * as z from 'zod';
import { isMap, type PlainMap } from '../config/plain.ts';
import type { ErrorCode } from '../lib/errors.ts';
import type { Call } from '../resources/context.ts';
import { invoke, type Verb } from '../resources/verb.ts';
import type { Body, Method, Operation, OperationExample, RouteAnswer, Shape } from './operation.ts';

/** What goes over the wire. */
interface RouteReply {
  readonly body: object;
  /** With its quotes, as in RFC 9110 section 8.8.3. */
  readonly etag?: string;
}

/** An operation of `/api/v1` and the verb behind it. */
export interface Route extends Operation {
  /** Whether the path is there below `/m/{group}` as well, and then about that group only. */
  readonly grouped: boolean;
  /** Whether only the process that leads can answer: it reads the pipelines and holds the configuration. */
  readonly isLive: boolean;
  /** Whether it is about the whole installation, which is not a workspace's where there are many: hosted, it is not there. */
  readonly isOfInstallation: boolean;
  /**
   * `input` is the query and the places in the path; of a request that writes also `body`, undefined when none was
   * sent, and `ifMatch`, the header.
   */
  run(call: Call, input: object): Promise<RouteReply>;
}

interface RouteOptions<Input, Output> {
  readonly id: Operation['id'];
  readonly method: Method;
  readonly path: string;
  readonly summary: string;
  readonly description?: string;
  readonly grouped?: boolean;
  /** False for what lies in the store alone, which every process reads. */
  readonly isLive?: false;
  readonly isOfInstallation?: true;
  readonly verb: Verb<Input, Output>;
  /** What the body is called, and how it looks where that is more than the verb's own schema says. */
  readonly takes?: { readonly shape: Omit<Shape, 'schema'> & Partial<Shape>; readonly kind?: Body['kind'] };
  readonly answer: RouteAnswer<Output>;
  /** Turns a body of the family's making into the verb's own. */
  readonly accept?: (body: unknown, call: Call, input: PlainMap) => unknown;
  /** The tag of the one configuration object that is answered; undefined when there is none. */
  readonly etag?: (output: Output) => string | undefined;
  readonly errors?: readonly ErrorCode[];
  readonly example?: OperationExample;
}

/** The permission, the places, the query and their limits are the verb's: nothing is said twice. */
export function route<Input, Output>(options: RouteOptions<Input, Output>): Route {
  const { id, method, path, summary, description, verb, answer, accept, etag } = options;
  const { params, query, takesIfMatch } = partsOf(path, verb.input.shape);
  const body = bodyOf(options);
  return {
    id,
    method,
    path,
    summary,
    ...(description !== undefined && { description }),
    grouped: options.grouped ?? false,
    isLive: options.isLive ?? true,
    isOfInstallation: options.isOfInstallation ?? false,
    access: verb.permission,
    params,
    query,
    ...(body !== undefined && { body }),
    takesIfMatch,
    answer,
    hasEtag: etag !== undefined,
    errors: options.errors ?? [],
    example: options.example ?? {},
    async run(call, input) {
      const asked = accept === undefined ? verb : accepting(verb, accept, call);
      const output = await invoke(asked, { call, called: { id, method }, raw: input });
      const tag = etag?.(output);
      return { body: answer.make(output), ...(tag !== undefined && { etag: tag }) };
    },
  };
}

/** A verb's input names what the path, the query, the body and the header bring, all in one. */
function partsOf(path: string, shape: z.core.$ZodShape) {
  const places = new Set(path.split('/').flatMap(part => (part.startsWith(':') ? [part.slice(1)] : [])));
  const { body: _, ifMatch, ...named } = shape;
  const entries = Object.entries(named);
  const missing = [...places]
    .filter(name => !(name in named))
    .map((name): [string, z.ZodType] => [name, unusedParameter]);
  return {
    params: Object.fromEntries([...entries.filter(([name]) => places.has(name)), ...missing]),
    query: Object.fromEntries(entries.filter(([name]) => !places.has(name))),
    takesIfMatch: ifMatch !== undefined,
  };
}

function bodyOf<Input, Output>({ id, verb, takes }: RouteOptions<Input, Output>): Body | undefined {
  const own = verb.input.shape.body;
  if (own === undefined) return undefined;
  if (takes === undefined) throw new Error(`the route ${id} does not say what its body is called`);
  return {
    kind: takes.kind ?? 'whole',
    shape: { schema: own, ...takes.shape },
    isRequired: !z.safeParse(own, undefined).success,
  };
}

/** A place that the family's paths have and that makes no difference. */
const unusedParameter = z.string();

/** The verb, which looks at the body as `accept` hands it over, but not before it has authorised the call. */
const accepting = <Input, Output>(
  verb: Verb<Input, Output>,
  accept: NonNullable<RouteOptions<Input, Output>['accept']>,
  call: Call,
) => ({
  ...verb,
  input: z.preprocess(
    input => (isMap(input) ? { ...input, body: accept(input.body, call, input) } : input),
    verb.input,
  ),
});

/** What can stand in the way of every change of the configuration files. */
export const WRITE_ERRORS = [
  'conflict',
  'configuration-broken',
  'configuration-read-only',
  'unprocessable',
] as const satisfies readonly ErrorCode[];
