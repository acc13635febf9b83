import { readFileSync } from 'node:fs';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type ApiServer, type CallOptions, JSON_BODY, startApiServer } from './api-server.ts';

const CUSTOM = 'token-of-the-custom-pipeline';
const SYSLOG = 'token-of-the-syslog-pipeline';
const COLLECTOR = 'token-of-the-collector';
const IMPSTATS = '{ "name": "tcp_in(10514)", "origin": "imtcp", "submitted": 7 }\n';

let server: ApiServer;

beforeAll(async () => {
  server = await startApiServer({
    settings: {
      pipelines: [
        { id: 'own', engine: 'custom', push: true, token: CUSTOM },
        { id: 'syslog', engine: 'rsyslog', push: true, token: SYSLOG, group: 'west' },
        { id: 'collector', engine: 'otelcol', push: true, token: COLLECTOR },
      ],
    },
  });
});

afterAll(() => server.stop());

const bearer = (token: string) => ['authorization', `Bearer ${token}`] as const;

async function post(path: string, options: CallOptions) {
  const answer = await server.call('POST', `/ingest/${path}`, options);
  return { http: answer.status, headers: answer.headers, ...JSON.parse(answer.text) };
}

const samples = (token: string, body: unknown) =>
  post('samples', { headers: [bearer(token), JSON_BODY], body: JSON.stringify(body) });

const sample = (id: string, value: number) => ({
  kind: 'input',
  type: 'kafka',
  id,
  metric: 'in_events',
  value,
});

async function input(engineId: string) {
  const { text } = await server.call('GET', '/api/v1/system/inputs');
  return JSON.parse(text).items.find(
    (item: { headgate: { engineId: string } }) => item.headgate.engineId === engineId,
  );
}

describe('who may push', () => {
  it.each([
    ['no token', []],
    ['an unknown token', [bearer('nobody-knows-this-token')]],
    ['another scheme', [['authorization', `Basic ${CUSTOM}`]]],
    ['the beginning of a token', [bearer(CUSTOM.slice(0, -1))]],
  ] as const)('answers 401 to %s', async (_, headers) => {
    for (const path of ['samples', 'impstats']) {
      const answer = await post(path, { headers: [...headers, JSON_BODY], body: '{"samples":[]}' });
      expect([answer.http, answer.code]).toEqual([401, 'unauthenticated']);
      expect(answer.headers['www-authenticate']).toMatch(/^Bearer realm=/);
    }
  });

  it('answers 401 to a token of the API, and the API 401 to a token of a pipeline', async () => {
    const answer = await post('samples', {
      headers: [['authorization', server.token], JSON_BODY],
      body: '{}',
    });
    expect(answer.http).toBe(401);
    const other = await server.call('GET', '/api/v1/system/inputs', { headers: [bearer(CUSTOM)] });
    expect(other.status).toBe(401);
  });

  it('is asked for before a body is read', async () => {
    const answer = await post('samples', { headers: [JSON_BODY], body: '{"samples":[' });
    expect(answer.http).toBe(401);
  });

  it('must be said once', async () => {
    const headers = [bearer(CUSTOM), bearer('somebody-elses-token'), JSON_BODY];
    const answer = await post('samples', { headers, body: '{"samples":[]}' });
    expect([answer.http, answer.code]).toEqual([400, 'invalid-request']);
  });

  it("answers 403 to another engine's token and names the pipeline it belongs to", async () => {
    expect(await samples(SYSLOG, { samples: [sample('a', 1)] })).toMatchObject({
      http: 403,
      code: 'forbidden',
      message: expect.stringContaining("'syslog'"),
    });
    const answer = await post('impstats', { headers: [bearer(CUSTOM), JSON_BODY], body: IMPSTATS });
    expect(answer).toMatchObject({ http: 403, message: expect.stringContaining("'own'") });
  });
});

