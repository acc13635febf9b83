import { networkInterfaces } from 'node:os';
import type { Clock } from '../lib/clock.ts';
import { createFaultLog } from '../lib/fault-log.ts';
import type { Logger } from '../lib/logger.ts';
import { createRepeat } from '../lib/repeat.ts';
import type { NodeRow, Storage } from '../storage/storage.ts';

/** A process that says nothing for so long counts as gone. */
const KNOWN_MS = 15_000;
const SAY_MS = 5000;

/** Tells the other processes on the same store where this one is, until it is stopped. */
export function announceNode(
  node: NodeRow,
  {
    storage,
    clock,
    logger,
  }: { readonly storage: Pick<Storage, 'nodes'>; readonly clock: Clock; readonly logger: Logger },
): () => Promise<void> {
  const faults = createFaultLog(logger, {
    fields: {},
    message: 'the other processes cannot be told where this one is',
    over: 'the other processes are told again where this one is',
  });

  const announcing = createRepeat({
    clock,
    firstAfterMs: 0,
    interval: SAY_MS,
    work: () => storage.nodes.announce(node, KNOWN_MS),
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
