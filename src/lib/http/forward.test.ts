import { createServer, type IncomingMessage, request, type Server, type ServerResponse } from 'node:http';
import { expect, it, onTestFinished } from 'vitest';
import { AppError } from '../errors.ts';
import { createHttpForward } from './forward.ts';

type Answerer = (incoming: IncomingMessage, outgoing: ServerResponse) => void;

async function listening(answer: Answerer): Promise<string> {
  const server: Server = createServer(answer);
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const address = server.address();
  if (typeof address !== 'object' || address === null) throw new Error('the server does not listen');
  return `http://127.0.0.1:${address.port}`;
}

/** A server that forwards everything to another one, and answers with the code of what failed. */
async function forwarding(origin: string): Promise<string> {
  const forward = createHttpForward(() => undefined);
  onTestFinished(() => forward.close());
  return listening((incoming, outgoing) => {
    forward.forward({ incoming, outgoing, origin, headers: {} }).catch((error: unknown) => {
      outgoing
        .writeHead(error instanceof AppError ? 500 : 501)
        .end(error instanceof AppError ? error.code : '');
    });
  });
}

/** Resolves once the headers of the answer are there. */
function ask(url: string, method = 'GET'): Promise<{ status: number; text: () => Promise<string> }> {
  return new Promise((resolve, reject) => {
    const headers = method === 'GET' ? {} : { 'content-length': 2 };
    const call = request(url, { method, headers, agent: false }, response => {
      const text = async (): Promise<string> => {
        let whole = '';
        for await (const chunk of response) whole += String(chunk);
        return whole;
      };
      response.on('error', () => {});
      resolve({ status: response.statusCode ?? 0, text });
    });
    onTestFinished(() => void call.destroy());
    call.on('error', reject);
    call.end(method === 'GET' ? undefined : '{}');
  });
}

it('holds nobody up by the streams of others, however many there are', async () => {
  const origin = await listening(({ url }, outgoing) => {
    outgoing.writeHead(200);
    if (url === '/stream') outgoing.write('first');
    else outgoing.end('done');
  });
  const server = await forwarding(origin);
  const streams = await Promise.all(Array.from({ length: 200 }, () => ask(`${server}/stream`)));
  expect(new Set(streams.map(({ status }) => status))).toEqual(new Set([200]));
  expect(await (await ask(`${server}/other`)).text()).toBe('done');
});

it('says of what may have been done that nobody knows, and only of what was not that it may be sent again', async () => {
  const cutting = await forwarding(await listening(incoming => incoming.socket.destroy()));
  for (const method of ['POST', 'PATCH', 'PUT', 'DELETE'])
    expect(await (await ask(cutting, method)).text(), method).toBe('unanswered');
  expect(await (await ask(cutting)).text()).toBe('unavailable');
  const nobody = await forwarding('http://127.0.0.1:1');
  expect(await (await ask(nobody, 'POST')).text()).toBe('unavailable');
});
