import { networkInterfaces } from 'node:os';
import type { Clock } from '../lib/clock.ts';
import { createCountedLog } from '../lib/counted-log.ts';
import { AppError, codeOf } from '../lib/errors.ts';
import type { Logger } from '../lib/logger.ts';
import { createRepeat } from '../lib/repeat.ts';
import type { Storage } from '../storage/storage.ts';
import type { NodeRow } from '../storage/stores/nodes.ts';

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
const CLOSE_TIMEOUT_MS = 2000;

/** Opens no connection more and lets requests under way end; who neither sends nor reads on is cut off. */
export async function closeServer({ server, close }: Closing, clock: Clock): Promise<void> {
  const cancel = clock.after(CLOSE_TIMEOUT_MS, () => server.closeAllConnections());
  await close();
  cancel();
}

/** A process that says nothing for so long counts as gone. */
const ANNOUNCEMENT_TTL_MS = 15_000;
const ANNOUNCE_MS = 5000;

/** Tells the other processes on the same store where this one is, until it is stopped. */
export function announceNode(
  node: NodeRow,
  {
    storage,
    clock,
    logger,
  }: { readonly storage: Pick<Storage, 'nodes'>; readonly clock: Clock; readonly logger: Logger },
): () => Promise<void> {
  const faults = createCountedLog(logger, {
    fields: {},
    message: 'the other processes cannot be told where this one is',
    over: 'the other processes are told again where this one is',
  });

  const announcing = createRepeat({
    clock,
    firstAfterMs: 0,
    interval: ANNOUNCE_MS,
    work: () => storage.nodes.announce(node, ANNOUNCEMENT_TTL_MS),
    faults,
  });
  announcing.start();
  return async () => {
    await announcing.stop();
    await storage.nodes.leave(node.id).catch(error => faults.failed(error));
  };
}

/** Where others reach a server that listens there: every address of the machine is one that others can use. */
export function nodeUrlOf(url: string): string {
  const { protocol, hostname, port } = new URL(url);
  if (hostname !== '0.0.0.0' && hostname !== '[::]') return url;
  const addresses = Object.values(networkInterfaces()).flatMap(list => list ?? []);
  const outside = addresses.find(({ internal, family }) => !internal && family === 'IPv4');
  return `${protocol}//${outside?.address ?? '127.0.0.1'}:${port}`;
}
