import { readFileSync } from 'node:fs';
import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { breaksBetween, factsOf, unnamed } from '../../scripts/contract.ts';
import { DOCUMENT_ROUTES } from '../../src/api/openapi/endpoint.ts';
import { conditions } from '../../src/conditions/index.ts';
import { type ApiServer, startApiServer } from './api-server.ts';
import { at } from './document.ts';
import { jsonCaller } from './json.ts';

const document = JSON.parse(readFileSync('openapi/openapi.json', 'utf8'));

describe('the document', () => {
  const ajv = new Ajv2020({ strict: false, discriminator: false });
  addFormats.default(ajv);
  ajv.addSchema(document, 'document');
  const faultsOf = (name: string, value: object): unknown => {
    const validate = ajv.compile({ $ref: `document#/components/schemas/${name}` });
    return validate(value) ? [] : validate.errors;
  };

  it('says of each condition what its conf is, for what is sent and what is answered', () => {
    for (const name of ['Notification', 'NotificationSettings']) {
      const { oneOf, discriminator } = at(document, 'components', 'schemas', name);
      expect(oneOf).toHaveLength(conditions.length);
      expect(discriminator).toMatchObject({ propertyName: 'condition' });
      expect(Object.keys(at(discriminator, 'mapping'))).toEqual(conditions.map(({ id }) => id));
    }
  });

  it('refuses the conf of one condition in another, and a key that there is not', () => {
    const silent = {
      id: 'a',
      condition: 'no-data',
      targets: ['t'],
      conf: { name: 'app', timeWindow: '60s' },
    };
    expect(faultsOf('NotificationSettings', silent)).toEqual([]);
    for (const wrong of [
      { ...silent, condition: 'search' },
      { ...silent, conf: { ...silent.conf, tiemWindow: '5m' } },
      { ...silent, conf: {} },
      { ...silent, severty: 'warn' },
    ])
      expect(faultsOf('NotificationSettings', wrong)).not.toEqual([]);
  });

  it('has no response and no schema that nothing refers to, and no default of an answer that lacks a key', () => {
    const text = JSON.stringify(document);
    for (const kind of ['schemas', 'responses'])
      for (const name of Object.keys(at(document, 'components', kind)))
        expect([name, text.includes(`#/components/${kind}/${name}"`)]).toEqual([name, true]);
    expect(at(document, 'components', 'schemas', 'SmtpTarget', 'properties', 'tls').default).toBeUndefined();
  });
});

describe('a served document', () => {
  let server: ApiServer;
  beforeAll(async () => {
    server = await startApiServer({});
  });
  afterAll(() => server.stop());

  it.each(DOCUMENT_ROUTES)(
    '$path has a tag for each of its forms, and is not sent again to those who have it',
    async ({ path }) => {
      const get = (headers: readonly (readonly [string, string])[]) => server.call('GET', path, { headers });
      const plain = await get([]);
      expect(plain).toMatchObject({ status: 200, headers: { vary: 'accept-encoding' } });
      expect(plain.headers['content-encoding']).toBeUndefined();
      const packed = await fetch(`${server.url}${path}`, { headers: { 'accept-encoding': 'gzip' } });
      expect(packed.headers.get('content-encoding')).toBe('gzip');
      expect(await packed.text()).toBe(plain.text);
      expect(packed.headers.get('etag')).not.toBe(plain.headers.etag);
      for (const tag of [
        plain.headers.etag,
        packed.headers.get('etag'),
        `"other", W/${plain.headers.etag}`,
      ]) {
        const again = await get([['if-none-match', String(tag)]]);
        expect([again.status, again.text]).toEqual([304, '']);
      }
      expect((await get([['if-none-match', '"other"']])).status).toBe(200);
      expect((await get([['accept-encoding', 'gzip;q=0, br']])).headers['content-encoding']).toBeUndefined();
    },
  );

  it('refuses a name of a query that there is not where no other client asks, and names it elsewhere', async () => {
    const call = jsonCaller(server);
    expect(await call('GET', '/incidents?lmit=5')).toMatchObject({
      status: 400,
      body: { errors: [{ path: 'lmit', message: "is no parameter here; did you mean 'limit'?" }] },
    });
    for (const path of ['/silences', '/deliveries', '/audit', '/system/engines', '/inhibitions'])
      expect([path, (await call('GET', `${path}?nothing=1`)).status]).toEqual([path, 400]);
    const answer = await server.call('GET', '/api/v1/notifications?lmit=5&limit=2&%C3%A4=1');
    expect([answer.status, answer.headers['x-headgate-ignored-query']]).toEqual([200, 'lmit, %C3%A4']);
    const known = await server.call('GET', '/api/v1/notifications?limit=2');
    expect(known.headers['x-headgate-ignored-query']).toBeUndefined();
  });
});

describe('a change of the document', () => {
  type Change = (copy: typeof document) => unknown;
  const changed = (change: Change): string[] => {
    const copy = structuredClone(document);
    change(copy);
    return breaksBetween(factsOf(document), factsOf(copy));
  };
  const schema = (copy: typeof document, name: string) => copy.components.schemas[name];
  const parameters = (copy: typeof document): unknown[] => copy.paths['/incidents'].get.parameters;

  it.each<[string, Change, string]>([
    ['an operation that is gone', copy => delete copy.paths['/health'].get, 'gone: GET /health'],
    [
      'a parameter that must be sent',
      copy => parameters(copy).push({ name: 'n', in: 'query', required: true, schema: {} }),
      'must be sent: GET /incidents parameter n',
    ],
    [
      'a parameter that is gone',
      copy => parameters(copy).splice(0, 1),
      'gone: GET /incidents parameter offset',
    ],
    [
      'a field that answers lack',
      copy => delete schema(copy, 'Incident').properties.state,
      'gone: Incident.state: string',
    ],
    [
      'a field of another type',
      copy => Object.assign(schema(copy, 'Incident').properties.state, { type: 'integer' }),
      'gone: Incident.state: string',
    ],
    [
      'a field that must be sent',
      copy => schema(copy, 'NewSilence').required.push('author'),
      'must be sent: NewSilence.author',
    ],
  ])('breaks clients by %s, unless the text on changes names it', (_, change, found) => {
    const breaks = changed(change);
    expect(breaks).toContain(found);
    expect(unnamed(breaks, 'nothing of it')).toEqual(breaks);
    const named = '`/health` is gone, `/incidents` too; `Incident.state`, `NewSilence.author`';
    expect(unnamed([found], named)).toEqual([]);
  });

  it('breaks none by what comes new', () => {
    const breaks = changed(copy => {
      copy.paths['/new'] = copy.paths['/health'];
      schema(copy, 'Incident').properties.fresh = { type: 'string' };
      schema(copy, 'NewSilence').properties.fresh = { type: 'string' };
    });
    expect(breaks).toEqual([]);
  });
});
