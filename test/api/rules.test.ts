import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import * as z from 'zod';
import { noData } from '../acceptance/files.ts';
import { type ApiServer, JSON_BODY, startApiServer } from './api-server.ts';
import { at, type Documented, documented, exampleOf, faultsOf, pathWith, resolved } from './document.ts';

const LIMIT_BYTES = 5 * 1024 * 1024;
const TOKEN = 'token-of-a-pipeline';

let server: ApiServer;

beforeAll(async () => {
  server = await startApiServer({
    settings: {
      api: { loginRateLimit: '1000/second' },
      pipelines: [{ id: 'edge', engine: 'custom', push: true, token: TOKEN }],
    },
    notifications: {
      targets: ['a', 'b', 'c'].map(id => ({ id, type: 'bulletin_message' })),
      notifications: [
        noData('silent', 'syslog:app', '1h', 'a'),
        { id: 'posted', condition: 'monitor-alerts', targets: ['a'] },
      ],
    },
  });
});
afterAll(() => server.stop());

type Headers = readonly (readonly [string, string])[];
interface Sent {
  readonly method?: string;
  readonly path?: string;
  readonly headers?: Headers;
  readonly body?: string;
}

/** What opens the operation's door. */
const keyTo = ({ access }: Documented): Headers =>
  access === 'public' ? [] : [['authorization', access === 'pipeline' ? `Bearer ${TOKEN}` : server.token]];

const errorBody = z.strictObject({
  status: z.literal('error'),
  message: z.string().min(1),
  code: z.string(),
  requestId: z.string().min(1),
  errors: z.array(z.strictObject({ path: z.string(), message: z.string() })).optional(),
});

/** Sends the operation's request as it should not be, and answers how it was refused. */
async function refused(operation: Documented, sent: Sent) {
  const { path, query } = exampleOf(operation);
  const answer = await server.call(sent.method ?? operation.method, sent.path ?? `${path}?${query}`, {
    headers: sent.headers ?? [...keyTo(operation), JSON_BODY],
    ...(sent.body !== undefined && { body: sent.body }),
  });
  const body = errorBody.parse(JSON.parse(answer.text));
  expect(answer.headers['content-type']).toBe('application/json; charset=utf-8');
  expect(answer.headers['x-request-id']).toBe(body.requestId);
  return { ...body, http: answer.status, headers: answer.headers };
}

/** A refusal that the operation's row announces. */
async function announced(operation: Documented, sent: Sent) {
  const refusal = await refused(operation, sent);
  expect(operation.errors).toContain(refusal.code);
  return refusal;
}

const table = (rows: readonly Documented[]) => rows.map(row => [`${row.method} ${row.path}`, row] as const);
const locked = documented.filter(({ access }) => access !== 'public');
const writing = documented.filter(({ body }) => body !== undefined && 'application/json' in body);
const speakingJson = writing.filter(({ body }) => body !== undefined && !('text/plain' in body));
/** All but the one that makes what was not there. */
const placed = documented.filter(({ path, method }) => /\{(id|name)\}$/.test(path) && method !== 'PUT');
const lists = documented.filter(({ answer, method }) => answer === 'list' && method === 'GET');
const grouped = documented.filter(({ path }) => path.startsWith('/api/v1/m/{group}'));

describe('without a token', () => {
  it.each(table(locked))('%s answers 401 before it looks at anything', async (_, operation) => {
    const { path } = exampleOf(operation);
    const requests: readonly Sent[] = [
      { headers: [] },
      { headers: [JSON_BODY], body: '{"broken' },
      { headers: [['content-type', 'image/png']], body: 'x' },
      { headers: [], path: `${path}?limit=-1` },
      ...(operation.access === 'pipeline' ? [] : [{ headers: [], path: path.replace(/[^/]+$/, '%00') }]),
    ];
    for (const sent of requests.filter(({ body }) => body === undefined || operation.method !== 'GET')) {
      const { http, code, headers } = await refused(operation, sent);
      expect([http, code]).toEqual([401, 'unauthenticated']);
      expect(headers['www-authenticate']).toBe('Bearer realm="api"');
    }
  });
});

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'];