describe('samples', () => {
  it('become an input with its totals, cumulative values counted from the first', async () => {
    expect(await samples(CUSTOM, { samples: [sample('a', 100)] })).toMatchObject({ http: 200, accepted: 1 });
    await samples(CUSTOM, { samples: [sample('a', 130)] });
    await samples(CUSTOM, { samples: [sample('a', 5)] });
    expect(await input('a')).toMatchObject({
      id: 'a',
      type: 'kafka',
      group: 'default',
      status: { health: 'Green', metrics: { in_events: 35 } },
      headgate: { pipeline: 'own', engine: 'custom', engineId: 'a', declared: false, replicas: 1 },
    });
  });

  it('add up as deltas when they say so', async () => {
    for (const value of [3, 4])
      await samples(CUSTOM, { temporality: 'delta', samples: [sample('delta', value)] });
    expect(await input('delta')).toMatchObject({ status: { metrics: { in_events: 7 } } });
  });

  it('are refused as a whole when one is bad, naming its index', async () => {
    const answer = await samples(CUSTOM, {
      samples: [sample('good', 1), { ...sample('bad', 1), metric: 'weight' }],
    });
    expect(answer).toMatchObject({ http: 400, code: 'invalid-request' });
    expect(answer.errors).toMatchObject([{ path: 'samples[1].metric' }]);
    expect(await input('good')).toBeUndefined();
  });

  it.each([
    ['a negative counter', { samples: [sample('x', -1)] }, 'samples[0].value'],
    ['an unknown key', { samples: [], extra: 1 }, ''],
    ['no list', {}, 'samples'],
    ['a list of numbers', { samples: [1] }, 'samples[0]'],
    ['nothing', null, ''],
  ])('are refused with %s', async (_, body, path) => {
    const answer = await samples(CUSTOM, body);
    expect([answer.http, answer.errors?.[0]?.path]).toEqual([400, path]);
  });

  it('are refused with a key twice, with another media type and over 16 MiB', async () => {
    const send = (body: string, type = 'application/json') =>
      post('samples', { headers: [bearer(CUSTOM), ['content-type', type]], body });
    expect((await send('{"samples":[],"samples":[]}')).http).toBe(400);
    expect((await send('{"samples":[]}', 'text/plain')).http).toBe(415);
    expect((await send(`{"samples":[],"instance":"${'x'.repeat(16 * 1024 * 1024)}"}`)).http).toBe(413);
  });

  it('get an id for the API that is unique, whatever the engine calls them', async () => {
    await samples(CUSTOM, { samples: [sample('a/b c', 1), sample('a b/c', 1), sample('ü'.repeat(300), 1)] });
    const [first, second, long] = await Promise.all(['a/b c', 'a b/c', 'ü'.repeat(300)].map(input));
    expect(first.id).toBe('a_b_c');
    expect(second.id).toMatch(/^a_b_c_[0-9a-f]{6}$/);
    for (const { id } of [first, second, long]) {
      expect(id).toMatch(/^[a-zA-Z0-9_-]{1,512}$/);
      const answer = await server.call('GET', `/api/v1/system/inputs/${id}`);
      expect(JSON.parse(answer.text).items[0].id).toBe(id);
    }
  });
});

describe('impstats', () => {
  const push = (body: string, query = '?instance=h1', type = 'application/x-ndjson') =>
    post(`impstats${query}`, { headers: [bearer(SYSLOG), ['content-type', type]], body });

  it('are taken line by line, whatever the header before them', async () => {
    const lines = `Fri Nov 27 23:56:53 2026: BEGIN\nFri Nov 27 23:56:53 2026: ${IMPSTATS}not a line\n`;
    expect(await push(lines)).toMatchObject({ http: 200, accepted: 1, ignored: 1 });
    await push(IMPSTATS.replace('7', '19'));
    expect(await input('tcp_in(10514)')).toMatchObject({
      id: 'tcp_in_10514_',
      type: 'imtcp',
      group: 'west',
      status: { metrics: { in_events: 12 } },
    });
  });

  it.each(['application/json', 'text/plain', 'application/x-ndjson'])('are taken as %s', async type => {
    expect(await push(IMPSTATS, '', type)).toMatchObject({ http: 200, accepted: 1 });
  });

  it('are ignored where they say nothing, and never break', async () => {
    for (const body of [
      '',
      '\n\n',
      '{',
      '[1]',
      '{"name":1}',
      '\u0000',
      '{"name":"x","origin":"imtcp","submitted":1e999}',
    ])
      expect(await push(body)).toMatchObject({ http: 200, accepted: 0 });
  });

  it('are refused from an instance whose name is no name', async () => {
    expect((await push(IMPSTATS, `?instance=${'x'.repeat(300)}`)).http).toBe(400);
    expect((await push(IMPSTATS, '?instance=')).http).toBe(400);
  });
});

