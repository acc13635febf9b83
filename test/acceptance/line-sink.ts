import { createServer, type Socket } from 'node:net';
import { onTestFinished } from 'vitest';

/** Where an engine delivers lines by TCP. */
export interface LineSink {
  readonly port: number;
  /** Bytes that came, over all of its lives. */
  received(): number;
  /** Cuts every connection and takes no more. */
  close(): Promise<void>;
  /** Takes connections again on the port it had. */
  open(): Promise<void>;
}

export async function lineSink(): Promise<LineSink> {
  const sockets = new Set<Socket>();
  let bytes = 0;
  const server = createServer(socket => {
    sockets.add(socket);
    socket.on('data', chunk => {
      bytes += chunk.length;
    });
    socket.on('error', () => {}).on('close', () => sockets.delete(socket));
  });
  const listen = (port: number): Promise<void> =>
    new Promise((resolve, reject) => {
      server.once('error', reject);
      server.listen(port, '127.0.0.1', () => {
        server.off('error', reject);
        resolve();
      });
    });
  const close = (): Promise<void> =>
    new Promise(resolve => {
      server.close(() => resolve());
      for (const socket of sockets) socket.destroy();
    });
  await listen(0);
  onTestFinished(close);
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  return { port, received: () => bytes, close, open: () => listen(port) };
}
