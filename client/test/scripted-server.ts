import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';

interface Seen {
  readonly method: string;
  readonly url: string;
  readonly authorization: string | undefined;
  readonly host: string | undefined;
  readonly body: string;
}

type Answer = (request: Seen, response: ServerResponse) => void;

/** A server that answers as a test says, and keeps what it was asked. */
export async function scriptedServer(answer: Answer) {
  const seen: Seen[] = [];
  const server = createServer(async (incoming, response) => {
    const request = await read(incoming);
    seen.push(request);
    answer(request, response);
  });
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(async () => {
    server.closeAllConnections();
    await new Promise(resolve => server.close(resolve));
  });
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}`, port, seen };
}

async function read(incoming: IncomingMessage): Promise<Seen> {
  const chunks: Buffer[] = [];
  for await (const chunk of incoming) chunks.push(chunk);
  const { method = '', url = '', headers } = incoming;
  const { authorization, host } = headers;
  return { method, url, authorization, host, body: Buffer.concat(chunks).toString() };
}

export function json(
  response: ServerResponse,
  status: number,
  body: object,
  headers: Readonly<Record<string, string>> = {},
): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body));
}

/** A token whose claims say how long it lives; nobody here checks its signature. */
export function token(name: string, seconds: number): string {
  const part = (claims: object): string => Buffer.from(JSON.stringify(claims)).toString('base64url');
  return `Bearer ${part({ alg: 'none' })}.${part({ name, iat: 1000, exp: 1000 + seconds })}.x`;
}
