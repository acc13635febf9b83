import { STATUS_CODES } from 'node:http';
import * as z from 'zod';
import type { PlainMap } from '../../config/plain.ts';
import { ERROR_CODES, type ErrorCode } from '../../lib/errors.ts';
import { STATUS } from '../errors.ts';
import type { AnswerKind, Operation } from '../operation.ts';
import { API_PREFIX } from '../v1/index.ts';
import { createSchemaComponents, jsonSchemaOf, type SchemaComponents } from './schemas.ts';

/** An example request, and the product's answer to it. */
export interface RecordedExample {
  readonly params: Readonly<Record<string, string>>;
  readonly query: Readonly<Record<string, string>>;
  readonly body?: unknown;
  readonly answer: unknown;
}

const JSON_TYPE = 'application/json';

const INTRODUCTION =
  'Who may manage data pipelines, how their inputs and outputs are, and who is notified when data stops. ' +
  'Every request needs a token but the login and the health.';

const SECURITY_SCHEMES = {
  bearer: { type: 'http', scheme: 'bearer', bearerFormat: 'JWT', description: 'What auth.login answers.' },
  ingestToken: { type: 'http', scheme: 'bearer', description: 'The token of a pipeline that pushes.' },
};

/** `recorded` is by operation id. */
export function openApiDocument(
  operations: readonly Operation[],
  recorded: ReadonlyMap<string, RecordedExample>,
  version: string,
): PlainMap {
  const components = createSchemaComponents();
  const paths: Record<string, Record<string, unknown>> = {};
  for (const operation of operations) {
    const path = operation.path.replace(/:(\w+)/g, '{$1}');
    const item = paths[path] ?? (operation.access === 'pipeline' ? { servers: [{ url: '/' }] } : {});
    item[operation.method.toLowerCase()] = described(operation, components, recorded.get(operation.id));
    paths[path] = item;
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Headgate',
      version,
      description: INTRODUCTION,
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: API_PREFIX }],
    security: [{ bearer: [] }],
    tags: [...new Set(operations.map(nounOf))].map(name => ({ name })),
    paths,
    components: {
      schemas: { ...components.all(), Error: ERROR },
      responses: refusals(operations),
      securitySchemes: SECURITY_SCHEMES,
    },
  };
}

const nounOf = ({ id }: Operation): string => id.split('.')[0] ?? id;

function described(
  operation: Operation,
  components: SchemaComponents,
  recorded: RecordedExample | undefined,
): PlainMap {
  const { id, summary, description, access, answer } = operation;
  return {
    operationId: id,
    tags: [nounOf(operation)],
    summary,
    ...(description !== undefined && { description }),
    ...(access === 'public' && { security: [] }),
    ...(access === 'pipeline' && { security: [{ ingestToken: [] }] }),
    'x-headgate-access': access,
    'x-headgate-answer': answer.kind,
    'x-headgate-errors': refusalsOf(operation),
    parameters: parametersOf(operation, recorded),
    ...(operation.body && { requestBody: bodyOf(operation.body, components, recorded) }),
    responses: responsesOf(operation, components, recorded),
  };
}

function parametersOf(
  { params, query, takesIfMatch }: Operation,
  recorded: RecordedExample | undefined,
): PlainMap[] {
  const named = (place: 'path' | 'query', shape: z.core.$ZodShape): PlainMap[] =>
    Object.entries(shape).map(([name, schema]) => {
      const { description, ...plain } = jsonSchemaOf(schema, 'whole');
      const example = recorded?.[place === 'path' ? 'params' : 'query'][name];
      return {
        name,
        in: place,
        ...(description !== undefined && { description }),
        required: place === 'path' || !z.safeParse(schema, undefined).success,
        schema: plain,
        ...(example !== undefined && { example: plain.type === 'integer' ? Number(example) : example }),
      };
    });
  const ifMatch = {
    name: 'If-Match',
    in: 'header',
    description: 'Only if the object still has this ETag.',
    required: false,
    schema: { type: 'string' },
  };
  return [...named('path', params), ...named('query', query), ...(takesIfMatch ? [ifMatch] : [])];
}

function bodyOf(
  { kind, types: own, shape, isRequired }: NonNullable<Operation['body']>,
  components: SchemaComponents,
  recorded: RecordedExample | undefined,
): PlainMap {
  const schema = components.refer(shape, kind === 'text' ? 'whole' : kind);
  const example = recorded?.body === undefined ? {} : { example: recorded.body };
  const types = kind === 'text' ? (own ?? ['application/x-ndjson', 'text/plain', JSON_TYPE]) : [JSON_TYPE];
  return {
    required: isRequired,
    content: Object.fromEntries(types.map(type => [type, { schema, ...example }])),
  };
}

