import { createServer as createHttpServer } from 'node:http';
import { createServer, type Socket } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { settle, testClock } from '../../../test/helpers/clock.ts';
import { stalledListener } from '../../../test/helpers/stalled-listener.ts';
import { until } from '../../../test/helpers/until.ts';
import { systemClock } from '../clock.ts';
import { createHttpClient, type HttpClient, type HttpRequest } from './client.ts';

const TIMEOUTS = { connect: 3000, write: 4000, firstByte: 5000, body: 6000 };

function client(options: Partial<Parameters<typeof createHttpClient>[0]> = {}) {
  const http = createHttpClient({
    ...{ privateAddresses: 'allow', allowedAddresses: [], clock: systemClock },
    ...options,
  });
  onTestFinished(() => http.close());
  return http;
}

const post = (port: number, more: Partial<HttpRequest> = {}): HttpRequest => ({
  ...{ url: `http://127.0.0.1:${port}/`, method: 'POST', body: 'hello' },
  ...{ timeoutMs: 60_000, timeouts: TIMEOUTS, maxAnswerBytes: 1000 },
  ...more,
});

/** Asks, and waits until the connection stands idle. */
async function ask(http: HttpClient, request: HttpRequest): Promise<void> {
  await http.request(request);
  await settle();
}

/** A receiver that does with each connection what the test says. */
async function receiver(onConnection: (socket: Socket, number: number) => void): Promise<number> {
  const sockets: Socket[] = [];
  const server = createServer(socket => {
    sockets.push(socket.on('error', () => {}));
    onConnection(socket, sockets.length);
  });
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  const address = server.address();
  return typeof address === 'object' && address !== null ? address.port : 0;
}

/** Waits for the time-out of a request, which comes at `ms` and not before. */
async function timesOut(request: Promise<unknown>, clock: ReturnType<typeof testClock>, ms: number) {
  let failure: unknown;
  const ended = request.catch(error => {
    failure = error;
  });
  await clock.advance(ms - 1);
  expect(failure).toBeUndefined();
  await clock.advance(1);
  await ended;
  return failure;
}

const failed = (text: string, isWritten: boolean) =>
  expect.objectContaining({ reason: 'timeout', isWritten, message: expect.stringContaining(text) });

test('connecting has its own time, and nothing was written', async () => {
  const { port } = await stalledListener('127.0.0.1');
  const clock = testClock();
  const request = client({ clock }).request(post(port));
  await settle();
  expect(await timesOut(request, clock, 3000)).toEqual(failed('timed out after 3 s connecting', false));
});

test('writing the request has its own time', async () => {
  let connections = 0;
  const port = await receiver(socket => {
    connections += 1;
    socket.pause();
  });
  const clock = testClock();
  const request = client({ clock }).request(post(port, { body: Buffer.alloc(64 * 1024 * 1024) }));
  await until(() => connections === 1);
  await settle();
  expect(await timesOut(request, clock, 4000)).toEqual(
    failed('timed out after 4 s writing the request', true),
  );
});

test('the first byte and the rest of the answer have their own time', async () => {
  let begin = (): void => {};
  let isAsked = false;
  const port = await receiver(socket => {
    begin = () => socket.write('HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nhalf');
    socket.once('data', () => {
      isAsked = true;
    });
  });
  const clock = testClock();
  const http = client({ clock });
  const first = http.request(post(port));
  await until(() => isAsked);
  expect(await timesOut(first, clock, 5000)).toEqual(
    failed('timed out after 5 s waiting for the first byte of the answer', true),
  );
  isAsked = false;
  const second = http.request(post(port));
  await until(() => isAsked);
  await clock.advance(4999);
  begin();
  await new Promise(resolve => setImmediate(resolve));
  await settle();
  expect(await timesOut(second, clock, 6000)).toEqual(failed('timed out after 6 s reading the answer', true));
});

test('the time of the whole ends every step', async () => {
  let isAsked = false;
  const port = await receiver(socket => {
    socket.once('data', () => {
      isAsked = true;
    });
  });
  const clock = testClock();
  const request = client({ clock }).request(post(port, { timeoutMs: 2000 }));
  await until(() => isAsked);
  expect(await timesOut(request, clock, 2000)).toEqual(
    failed('timed out after 2 s waiting for the first byte of the answer', true),
  );
});

test('a request whose steps all end in time may take longer than each of them', async () => {
  const port = await receiver(socket => {
    socket.once('data', () => socket.end('HTTP/1.1 202 Accepted\r\ncontent-length: 0\r\n\r\n'));
  });
  expect(await client().request(post(port))).toMatchObject({ status: 202 });
});

const OK = 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok';

