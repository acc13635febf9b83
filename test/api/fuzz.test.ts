import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { PlainMap } from '../../src/config/plain.ts';
import { login } from '../acceptance/client.ts';
import { noData } from '../acceptance/files.ts';
import { type ApiServer, JSON_BODY, startApiServer } from './api-server.ts';
import { valuesOf } from './arbitrary.ts';
import {
  at,
  type Documented,
  documented,
  exampleOf,
  faultsOf,
  type Parameter,
  pathWith,
} from './document.ts';

const RUNS = 25;
const TOKEN = 'token-of-a-pipeline';
/** So that some requests meet something that is there, beside those for what the examples are about. */
const KNOWN = ['a', 'silent', 'app', 'default', 'no-data'];

let server: ApiServer;

beforeAll(async () => {
  server = await startApiServer({
    settings: {
      api: { loginRateLimit: '1000/second', loginBackOff: { after: 0 } },
      pipelines: [
        { id: 'edge', engine: 'custom', push: true, token: TOKEN },
        { id: 'logs', engine: 'rsyslog', push: true, token: `${TOKEN}-2` },
      ],
    },
    notifications: {
      targets: ['a', 'b', 'log'].map(id => ({ id, type: 'bulletin_message' })),
      notifications: [noData('silent', 'syslog:app', '1h', 'a')],
    },
  });
});
afterAll(() => server.stop());

const placeOf = ({ example }: Parameter) =>
  fc.oneof(
    { weight: 8, arbitrary: fc.constant(String(example ?? 'none')) },
    { weight: 2, arbitrary: fc.constantFrom(...KNOWN) },
    { weight: 1, arbitrary: fc.string({ unit: 'grapheme', minLength: 1, maxLength: 20 }) },
  );

function placesOf(parameters: readonly Parameter[]): fc.Arbitrary<Record<string, string>> {
  const entries = parameters
    .filter(one => one.in === 'path')
    .map(one => placeOf(one).map(value => [one.name, encoded(value)] as const));
  return fc.tuple(...entries).map(all => Object.fromEntries(all));
}

/** A lone surrogate has no UTF-8; a dot segment would be another path. */
const encoded = (text: string): string =>
  encodeURIComponent(text.replace(/\p{Surrogate}/gu, '\uFFFD')).replace(/^\.{1,2}$/, '%2e');

/** An object that was drawn may have no text of its own. */
const textOf = (value: unknown): string =>
  typeof value === 'object' ? JSON.stringify(value) : String(value);

function queryOf(parameters: readonly Parameter[]): fc.Arbitrary<string> {
  const some = parameters
    .filter(one => one.in === 'query')
    .map(({ name, schema }) => fc.option(valuesOf(schema).map(value => [name, textOf(value)] as const)));
  return fc
    .tuple(...some)
    .map(all => all.flatMap(pair => (pair === null ? [] : [pair.map(encoded).join('=')])).join('&'));
}

/** The settings must not take the pipelines and the limit of logins away that the other operations need. */
const kept = (id: string, value: unknown): unknown => {
  if (id !== 'settings.update') return value;
  const { pipelines: _, api: __, ...others } = at({ value }, 'value');
  return others;
};

/** The documented example with few of its keys drawn anew, so that much of it is taken. */
const nearExample = (example: PlainMap, schema: PlainMap): fc.Arbitrary<unknown> =>
  fc.tuple(valuesOf(schema), fc.double({ min: 0, max: 1, noNaN: true })).map(([drawn, share]) => {
    const others = Object.entries(at({ drawn }, 'drawn')).filter((_, index) => (index * 7) % 10 < share * 3);
    return { ...example, ...Object.fromEntries(others) };
  });

function bodyOf(operation: Documented): fc.Arbitrary<string | undefined> {
  const { id, body } = operation;
  if (body === undefined) return fc.constant(undefined);
  const schema: PlainMap = at(body, 'application/json', 'schema');
  const example = at(exampleOf(operation), 'body');
  const whole = (values: fc.Arbitrary<unknown>) => values.map(value => JSON.stringify(kept(id, value)));
  return fc.oneof(
    { weight: 12, arbitrary: whole(valuesOf(schema)) },
    { weight: 12, arbitrary: whole(nearExample(example, schema)) },
    { weight: 1, arbitrary: fc.string().map(text => `${text}{`) },
    { weight: 1, arbitrary: fc.constant(undefined) },
  );
}

const requestOf = (operation: Documented) =>
  fc.record({
    places: placesOf(operation.parameters),
    query: queryOf(operation.parameters),
    body: bodyOf(operation),
    ifMatch: fc.oneof(
      { weight: 8, arbitrary: fc.constant(undefined) },
      { weight: 1, arbitrary: fc.constantFrom('*', '"x"', 'W/"x", "y"', 'x', '') },
    ),
  });

async function send({ id, method, path, access }: Documented, request: Awaited<ReturnType<typeof drawn>>) {
  const token =
    access === 'pipeline' ? `Bearer ${path.endsWith('impstats') ? `${TOKEN}-2` : TOKEN}` : await tokenFor(id);
  return server.call(method, `${pathWith(path, request.places)}?${request.query}`, {
    headers: [
      ['authorization', token],
      JSON_BODY,
      ...(request.ifMatch === undefined ? [] : ([['if-match', request.ifMatch]] as const)),
    ],
    ...(request.body !== undefined && { body: request.body }),
  });
}

/** A logout must not take away the token that the others need. */
const tokenFor = async (id: string): Promise<string> =>
  id === 'auth.logout' ? (await login(server.url)).token : server.token;

/** Only its type is of use. */
async function drawn(operation: Documented) {
  const [request] = fc.sample(requestOf(operation), 1);
  if (request === undefined) throw new Error('nothing was drawn');
  return request;
}

describe('whatever is asked', () => {
  it.each(documented.map(operation => [operation.id, operation] as const))(
    '%s answers as documented',
    async (_, operation) => {
      await fc.assert(
        fc.asyncProperty(requestOf(operation), async request => {
          const answer = await send(operation, request);
          const body: unknown = JSON.parse(answer.text);
          expect(answer.status).toBeLessThan(500);
          expect(faultsOf(operation, answer.status, body)).toEqual([]);
          expect(answer.headers['content-type']).toBe('application/json; charset=utf-8');
          expect(answer.headers['x-request-id']).toEqual(expect.any(String));
          if (answer.status !== 200) expect(operation.errors).toContain(at({ body }, 'body').code);
        }),
        { numRuns: RUNS },
      );
    },
  );

  it('leaves nothing in the log that somebody would have to look into', () => {
    expect(server.log()).not.toContain('request failed');
  });
});