function responsesOf(
  operation: Operation,
  components: SchemaComponents,
  recorded: RecordedExample | undefined,
): PlainMap {
  const { answer, hasEtag } = operation;
  const type = answer.kind === 'stream' ? 'text/event-stream' : JSON_TYPE;
  const schema = ENVELOPES[answer.kind](components.refer(answer.shape, 'answer'), besideOf(answer));
  const content = { [type]: { schema, ...(recorded && { example: recorded.answer }) } };
  const etag = { ETag: { schema: { type: 'string' }, description: 'Changes with the object.' } };
  const done = { description: 'Done', ...(hasEtag && { headers: etag }), content };
  const others = (operation.otherStatuses ?? []).map(({ status, description }) => [
    status,
    { description, content: { [type]: { schema } } },
  ]);
  return { 200: done, ...Object.fromEntries(others), ...refusedOf(refusalsOf(operation)) };
}

const refusedOf = (codes: readonly ErrorCode[]): PlainMap =>
  Object.fromEntries(
    codes.map(code => [STATUS[code], { $ref: `#/components/responses/${refusalName(STATUS[code])}` }]),
  );

const count = { type: 'integer', minimum: 0 };

const envelope = (items: PlainMap, more: PlainMap = {}): PlainMap => ({
  type: 'object',
  properties: { items: { type: 'array', ...items }, count, ...more },
  required: ['items', 'count'],
});

const besideOf = ({ beside = {} }: Operation['answer']): PlainMap =>
  Object.fromEntries(Object.entries(beside).map(([name, schema]) => [name, jsonSchemaOf(schema, 'answer')]));

/** Wraps the schema of one object into that of the answer. */
const ENVELOPES: Readonly<Record<AnswerKind, (one: PlainMap, beside: PlainMap) => PlainMap>> = {
  list: (one, beside) =>
    envelope({ items: one }, { offset: count, limit: count, totalCount: count, ...beside }),
  item: one => envelope({ items: one, minItems: 1, maxItems: 1 }),
  optional: one => envelope({ items: one, maxItems: 1 }),
  object: one => one,
  stream: one => one,
};

/** The body of every refusal. */
const ERROR = {
  type: 'object',
  properties: {
    status: { type: 'string', const: 'error' },
    message: { type: 'string', description: 'For people; names the place and the remedy.' },
    code: { type: 'string', enum: Object.keys(ERROR_CODES) },
    requestId: { type: 'string', description: 'Stands in the log and in the header X-Request-Id as well.' },
    errors: {
      type: 'array',
      items: {
        type: 'object',
        properties: { path: { type: 'string' }, message: { type: 'string' } },
        required: ['path', 'message'],
      },
    },
  },
  required: ['status', 'message', 'code', 'requestId'],
};

/** The name of the status: `NotFound`. */
const refusalName = (status: number): string => (STATUS_CODES[status] ?? String(status)).replaceAll(' ', '');

/** One response for each status, with the meanings of its codes. */
function refusals(operations: readonly Operation[]): PlainMap {
  const codes = Object.entries(STATUS);
  const used = new Set(operations.flatMap(refusalsOf).map(code => STATUS[code]));
  const statuses = [...new Set(codes.map(([, status]) => status))].filter(status => used.has(status));
  return Object.fromEntries(
    statuses.map(status => [
      refusalName(status),
      {
        description: codes
          .filter(([, one]) => one === status)
          .map(([code]) => `\`${code}\`: ${MEANINGS.get(code)}`)
          .join(' '),
        content: { 'application/json': { schema: { $ref: '#/components/schemas/Error' } } },
      },
    ]),
  );
}

const MEANINGS: ReadonlyMap<string, string> = new Map(Object.entries(ERROR_CODES));

/** All error codes of an operation: those that follow from its row, and those that the row names. */
function refusalsOf(operation: Operation): readonly ErrorCode[] {
  const { method, access, params, query, body, takesIfMatch, answer, errors } = operation;
  const isScoped = Object.keys(params).length > 0;
  const found: readonly (ErrorCode | false)[] = [
    (isScoped || Object.keys(query).length > 0 || body !== undefined) && 'invalid-request',
    access !== 'public' && 'unauthenticated',
    access !== 'public' && 'rate-limited',
    access !== 'public' && 'forbidden',
    access !== 'public' && access !== 'pipeline' && 'password-change-required',
    isScoped && (answer.kind !== 'optional' || 'group' in params) && 'not-found',
    takesIfMatch && 'precondition-failed',
    body !== undefined && 'body-too-large',
    body !== undefined && 'unsupported-media-type',
    ...errors,
    'unavailable',
    method !== 'GET' && 'unanswered',
    'internal',
  ];
  return [...new Set(found.filter(code => code !== false))];
}
