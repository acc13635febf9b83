import { createClient, HeadgateConnectionError, HeadgateError, HeadgateUsageError } from '@headgate/client';
import { connectTo } from '@headgate/client/node';
import { expect, test } from 'vitest';
import { json, scriptedServer } from './scripted-server.ts';

const auth = { token: 'a.b.c' };
const body = { id: 'm', text: 'hello' };
const made = { items: [body], count: 1 };
const refusal = { status: 'error', message: 'later', code: 'rate-limited', requestId: 'r1' };

/** Waits that end at once, and how long they would have been. */
function waits() {
  const slept: number[] = [];
  return { slept, sleep: async (ms: number) => void slept.push(ms), random: () => 0 };
}

test.each([429, 503])(
  'after %i everything is tried again when the server says, a POST as well',
  async status => {
    const server = await scriptedServer((_request, response) =>
      server.seen.length < 3
        ? json(response, status, refusal, { 'retry-after': '2' })
        : json(response, 200, made),
    );
    const { slept, ...environment } = waits();
    const client = createClient({ baseUrl: server.url, auth, ...environment });
    await expect(client.messages.create({ body })).resolves.toEqual(body);
    expect(slept).toEqual([2000, 2000]);
  },
);

test('without Retry-After the waits grow, with it they stay below a minute, and at last the refusal counts', async () => {
  const headers = [{}, {}, { 'retry-after': '86400' }, {}];
  const server = await scriptedServer((_request, response) =>
    json(response, 429, refusal, headers[server.seen.length - 1]),
  );
  const { slept, ...environment } = waits();
  const client = createClient({ baseUrl: server.url, auth, ...environment });
  const error = await client.messages.create({ body }).catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(HeadgateError);
  expect(error).toMatchObject({ status: 429, code: 'rate-limited', requestId: 'r1', message: 'later' });
  expect(slept).toEqual([125, 250, 60_000]);
});

test('a date in Retry-After is read against the clock', async () => {
  const server = await scriptedServer((_request, response) =>
    server.seen.length === 1
      ? json(response, 503, refusal, { 'retry-after': 'Thu, 01 Jan 2026 00:00:09 GMT' })
      : json(response, 200, made),
  );
  const { slept, ...environment } = waits();
  const now = () => Date.UTC(2026, 0, 1, 0, 0, 4);
  await createClient({ baseUrl: server.url, auth, now, ...environment }).messages.create({ body });
  expect(slept).toEqual([5000]);
});

test('after a lost connection only what can be done twice is tried again', async () => {
  const server = await scriptedServer((_request, response) => response.destroy());
  const { slept, ...environment } = waits();
  const client = createClient({ baseUrl: server.url, auth, ...environment });
  await expect(client.messages.create({ body })).rejects.toThrow(HeadgateConnectionError);
  expect(server.seen).toHaveLength(1);
  await expect(client.messages.get({ id: 'm' })).rejects.toThrow(HeadgateConnectionError);
  expect(server.seen).toHaveLength(5);
  expect(slept).toHaveLength(3);
});

test('a server that hangs is given up after the time limit, and the error says so', async () => {
  const server = await scriptedServer(() => {});
  const client = createClient({ baseUrl: server.url, auth, timeoutMs: 50, retries: 0 });
  const error = await client.settings.get().catch((thrown: unknown) => thrown);
  expect(error).toMatchObject({ name: 'HeadgateConnectionError', timedOut: true });
});

test('an abort ends a request and a wait at once, with the reason that was given', async () => {
  const abort = new AbortController();
  const server = await scriptedServer((_request, response) => {
    if (server.seen.length === 1) json(response, 429, refusal, { 'retry-after': '60' });
    setImmediate(() => abort.abort(new Error('enough')));
  });
  const client = createClient({ baseUrl: server.url, auth });
  await expect(client.settings.get({}, { signal: abort.signal })).rejects.toThrow('enough');
  await expect(client.settings.get({}, { signal: AbortSignal.abort(new Error('before')) })).rejects.toThrow(
    'before',
  );
  expect(server.seen).toHaveLength(1);
});

test.each([
  ['no JSON', 200, 'text/html', '<h1>A proxy</h1>', 'without a JSON object: <h1>A proxy</h1>'],
  ['a list', 200, 'application/json', '[]', 'without a JSON object'],
  ['no item', 200, 'application/json', '{"items":[],"count":0}', 'no item'],
])('an answer that is %s is an error that quotes it', async (_, status, type, text, message) => {
  const server = await scriptedServer((_request, response) =>
    response.writeHead(status, { 'content-type': type }).end(text),
  );
  const client = createClient({ baseUrl: server.url, auth, retries: 0 });
  await expect(client.settings.get()).rejects.toThrow(message);
});

test('a refusal by something else than Headgate still has its status', async () => {
  const server = await scriptedServer((_request, response) =>
    response.writeHead(502, { 'content-type': 'text/html' }).end('<h1>Bad gateway</h1>'),
  );
  const client = createClient({ baseUrl: server.url, auth, retries: 0 });
  await expect(client.settings.get()).rejects.toMatchObject({ status: 502, code: 'unknown' });
});

test('a redirect is not followed: the token would go where nobody meant it to', async () => {
  const other = await scriptedServer((_request, response) => json(response, 200, made));
  const server = await scriptedServer((_request, response) =>
    response.writeHead(302, { location: `${other.url}/api/v1/system/settings/conf` }).end(),
  );
  const client = createClient({ baseUrl: server.url, auth, retries: 0 });
  await expect(client.settings.get()).rejects.toThrow(HeadgateConnectionError);
  expect(other.seen).toHaveLength(0);
});

test('a connect address is where the client connects, while Host stays that of the URL', async () => {
  const server = await scriptedServer((_request, response) => json(response, 200, made));
  const client = createClient({
    baseUrl: 'http://main-acme.localhost:9999/api/v1',
    auth,
    fetch: connectTo(`127.0.0.1:${server.port}`),
  });
  await expect(client.messages.create({ body })).resolves.toEqual(body);
  expect(server.seen[0]).toMatchObject({ host: 'main-acme.localhost:9999', body: JSON.stringify(body) });
  expect(() => connectTo('nowhere')).toThrow('no address such as 127.0.0.1:9000');
});

test.each(['nonsense', 'ftp://x/', 'http://x/?a=1', ''])('%j is no base address', baseUrl => {
  expect(() => createClient({ baseUrl })).toThrow(HeadgateUsageError);
});

test.each([
  ['http://h.example', 'http://h.example/api/v1/health'],
  ['http://h.example/', 'http://h.example/api/v1/health'],
  ['http://h.example/behind/api/v1/', 'http://h.example/behind/api/v1/health'],
])('%s asks %s', async (baseUrl, expected) => {
  const asked: string[] = [];
  const fetch = async (url: unknown) => {
    asked.push(String(url));
    return new Response('{"status":"healthy"}');
  };
  await createClient({ baseUrl, fetch }).health.get();
  expect(asked).toEqual([expected]);
});

test.each(['', '.', '..'])('an id of %j is refused before it becomes another path', async id => {
  const client = createClient({ baseUrl: 'http://127.0.0.1:1', auth });
  await expect(client.targets.remove({ id })).rejects.toThrow(HeadgateUsageError);
});
