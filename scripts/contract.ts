import { readFileSync, writeFileSync } from 'node:fs';
import { isMap, type PlainMap } from '../src/config/plain.ts';

const DOCUMENT = 'openapi/openapi.json';
/** What clients were promised, one fact a line; written anew with `--accept` when a version is released. */
const PROMISED = 'openapi/contract.txt';
const CHANGELOG = 'CHANGELOG.md';

/** A line that begins so is a demand: a new one breaks clients of what was there before, one that goes does not. */
const DEMAND = 'must be sent: ';

const METHODS = ['get', 'post', 'put', 'patch', 'delete'];

/** Everything that clients of a document go by. */
export function factsOf(document: PlainMap): ReadonlySet<string> {
  const facts = new Set<string>();
  for (const [path, item] of Object.entries(mapAt(document, 'paths')))
    for (const method of METHODS)
      if (isMap(mapOf(item)[method]))
        addOperation(facts, `${method.toUpperCase()} ${path}`, mapAt(item, method));
  const schemas = mapAt(document, 'components', 'schemas');
  const sent = sentSchemas(document, schemas);
  for (const [name, schema] of Object.entries(schemas)) addSchema(facts, name, mapOf(schema), sent.has(name));
  return facts;
}

function addOperation(facts: Set<string>, name: string, operation: PlainMap): void {
  facts.add(name);
  for (const one of listOf(operation.parameters)) {
    facts.add(`${name} parameter ${String(one.name)}`);
    if (one.required === true && one.in !== 'path')
      facts.add(`${DEMAND}${name} parameter ${String(one.name)}`);
  }
  for (const status of Object.keys(mapOf(operation.responses)))
    if (status < '300') facts.add(`${name} answers ${status}`);
  const body = mapAt(operation, 'requestBody');
  for (const type of Object.keys(mapOf(body.content))) facts.add(`${name} takes ${type}`);
  if (body.required === true) facts.add(`${DEMAND}${name} body`);
}

function addSchema(facts: Set<string>, name: string, schema: PlainMap, isSent: boolean): void {
  facts.add(name);
  for (const kind of ['oneOf', 'anyOf'])
    for (const one of listOf(schema[kind]))
      if (typeof one.$ref === 'string') facts.add(`${name} may be ${nameOf(one.$ref)}`);
  for (const part of [schema, ...listOf(schema.allOf)]) {
    for (const [key, field] of Object.entries(mapOf(part.properties))) {
      const place = `${name}.${key}`;
      facts.add(`${place}: ${typeOf(mapOf(field))}`);
      if (isSent) for (const value of valuesOf(mapOf(field))) facts.add(`${place} takes ${value}`);
      if (mapOf(field).properties !== undefined) addSchema(facts, place, mapOf(field), isSent);
      const items = mapAt(field, 'items');
      if (items.properties !== undefined) addSchema(facts, `${place}[]`, items, isSent);
    }
    for (const key of Array.isArray(part.required) ? part.required : [])
      facts.add(`${isSent ? DEMAND : 'always there: '}${name}.${String(key)}`);
  }
}

/** The schemas that requests are made of. */
function sentSchemas(document: PlainMap, schemas: PlainMap): ReadonlySet<string> {
  const found = new Set<string>();
  const walk = (value: unknown): void => {
    for (const [, name = ''] of JSON.stringify(value ?? {}).matchAll(/#\/components\/schemas\/([\w-]+)"/g)) {
      if (found.has(name)) continue;
      found.add(name);
      walk(schemas[name]);
    }
  };
  for (const item of Object.values(mapAt(document, 'paths')))
    for (const method of METHODS) walk(mapAt(item, method, 'requestBody'));
  return found;
}

function typeOf(field: PlainMap): string {
  if (typeof field.$ref === 'string') return nameOf(field.$ref);
  const others = [...listOf(field.oneOf), ...listOf(field.anyOf)].map(typeOf);
  if (others.length > 0) return others.length > 5 ? 'one of many' : others.join(' or ');
  if (field.type === 'array') return `list of ${typeOf(mapAt(field, 'items'))}`;
  return typeof field.type === 'string' ? field.type : 'anything';
}

const valuesOf = ({ enum: values, const: value }: PlainMap): unknown[] =>
  Array.isArray(values) ? values : value === undefined ? [] : [value];

const nameOf = (reference: string): string => reference.replace(/^.*\//, '');

const mapOf = (value: unknown): PlainMap => (isMap(value) ? value : {});
const mapAt = (value: unknown, ...keys: readonly string[]): PlainMap =>
  keys.reduce<PlainMap>((map, key) => mapOf(map[key]), mapOf(value));
const listOf = (value: unknown): PlainMap[] => (Array.isArray(value) ? value.filter(isMap) : []);

/** What a client that goes by the facts of before can no longer do. */
export function breaksBetween(before: ReadonlySet<string>, after: ReadonlySet<string>): string[] {
  const gone = [...before].filter(fact => !fact.startsWith(DEMAND) && !after.has(fact));
  const demanded = [...after].filter(
    fact => fact.startsWith(DEMAND) && !before.has(fact) && isKnown(fact.slice(DEMAND.length), before),
  );
  return [...gone.map(fact => `gone: ${fact}`), ...demanded];
}

/** True when what a demand is about was there before: the operation, or the schema. */
const isKnown = (subject: string, before: ReadonlySet<string>): boolean =>
  before.has(subject.replace(/ (?:parameter \S+|body)$/, '').replace(/\.[^.]+$/, ''));

/** Breaks that a text does not name by their path, or by schema and field. */
export const unnamed = (breaks: readonly string[], text: string): string[] =>
  breaks.filter(one => {
    const subject = one.replace(/^[^:]*: (?:always there: )?/, '');
    const [name = ''] = /^[A-Z]+ \//.test(subject)
      ? [subject.split(' ')[1]]
      : [/^[\w.[\]-]+/.exec(subject)?.[0]];
    return !text.includes(name);
  });

function main(): void {
  const facts = factsOf(mapOf(JSON.parse(readFileSync(DOCUMENT, 'utf8'))));
  if (process.argv.includes('--accept')) {
    writeFileSync(PROMISED, `${[...facts].sort().join('\n')}\n`);
    return;
  }
  const promised = new Set(readFileSync(PROMISED, 'utf8').trimEnd().split('\n'));
  const [, unreleased = ''] = readFileSync(CHANGELOG, 'utf8').split(/^## /m);
  const breaks = unnamed(breaksBetween(promised, facts), unreleased);
  for (const one of breaks.slice(0, 50))
    console.log(`breaks clients, and CHANGELOG.md does not name it: ${one}`);
  process.exitCode = breaks.length === 0 ? 0 : 1;
}

if (process.argv[1]?.endsWith('contract.ts')) main();
