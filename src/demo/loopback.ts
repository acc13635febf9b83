import type { Server } from 'node:http';

export interface Listening {
  /** `http://127.0.0.1:port`, without a slash at the end. */
  readonly url: string;
  /** Ends at once, whatever is still connected. */
  close(): Promise<void>;
}

/** Opens any free port that only this machine can reach. */
export function listenOnLoopback(server: Server): Promise<Listening> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const address = server.address();
      const port = typeof address === 'object' && address !== null ? address.port : 0;
      resolve({
        url: `http://127.0.0.1:${port}`,
        close: () =>
          new Promise(closed => {
            server.close(() => closed());
            server.closeAllConnections();
          }),
      });
    });
  });
}
