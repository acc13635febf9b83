import { connect, type Socket } from 'node:net';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { until } from '../helpers/until.ts';
import { type ApiServer, startApiServer } from './api-server.ts';

let server: ApiServer;
const sockets: Socket[] = [];

beforeEach(async () => {
  server = await startApiServer({ settings: {} });
});
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  await server.stop();
});

/** Sends bytes as they are, and gathers what comes back. */
function talk(text: string): { readonly answer: () => string; send(more: string): void } {
  const { hostname, port } = new URL(server.url);
  const socket = connect(Number(port), hostname);
  let answer = '';
  socket.on('data', chunk => {
    answer += chunk;
  });
  socket.on('error', () => {});
  socket.write(text);
  sockets.push(socket);
  return { answer: () => answer, send: more => void socket.write(more) };
}

it.each([
  ['what is no HTTP', 'hello\r\n\r\n', 400],
  ['a header without a colon', 'GET / HTTP/1.1\r\nhost localhost\r\n\r\n', 400],
  ['an unknown method', 'FOO /api/v1/health HTTP/1.1\r\nhost: localhost\r\n\r\n', 400],
  ['headers over 16 KiB', `GET / HTTP/1.1\r\nhost: localhost\r\nx: ${'a'.repeat(20_000)}\r\n\r\n`, 431],
])('refuses %s in the form of all refusals', async (_, text, status) => {
  const { answer } = talk(text);
  await until(() => answer().includes('}'));
  expect(answer()).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
  const body = JSON.parse(answer().split('\r\n\r\n')[1] ?? '');
  expect(body).toMatchObject({ status: 'error', code: 'invalid-request' });
  expect(body.requestId).toMatch(/^[0-9a-f-]{36}$/);
});

it('answers on open connections that it is shutting down, and lets no half request hold the stop', async () => {
  const login =
    'POST /api/v1/auth/login HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: 9\r\n\r\n';
  const kept = talk(login);
  const half = talk(`${login}{`);
  await until(() => sockets.every(socket => !socket.pending && socket.bytesWritten > 0));
  await server.call('GET', '/api/v1/health');
  const begun = performance.now();
  const stopping = server.stop();
  kept.send('{"a": 12}GET /api/v1/health HTTP/1.1\r\nhost: localhost\r\n\r\n');
  await stopping;
  expect(performance.now() - begun).toBeLessThan(6000);
  expect(kept.answer()).toContain('HTTP/1.1 420');
  expect(kept.answer()).toContain('"status":"shutting down"');
  expect(half.answer()).toBe('');
});
