import * as z from 'zod';
import { isMap, type PlainMap } from '../config/plain.ts';
import type { ErrorCode } from '../lib/errors.ts';
import { readInput } from '../lib/problem-list.ts';
import type { Call } from '../resources/context.ts';
import { takenBack } from '../resources/patch.ts';
import { invoke, type Verb } from '../resources/verb.ts';
import type { Body, Method, Operation, OperationExample, RouteAnswer, Shape } from './operation.ts';

interface RouteReply {
  readonly body: object;
  /** With its quotes, as in RFC 9110 section 8.8.3. */
  readonly etag?: string;
}

/**
 * Which process answers, of several. True: only the one that leads, which reads the pipelines and holds the configuration.
 * `while-led`: that one, as it knows what is on no disk, and while there is none every other from the store. False: every
 * one from the store.
 */
export type RouteAnswerer = boolean | 'while-led';

/** An operation of `/api/v1` with the verb behind it. */
export interface Route extends Operation {
  /**
   * Served below `/m/{group}` as well, for that group only. `alike`: there too, with the same answer, as Cribl-compatible
   * clients ask there for what groups have in common; documents have it once.
   */
  readonly grouped: boolean | 'alike';
  /** As `RouteAnswerer` says. */
  readonly isLive: RouteAnswerer;
  /** Concerns the whole installation, so a hosted deployment does not serve it. */
  readonly isOfInstallation: boolean;
  /**
   * `input` holds the query and the parameters of the path; of a request that writes also `body`, undefined when none
   * was sent, and the header `ifMatch`.
   */
  run(call: Call, input: object): Promise<RouteReply>;
}

/** What a read answers, which a change takes back. */
interface ReadBack {
  readonly shape: Shape;
  /** Its keys that change by themselves. */
  readonly ignored: readonly string[];
  /** Throws as the verb does. */
  read(call: Call, input: unknown): Promise<object>;
}

/** What the verb, which takes no more than what the change takes, answers. */
export const readBack = <Input, Output>(
  verb: Verb<Input, Output>,
  shape: Shape,
  wire: (output: Output) => object,
  ignored: readonly string[] = [],
): ReadBack => ({
  shape,
  ignored,
  read: async (call, input) => wire(await verb.run(call, readInput(verb.input, input))),
});

interface RouteOptions<Input, Output> {
  readonly id: Operation['id'];
  readonly method: Method;
  readonly path: string;
  readonly summary: string;
  readonly description?: string;
  readonly grouped?: Route['grouped'];
  /** By default true. */
  readonly isLive?: RouteAnswerer;
  readonly isOfInstallation?: true;
  readonly verb: Verb<Input, Output>;
  /** Name of the body, and its shape where the verb's own schema does not say all of it. */
  readonly takes?: { readonly shape: Omit<Shape, 'schema'> & Partial<Shape>; readonly kind?: Body['kind'] };
  readonly answer: RouteAnswer<Output>;
  /** Translates a body of a Cribl-compatible client into the verb's own. */
  readonly accept?: (body: unknown, call: Call, input: PlainMap) => unknown;
  /** ETag of the configuration object that is answered; undefined when it has none. */
  readonly etag?: (output: Output) => string | undefined;
  /** What reads answer of an object that this changes may be sent back. Items of the configuration have rules of their own. */
  readonly takesBack?: ReadBack;
  readonly errors?: readonly ErrorCode[];
  readonly example?: OperationExample;
}

/** Takes the permission, the parameters and their limits from the verb. */
export function route<Input, Output>(options: RouteOptions<Input, Output>): Route {
  const { id, method, path, summary, description, verb, answer, etag } = options;
  const { params, query, takesIfMatch } = partsOf(path, verb.input.shape);
  const body = bodyOf(options);
  return {
    id,
    method,
    path,
    summary,
    ...describedAs(description, options.grouped),
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
      const output = await invoke<unknown, Output>(asked(options, call), {
        call,
        called: { id, method },
        raw: input,
      });
      const tag = etag?.(output);
      return { body: answer.make(output), ...(tag !== undefined && { etag: tag }) };
    },
  };
}

function asked<Input, Output>(
  { verb, accept, takesBack }: RouteOptions<Input, Output>,
  call: Call,
): Omit<Verb<unknown, Output>, 'input'> & { readonly input: z.ZodType<unknown> } {
  const input = accept === undefined ? verb.input : accepting(verb.input, accept, call);
  const run = (raw: unknown) => verb.run(call, readInput(input, raw, 'body'));
  if (takesBack === undefined) return { ...verb, input: z.unknown(), run: (_call, raw) => run(raw) };
  const schema = verb.input.shape.body;
  return {
    ...verb,
    input: z.unknown(),
    run: async (_call, raw) =>
      run(
        await takenBack(raw, { schema, ignored: takesBack.ignored, read: one => takesBack.read(call, one) }),
      ),
  };
}

function describedAs(description: string | undefined, grouped: Route['grouped'] = false) {
  const also = grouped === 'alike' ? ['The same below `/m/{group}`.'] : [];
  const sentences = [...(description === undefined ? [] : [description]), ...also];
  return sentences.length === 0 ? {} : { description: sentences.join(' ') };
}

/** Splits a verb's input into what path, query, body and header bring. */
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

function bodyOf<Input, Output>({
  id,
  verb,
  takes,
  takesBack,
}: RouteOptions<Input, Output>): Body | undefined {
  const own = verb.input.shape.body;
  if (own === undefined) return undefined;
  if (takes === undefined) throw new Error(`the route ${id} does not say what its body is called`);
  return {
    kind: takes.kind ?? 'whole',
    shape: { schema: withAnswered(own, takesBack), ...takes.shape },
    isRequired: !z.safeParse(own, undefined).success,
  };
}

/** For documents: the body with the keys that it may send back as they were read. */
function withAnswered(own: z.core.$ZodType, takesBack: ReadBack | undefined): z.core.$ZodType {
  if (takesBack === undefined) return own;
  const { schema } = takesBack.shape;
  if (!(own instanceof z.ZodObject) || !(schema instanceof z.ZodObject))
    throw new Error(`${takesBack.shape.name} cannot be sent back`);
  const answered = Object.entries(schema.shape).flatMap(([key, field]): [string, z.ZodType][] =>
    key in own.shape ? [] : [[key, z.optional(field).meta({ readOnly: true })]],
  );
  return own.extend(Object.fromEntries(answered));
}

/** A parameter that Cribl's paths have and that makes no difference here. */
const unusedParameter = z.string();

/** The input with a body that `accept` translates. */
const accepting = <Input>(
  input: z.ZodType<Input>,
  accept: (body: unknown, call: Call, input: PlainMap) => unknown,
  call: Call,
): z.ZodType<Input> =>
  z.preprocess(raw => (isMap(raw) ? { ...raw, body: accept(raw.body, call, raw) } : raw), input);

/** Every change of the configuration files can fail with these. */
export const WRITE_ERRORS = [
  'conflict',
  'configuration-broken',
  'configuration-read-only',
  'unprocessable',
] as const satisfies readonly ErrorCode[];