test('a reset of a connection that stood idle is followed by one try on a fresh one', async () => {
  const heard: number[] = [];
  const port = await receiver((socket, number) => {
    let requests = 0;
    socket.on('data', () => {
      heard.push(number);
      requests += 1;
      if (number === 1 && requests === 2) socket.resetAndDestroy();
      else socket.write(OK);
    });
  });
  const http = client();
  await ask(http, post(port));
  expect((await http.request(post(port))).body.toString()).toBe('ok');
  expect(heard).toEqual([1, 1, 2]);
});

test('a fresh connection that is reset is not followed by another, and neither is a time-out', async () => {
  let connections = 0;
  const port = await receiver((socket, number) => {
    connections = number;
    let requests = 0;
    socket.on('data', () => {
      requests += 1;
      if (number === 1 && requests === 1) socket.write(OK);
      else socket.resetAndDestroy();
    });
  });
  const http = client();
  await ask(http, post(port));
  await expect(http.request(post(port))).rejects.toMatchObject({ reason: 'reset', isWritten: true });
  expect(connections).toBe(2);
  await expect(http.request(post(port))).rejects.toMatchObject({ reason: 'reset' });
  expect(connections).toBe(3);
  const hanging = await receiver(socket => {
    let requests = 0;
    socket.on('data', () => {
      requests += 1;
      if (requests === 1) socket.write(OK);
    });
  });
  const soon = { timeoutMs: 300 };
  await ask(http, post(hanging, soon));
  await expect(http.request(post(hanging, soon))).rejects.toMatchObject({ reason: 'timeout' });
});

test('what may have arrived on the idle connection counts, though the fresh one cannot be made', async () => {
  const server = createServer(socket => {
    let requests = 0;
    socket
      .on('error', () => {})
      .on('data', () => {
        requests += 1;
        if (requests === 1) return void socket.write(OK);
        server.close();
        socket.resetAndDestroy();
      });
  });
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  const http = client();
  await ask(http, post(port));
  await expect(http.request(post(port))).rejects.toMatchObject({ reason: 'refused', isWritten: true });
});

test('a reset in the middle of an answer is no reason to send again', async () => {
  let connections = 0;
  const port = await receiver((socket, number) => {
    connections = number;
    let requests = 0;
    socket.on('data', () => {
      requests += 1;
      if (requests === 1) return void socket.write(OK);
      socket.write('HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nhalf', () => socket.end());
    });
  });
  const http = client();
  await ask(http, post(port));
  await expect(http.request(post(port))).rejects.toMatchObject({ reason: 'reset' });
  expect(connections).toBe(1);
});

test.each([
  ['220 mail.example ESMTP\r\n', /something that is not HTTP: first bytes "220 mail.example ESMTP"$/],
  [
    'SSH-2.0-OpenSSH_9.2p1 Debian-2+deb12u3\r\n',
    /not HTTP: first bytes "SSH-2.0-OpenSSH_9.2p1 Debian-2\+d"$/,
  ],
  ['<html>old</html>', /not HTTP: first bytes "<html>old<\/html>"$/],
  [Buffer.from([0x15, 3, 1, 0, 2, 2, 0x16]), /not HTTP: a TLS alert; write https in the address$/],
  [Buffer.from([0, 0, 0x12, 4, 0, 0, 0, 0, 0]), /not HTTP: a frame of HTTP\/2/],
  [Buffer.from([0xff, 1, 2, 3]), /not HTTP: bytes that are no text$/],
  [Buffer.from([0x7f, 1, 2, 3]), /not HTTP: first bytes 7f010203$/],
  [
    'HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n',
    /answered 101 Switching Protocols, which nobody asked it for$/,
  ],
  [`HTTP/1.1 200 OK\r\nx: ${'y'.repeat(10_000_000)}\r\n\r\n`, /headers of the answer are longer than 16 KB/],
])('an answer that is not HTTP, or not one to the request, is named: %#', async (answer, reason) => {
  const port = await receiver(socket => {
    socket.once('data', () => socket.write(answer));
  });
  const error = await client()
    .request(post(port, { headers: { authorization: 'Bearer s3cret' } }))
    .catch(thrown => thrown);
  expect(error).toMatchObject({ reason: 'other', isWritten: true });
  expect(error.message).toMatch(reason);
});

test('a port that echoes shows nothing of what was sent', async () => {
  const port = await receiver(socket => socket.pipe(socket));
  const error = await client()
    .request(post(port, { url: `http://127.0.0.1:${port}/s3cret` }))
    .catch(thrown => thrown);
  expect(error.message).toMatch(/not HTTP: the request itself$/);
});

test('requests over one connection are told apart', async () => {
  let answers = 0;
  const server = createHttpServer((_, response) => {
    answers += 1;
    response.end('ok');
  });
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  const http = client();
  for (let request = 1; request <= 20; request++) {
    expect((await http.request(post(port))).status).toBe(200);
    expect(answers).toBe(request);
  }
});