/** Whether the path is one of those that the other, with its places, stands for. */
function isAmong(path: string, other: string): boolean {
  const [parts, others] = [path.split('/'), other.split('/')];
  return (
    parts.length === others.length && others.every((part, index) => isPlace(part) || part === parts[index])
  );
}

const isPlace = (part: string): boolean => part.startsWith('{');

describe('methods', () => {
  const paths = [...new Set(documented.map(({ path }) => path))];

  it.each(paths)('%s takes those of the table, and says which', async path => {
    // GET of `/deliveries/replay` asks for a delivery of this id.
    const known = documented.filter(operation => isAmong(path, operation.path));
    const methods = known.map(({ method }) => method);
    const allowed = methods.flatMap(method => (method === 'GET' ? ['GET', 'HEAD'] : [method]));
    const first = known.find(operation => operation.path === path);
    if (first === undefined) throw new Error(path);
    for (const method of METHODS.filter(one => !allowed.includes(one) && one !== 'HEAD')) {
      const sent = { method, headers: [['authorization', server.token]] as const };
      const { http, code, headers } = await refused(first, sent);
      expect([method, http, code]).toEqual([method, 405, 'method-not-allowed']);
      expect(String(headers.allow).split(', ').toSorted()).toEqual(allowed.toSorted());
      if (path.startsWith('/api/v1')) expect((await refused(first, { method, headers: [] })).http).toBe(401);
    }
  });

  it.each(table(documented.filter(({ method }) => method === 'GET')))(
    '%s answers HEAD like GET, without a body',
    async (_, operation) => {
      const { path, query } = exampleOf(operation);
      const headers = keyTo(operation);
      const [head, get] = [
        await server.call('HEAD', `${path}?${query}`, { headers }),
        await server.call('GET', `${path}?${query}`, { headers }),
      ];
      expect([head.status, head.text]).toEqual([get.status, '']);
      expect(head.headers['content-type']).toBe(get.headers['content-type']);
    },
  );
});

describe('bodies', () => {
  it.each(table(writing))('%s refuses more than 5 MB with 413', async (_, operation) => {
    const most = operation.access === 'pipeline' ? 16 * 1024 * 1024 : LIMIT_BYTES;
    const { http, code } = await announced(operation, { body: `"${'x'.repeat(most)}"` });
    expect([http, code]).toEqual([413, 'body-too-large']);
  });

  it.each(table(speakingJson))('%s refuses another type than JSON with 415', async (_, operation) => {
    for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'application/jsonx']) {
      const headers = [...keyTo(operation), ['content-type', type]] as const;
      const { http, code } = await announced(operation, { headers, body: '{}' });
      expect([http, code]).toEqual([415, 'unsupported-media-type']);
    }
  });

  it.each(table(speakingJson))('%s refuses what is no JSON object with 400', async (_, operation) => {
    const bodies = [
      '{"a":',
      // Events may come as a list.
      operation.id === 'ingest.events' ? '[[]]' : '[]',
      '7',
      'null',
      '"text"',
      '{"a":1,"a":2}',
      '{"__proto__":{}}',
      `${'['.repeat(33)}${']'.repeat(33)}`,
    ];
    for (const body of bodies) {
      const { http, code } = await announced(operation, { body });
      expect([body, http, code]).toEqual([body, 400, 'invalid-request']);
    }
  });

  it.each(table(speakingJson.filter(({ isBodyRequired }) => isBodyRequired)))(
    '%s wants one',
    async (_, operation) => {
      expect((await announced(operation, {})).http).toBe(400);
    },
  );
});

describe('wrong bodies', () => {
  const required = ({ body }: Documented): unknown[] => {
    const schema = resolved(at(body, 'application/json', 'schema'));
    return Array.isArray(schema.required) ? schema.required : [];
  };

  it.each(table(speakingJson.filter(operation => required(operation).length > 1)))(
    '%s are told of everything that they lack',
    async (_, operation) => {
      const { errors } = await announced(operation, { body: '{}' });
      expect(errors?.map(({ message }) => message).join()).not.toContain('Invalid input');
      expect(errors?.map(({ path }) => path).toSorted()).toEqual(required(operation).toSorted());
    },
  );
});

