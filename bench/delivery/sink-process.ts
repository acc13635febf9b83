import { readFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type * as z from 'zod';
import { createReceiver, type Receiver } from './receiver.ts';
import { type behaviour, type command, request as requestSchema } from './sink-protocol.ts';

/** The receiving end, in a process of its own so that it takes no time of whoever measures. Arguments: key, certificate. */
/** Ports, so that receivers of one scenario need not be one host. */
const PLAIN = 3;
const receivers = new Map<string, Receiver>();

function receiverOf(name: string): Receiver {
  const present = receivers.get(name);
  if (present !== undefined) return present;
  const created = createReceiver();
  receivers.set(name, created);
  return created;
}

const now = (): number => performance.timeOrigin + performance.now();

function handle(request: IncomingMessage, response: ServerResponse): void {
  const chunks: Buffer[] = [];
  request.on('data', (chunk: Buffer) => chunks.push(chunk));
  request.on('end', () => {
    const at = now();
    const { 'webhook-id': webhookId } = request.headers;
    const how = receiverOf((request.url ?? '/').slice(1)).take(
      at,
      webhookId?.toString(),
      Buffer.concat(chunks).toString('utf8'),
    );
    if (how.delayMs > 0) setTimeout(() => answer(request, response, how), how.delayMs);
    else answer(request, response, how);
  });
}

function answer(
  request: IncomingMessage,
  response: ServerResponse,
  { mode, status, headers }: z.output<typeof behaviour>,
): void {
  if (mode === 'hang') return;
  if (mode === 'reset') return void request.socket.resetAndDestroy();
  if (mode === 'answer') return void response.writeHead(status, headers).end('ok');
  response.writeHead(200, { 'content-type': 'text/plain' });
  writeHuge(response, 50 * 1024 * 1024);
}

function writeHuge(response: ServerResponse, bytes: number): void {
  const block = Buffer.alloc(64 * 1024, 'x');
  let left = bytes;
  const write = (): void => {
    while (left > 0 && !response.destroyed) {
      left -= block.length;
      if (!response.write(block)) return void response.once('drain', write);
    }
    response.end();
  };
  write();
}

function answerCommand(asked: z.output<typeof command>): unknown {
  if (asked.kind === 'forget') return { wasKnown: receivers.delete(asked.hook) };
  const receiver = receiverOf(asked.hook);
  if (asked.kind === 'count') return { unique: receiver.unique() };
  if (asked.kind === 'report') return receiver.report();
  receiver.behave(asked.behaviour);
  return {};
}

async function listen(server: Server): Promise<string> {
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  return typeof address === 'object' && address !== null ? `127.0.0.1:${address.port}` : '';
}

async function plainOrigins(): Promise<string[]> {
  const servers = Array.from({ length: PLAIN }, () => createServer(handle));
  return (await Promise.all(servers.map(listen))).map(address => `http://${address}`);
}

const [keyFile = '', certificateFile = ''] = process.argv.slice(2);
const secure = createTlsServer({ key: readFileSync(keyFile), cert: readFileSync(certificateFile) }, handle);
// A client that does not trust the certificate never gets as far as a request.
secure.on('connection', () => receiverOf('tls').connected());
secure.on('tlsClientError', () => {});
process.on('message', message => {
  const { id, command: asked } = requestSchema.parse(message);
  process.send?.({ id, value: answerCommand(asked) });
});
process.once('disconnect', () => process.exit(0));
process.send?.({
  id: 0,
  value: { http: await plainOrigins(), https: `https://${await listen(secure)}` },
});
