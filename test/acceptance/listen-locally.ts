import type { Server } from 'node:http';

/** Opens a free port on loopback. `end` closes it with every connection, whatever is under way on them. */
export async function listenLocally(
  server: Server,
): Promise<{ readonly url: string; readonly end: () => Promise<void> }> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(0, '127.0.0.1', resolve);
  });
  const address = server.address();
  if (typeof address !== 'object' || address === null) throw new Error('the server has no port');
  return {
    url: `http://127.0.0.1:${address.port}`,
    end: () =>
      new Promise(resolve => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