describe('places in the path', () => {
  it.each(table(placed))('%s knows no other', async (_, operation) => {
    const group = operation.path.includes('{group}') ? { group: 'default' } : {};
    for (const id of [
      'none',
      '%2f',
      '..%2f..%2fetc',
      '%00',
      '%F0%9F%92%A9',
      '__proto__',
      'x'.repeat(600),
      '%zz',
    ]) {
      const path = pathWith(operation.path, { product: 'stream', ...group, id, name: id });
      const body = operation.body === undefined ? {} : { body: bodyFor(operation) };
      const answer = await server.call(operation.method, path, {
        headers: [...keyTo(operation), JSON_BODY],
        ...body,
      });
      const { items } = { items: undefined, ...JSON.parse(answer.text) };
      if (operation.answer === 'optional' && answer.status === 200) expect([id, items]).toEqual([id, []]);
      else expect([id, answer.status]).toEqual([id, id.length > 512 ? 400 : expect.toBeOneOf([400, 404])]);
      if (answer.status !== 200)
        expect(operation.errors).toContain(errorBody.parse(JSON.parse(answer.text)).code);
    }
  });

  const bodyFor = (operation: Documented): string => JSON.stringify(exampleOf(operation).body ?? {});

  it.each(table(grouped))('%s is 404 for a group nobody is in', async (_, operation) => {
    const { path, query } = exampleOf(operation);
    const sent = operation.body === undefined ? {} : { body: bodyFor(operation) };
    const refusal = await announced(operation, {
      path: `${path.replace('/m/default/', '/m/nowhere/')}?${query}`,
      ...sent,
    });
    expect([refusal.http, refusal.message]).toEqual([404, "group 'nowhere' not found"]);
  });
});

describe('lists', () => {
  /** Of an incident with two events. */
  let id = '';
  beforeAll(async () => {
    for (const state of ['ALARM', 'OK']) {
      const { status } = await server.call('POST', '/ingest/events', {
        headers: [['authorization', `Bearer ${TOKEN}`], JSON_BODY],
        body: JSON.stringify({ condition: 'monitor-alerts', key: 'a', state }),
      });
      expect(status).toBe(200);
    }
    const { items } = (await get('/api/v1/incidents')).body;
    id = items[0].id;
  });

  const of = ({ path }: Documented): string => pathWith(path, { group: 'default', product: 'stream', id });
  const get = async (path: string) => {
    const answer = await server.call('GET', path);
    return { status: answer.status, body: JSON.parse(answer.text) };
  };

  it.each(table(lists))('%s refuses a limit that is none, and names it', async (_, operation) => {
    for (const limit of ['-1', '0', '1000000000', '1.5', 'text', 'NaN', '%00']) {
      const { http, errors } = await announced(operation, { path: `${of(operation)}?limit=${limit}` });
      expect([limit, http, errors?.[0]?.path]).toEqual([limit, 400, 'limit']);
    }
  });

  it.each(table(lists))('%s ends, page by page, and gives everything once', async (_, operation) => {
    const path = of(operation);
    let whole = await get(path);
    expect(whole.status).toBe(200);
    let walked: { id?: string }[] = [];
    for (let offset = 0; ; offset++) {
      const { body } = await get(`${path}?limit=1&offset=${offset}`);
      expect(faultsOf(operation, 200, body)).toEqual([]);
      // Refusals of a minute come into the audit when it is over: then the walk begins anew.
      if (operation.path.endsWith('/audit') && body.totalCount > whole.body.count) {
        [whole, walked, offset] = [await get(path), [], -1];
        continue;
      }
      expect(body).toMatchObject({
        offset,
        limit: 1,
        totalCount: whole.body.count,
        count: body.items.length,
      });
      if (body.items.length === 0) break;
      walked.push(...body.items);
    }
    // A worker shows when it was last seen, which is with each answer.
    const seen = (items: { id?: string }[]) =>
      operation.path.endsWith('/workers') ? items.map(({ id }) => id) : items;
    expect(seen(walked)).toEqual(seen(whole.body.items));
    expect((await get(`${path}?offset=9007199254740991`)).body).toEqual({ items: [], count: 0 });
  });
});
