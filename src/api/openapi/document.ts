import * as z from 'zod';
import type { PlainMap } from '../../config/plain.ts';
import type { ErrorCode } from '../../lib/errors.ts';
import { STATUS } from '../errors.ts';
import type { Operation } from '../operation.ts';
import { PREFIX } from '../operations.ts';
import { type Components, createComponents } from './components.ts';
import { ENVELOPES } from './envelopes.ts';
import { jsonSchemaOf } from './json-schema.ts';
import { ERROR, refusalName, refusals, refusalsOf } from './refusals.ts';

/** What was asked to show an operation, and what the product answered. */
export interface Recorded {
  readonly params: Readonly<Record<string, string>>;
  readonly query: Readonly<Record<string, string>>;
  readonly body?: unknown;
  readonly answer: unknown;
}

const JSON_TYPE = 'application/json';

const INTRODUCTION =
  'Who may manage data pipelines, how their inputs and outputs are, and who is told when data stops. ' +
  'Every request needs a token but the login and the health.';

const SECURITY_SCHEMES = {
  bearer: { type: 'http', scheme: 'bearer', bearerFormat: 'JWT', description: 'What auth.login answers.' },
  ingestToken: { type: 'http', scheme: 'bearer', description: 'The token of a pipeline that pushes.' },
};

/** The API as OpenAPI 3.1. `recorded` is by operation id. */
export function openApiDocument(
  operations: readonly Operation[],
  recorded: ReadonlyMap<string, Recorded>,
  version: string,
): PlainMap {
  const components = createComponents();
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
    servers: [{ url: PREFIX }],
    security: [{ bearer: [] }],
    tags: [...new Set(operations.map(nounOf))].map(name => ({ name })),
    paths,
    components: {
      schemas: { ...components.all(), Error: ERROR },
      responses: refusals(),
      securitySchemes: SECURITY_SCHEMES,
    },
  };
}

const nounOf = ({ id }: Operation): string => id.split('.')[0] ?? id;

function described(operation: Operation, components: Components, recorded: Recorded | undefined): PlainMap {
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
  recorded: Recorded | undefined,
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
  components: Components,
  recorded: Recorded | undefined,
): PlainMap {
  const schema = components.refer(shape, kind === 'text' ? 'whole' : kind);
  const example = recorded?.body === undefined ? {} : { example: recorded.body };
  const types = kind === 'text' ? (own ?? ['application/x-ndjson', 'text/plain', JSON_TYPE]) : [JSON_TYPE];
  return {
    required: isRequired,
    content: Object.fromEntries(types.map(type => [type, { schema, ...example }])),
  };
}

function responsesOf(operation: Operation, components: Components, recorded: Recorded | undefined): PlainMap {
  const { answer, hasEtag } = operation;
  const type = answer.kind === 'stream' ? 'text/event-stream' : JSON_TYPE;
  const schema = ENVELOPES[answer.kind](components.refer(answer.shape, 'answer'));
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
