import { createServer, type IncomingHttpHeaders } from 'node:http';

/** What a contract server was sent. */
export interface Received {
  readonly method: string | undefined;
  readonly path: string | undefined;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
  /** The body as it travelled. */
  readonly raw: Buffer;
}

export interface ContractAnswer {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body: string;
}

/** A receiver on loopback that answers as its vendor does. */
export async function contractServer(answer: (received: Received) => ContractAnswer) {
  const received: Received[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', chunk => chunks.push(chunk));
    request.on('end', () => {
      const { method, headers, url } = request;
      const raw = Buffer.concat(chunks);
      const one = { method, headers, path: url, body: raw.toString(), raw };
      received.push(one);
      const { status, body, headers: own = {} } = answer(one);
      response.writeHead(status, own).end(body);
    });
  });
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  if (typeof address !== 'object' || address === null) throw new Error('the receiver has no port');
  return {
    url: `http://127.0.0.1:${address.port}`,
    received,
    async stop(): Promise<void> {
      server.closeAllConnections();
      await new Promise(resolve => server.close(resolve));
    },
  };
}