describe('series that are pushed', () => {
  const PROTOBUF = ['content-type', 'application/x-protobuf'] as const;
  const otlp = (name: string) => readFileSync(new URL(`../samples/${name}`, import.meta.url));
  const push = (path: string, headers: CallOptions['headers'], body: Buffer) =>
    fetch(`${server.url}/ingest/${path}`, {
      method: 'POST',
      headers: [...(headers ?? []), bearer(COLLECTOR)].map(([name, value]) => [name, value]),
      body: new Uint8Array(body),
    });

  it('takes OTLP as JSON, as protobuf and packed with gzip, and answers in kind', async () => {
    const json = otlp('otlp-http-json-cumulative.json');
    const protobuf = otlp('otlp-http-protobuf-cumulative.bin');
    const plain = await push('otlp/v1/metrics', [JSON_BODY], json);
    expect([plain.status, await plain.text()]).toEqual([200, '{}']);
    const packed = await push(
      'otlp/v1/metrics',
      [PROTOBUF, ['content-encoding', 'gzip']],
      gzipSync(protobuf),
    );
    expect([packed.status, packed.headers.get('content-type'), await packed.text()]).toEqual([
      200,
      'application/x-protobuf',
      '',
    ]);
    expect(await input('syslog/app')).toMatchObject({ type: 'syslog' });
  });

  it.each([
    ['samples', CUSTOM, 'application/json', JSON.stringify({ samples: [sample('packed', 1)] })],
    ['impstats', SYSLOG, 'text/plain', IMPSTATS],
    ['events', CUSTOM, 'application/json', '{"condition":"search","key":"packed","state":"OK"}'],
  ])('takes %s packed with gzip as well, and names another packing', async (path, token, type, body) => {
    const send = (encoding: string, sent: Buffer) =>
      fetch(`${server.url}/ingest/${path}`, {
        method: 'POST',
        headers: [bearer(token), ['content-type', type], ['content-encoding', encoding]].map(pair => [
          ...pair,
        ]),
        body: new Uint8Array(sent),
      });
    const packed = await send('GZIP', gzipSync(body));
    expect([packed.status, await packed.json()]).toEqual([200, expect.objectContaining({ accepted: 1 })]);
    const refused = await send('br', Buffer.from(body));
    expect([refused.status, await refused.text()]).toEqual([
      415,
      expect.stringContaining("Content-Encoding 'br' is not accepted here; use gzip"),
    ]);
    expect((await send('gzip', Buffer.from(body))).status).toBe(400);
  });

  it('takes remote write, and sends version 2 back to version 1', async () => {
    const body = otlp('prometheus-2.42-remote_write-v1.snappy.bin');
    const snappy = ['content-encoding', 'snappy'] as const;
    const taken = await push('prometheus/write?instance=prom-1', [PROTOBUF, snappy], body);
    expect([taken.status, await taken.json()]).toEqual([200, { accepted: 0, ignored: expect.any(Number) }]);
    const second = ['content-type', 'application/x-protobuf;proto=io.prometheus.write.v2.Request'] as const;
    const refused = await push('prometheus/write', [second, snappy], body);
    expect([refused.status, JSON.parse(await refused.text()).code]).toEqual([415, 'unsupported-media-type']);
  });

  it.each([
    [
      'gzip that unpacks without end',
      413,
      [PROTOBUF, ['content-encoding', 'gzip']],
      gzipSync(Buffer.alloc(17 * 2 ** 20)),
    ],
    ['what is not gzip', 400, [PROTOBUF, ['content-encoding', 'gzip']], Buffer.from('nothing')],
    ['a packing nobody knows', 415, [PROTOBUF, ['content-encoding', 'zstd']], Buffer.from('nothing')],
    ['protobuf that is cut short', 400, [PROTOBUF], Buffer.from([10, 200])],
    ['JSON that is none', 400, [JSON_BODY], Buffer.from('{"resourceMetrics":')],
    ['another kind of body', 415, [['content-type', 'text/plain']], Buffer.from('x')],
  ] as const)('refuses %s with %d', async (_, status, headers, body) => {
    const answer = await push('otlp/v1/metrics', headers, body);
    expect([answer.status, JSON.parse(await answer.text()).status]).toEqual([status, 'error']);
  });

  it('refuses a block that says it is larger than a body may be, before it is made', async () => {
    const answer = await push('prometheus/write', [PROTOBUF], Buffer.from([0xff, 0xff, 0xff, 0xff, 0x0f, 0]));
    expect([answer.status, JSON.parse(await answer.text()).code]).toEqual([413, 'body-too-large']);
  });

  it('is not for rsyslog, whose statistics have a place of their own', async () => {
    const answer = await post('otlp/v1/metrics', { headers: [bearer(SYSLOG), JSON_BODY], body: '{}' });
    expect([answer.http, answer.message]).toEqual([403, expect.stringContaining('/ingest/impstats')]);
  });
});
