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

/** Opens the port and answers the URL with the real port. Throws `conflict` when it is in use. */
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
  if (code === 'EADDRNOTAVAIL' || code === 'ENOTFOUND' || code.startsWith('EAI_'))
    return new AppError('conflict', `${host} is not an address of this machine; set api.host or --host`);
  return undefined;
}

interface Closing {
  readonly close: () => PromiseLike<unknown>;
  readonly server: { closeAllConnections(): void };
}

/** Time for requests under way to end before the process stops. */
const CLOSE_TIMEOUT_MS = 2000;

/** Accepts no further connection and lets requests under way end; a stalled client is disconnected. */
export async function closeServer({ server, close }: Closing, clock: Clock): Promise<void> {
  const cancel = clock.after(CLOSE_TIMEOUT_MS, () => server.closeAllConnections());
  await close();
  cancel();
}

/** A process without an announcement for this time counts as gone. */
const ANNOUNCEMENT_TTL_MS = 15_000;
const ANNOUNCE_MS = 5000;

/** Announces the address of this process to the others on the same store, until it is stopped. */
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
    message: 'the address of this process cannot be announced to the others',
    over: 'the address of this process is announced to the others again',
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

/** A URL for other processes. For a server that listens on all addresses it has one of the machine's addresses. */
export function nodeUrlOf(url: string): string {
  const { protocol, hostname, port } = new URL(url);
  if (hostname !== '0.0.0.0' && hostname !== '[::]') return url;
  const addresses = Object.values(networkInterfaces()).flatMap(list => list ?? []);
  const outside = addresses.find(({ internal, family }) => !internal && family === 'IPv4');
  return `${protocol}//${outside?.address ?? '127.0.0.1'}:${port}`;
}
