import { readFileSync } from 'node:fs';
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { isMap, type PlainMap } from '../../src/config/plain.ts';

/** An operation as the committed document has it. */
export interface Documented {
  readonly id: string;
  readonly method: string;
  /** With `{name}` places, below the server's address. */
  readonly path: string;
  readonly access: string;
  readonly answer: string;
  readonly errors: readonly string[];
  readonly parameters: readonly Parameter[];
  /** By media type. */
  readonly body: PlainMap | undefined;
  readonly isBodyRequired: boolean;
  /** By status. */
  readonly responses: PlainMap;
}

export interface Parameter {
  readonly name: string;
  readonly in: 'path' | 'query' | 'header';
  readonly required: boolean;
  readonly schema: PlainMap;
  readonly example?: unknown;
}

const document: PlainMap = JSON.parse(readFileSync('openapi/openapi.json', 'utf8'));

/** The object at a path of keys below another; an empty one where there is none. */
export const at = (value: unknown, ...keys: readonly string[]): PlainMap =>
  keys.reduce<PlainMap>((map, key) => (isMap(map[key]) ? map[key] : {}), isMap(value) ? value : {});

export const resolved = (schema: PlainMap): PlainMap =>
  typeof schema.$ref === 'string' ? at(document, ...schema.$ref.slice(2).split('/')) : schema;

const METHODS = ['get', 'post', 'put', 'patch', 'delete'];

const all: readonly Documented[] = Object.entries(at(document, 'paths')).flatMap(([path, item]) =>
  METHODS.filter(method => isMap(at(item)[method])).map(method => {
    const operation = at(item, method);
    const base = at(item).servers === undefined ? '/api/v1' : '';
    const parameters: readonly Parameter[] = JSON.parse(JSON.stringify(operation.parameters ?? []));
    return {
      id: String(operation.operationId),
      method: method.toUpperCase(),
      path: base + path,
      access: String(operation['x-headgate-access']),
      answer: String(operation['x-headgate-answer']),
      errors: Array.isArray(operation['x-headgate-errors']) ? operation['x-headgate-errors'] : [],
      parameters,
      body: operation.requestBody === undefined ? undefined : at(operation, 'requestBody', 'content'),
      isBodyRequired: at(operation, 'requestBody').required === true,
      responses: at(operation, 'responses'),
    };
  }),
);

/** Every operation that ends with its answer. */
export const documented = all.filter(({ answer }) => answer !== 'stream');

/** The example of the operation's request. */
export function exampleOf({ path, parameters, body }: Documented) {
  const named = (place: Parameter['in']): [string, string][] =>
    parameters.flatMap(one =>
      one.in === place && one.example !== undefined ? [[one.name, String(one.example)]] : [],
    );
  const content = at(body, 'application/json');
  return {
    path: pathWith(path, Object.fromEntries(named('path'))),
    query: new URLSearchParams(named('query')).toString(),
    body: content.example,
  };
}

export const pathWith = (path: string, places: Readonly<Record<string, string>>): string =>
  path.replace(/\{(\w+)\}/g, (_, name: string) => places[name] ?? 'none');

const ajv = new Ajv2020({ allErrors: true, strict: false, discriminator: false });
addFormats.default(ajv);
ajv.addSchema(closed(document), 'document');

/**
 * Keys that a document leaves open for later versions are refused here: what is answered today must be described today.
 */
function closed(value: unknown): PlainMap {
  return at({ closed: close(value) }, 'closed');
}

function close(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(close);
  if (!isMap(value)) return value;
  const entries = Object.entries(value).filter(([key]) => key !== 'example');
  const inner = Object.fromEntries(entries.map(([key, one]) => [key, close(one)]));
  const isOpen = !isMap(value.properties) || value.type !== 'object' || 'additionalProperties' in value;
  return isOpen ? inner : { ...inner, additionalProperties: false };
}

const validators = new Map<string, ValidateFunction>();

/** What is wrong with an answer of the operation by the document; empty when nothing is. */
export function faultsOf(
  { id, method, path, responses }: Documented,
  status: number,
  answer: unknown,
): string[] {
  const found = responses[String(status)];
  if (found === undefined) return [`${id} does not document the status ${status}`];
  const place = path.replace(/^\/api\/v1/, '');
  const reference = at(found).$ref;
  const pointer =
    typeof reference === 'string'
      ? reference.slice(1)
      : `/paths/${escaped(place)}/${method.toLowerCase()}/responses/${status}`;
  const $ref = `document#${pointer}/content/application~1json/schema`;
  const validate = validators.get($ref) ?? ajv.compile({ $ref });
  validators.set($ref, validate);
  if (validate(answer)) return [];
  return (validate.errors ?? []).map(
    ({ instancePath, message, params }) =>
      `${id} ${status} ${instancePath}: ${message} ${JSON.stringify(params)}`,
  );
}

const escaped = (pathPart: string): string =>
  encodeURI(pathPart.replaceAll('~', '~0').replaceAll('/', '~1')).replaceAll('%7B', '%7B');
