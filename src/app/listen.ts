import type { Clock } from '../lib/clock.ts';
import { AppError, codeOf } from '../lib/errors.ts';

interface Listener {
  listen(where: { readonly host: string; readonly port: number }): Promise<string>;
  addresses(): readonly (string | { readonly port: number })[];
}

/** Opens the port and answers the URL with the real one. Throws `conflict` when it is taken. */
export async function listen(
  server: Listener,
  where: { readonly host: string; readonly port: number; readonly isEncrypted: boolean },
): Promise<string> {
  const { host, port, isEncrypted } = where;
  try {
    await server.listen({ host, port });
  } catch (error) {
    throw cannotListen(codeOf(error), host, port) ?? error;
  }
  const [first] = server.addresses();
  const real = typeof first === 'object' ? first.port : port;
  return `http${isEncrypted ? 's' : ''}://${host.includes(':') ? `[${host}]` : host}:${real}`;
}

function cannotListen(code: string, host: string, port: number): AppError | undefined {
  const place = `port ${port} on ${host}`;
  if (code === 'EADDRINUSE')
    return new AppError(
      'conflict',
      `${place} is in use by another process; set api.port or --port to a free one`,
    );
  if (code === 'EACCES')
    return new AppError('conflict', `this user may not open ${place}; choose a port from 1024 up`);
  if (code === 'EADDRNOTAVAIL' || code === 'ENOTFOUND')
    return new AppError('conflict', `${host} is not an address of this machine; set api.host or --host`);
  return undefined;
}

interface Closing {
  close(): PromiseLike<unknown>;
  readonly server: { closeAllConnections(): void };
}

/** How long requests under way may take to end when the process does. */
const HANG_UP_MS = 2000;

/** Opens no connection more and lets requests under way end; who neither sends nor reads on is cut off. */
export async function hangUp({ server, close }: Closing, clock: Clock): Promise<void> {
  const cancel = clock.after(HANG_UP_MS, () => server.closeAllConnections());
  await close();
  cancel();
}
