import { Client } from 'pg';
import type { Clock } from '../lib/clock.ts';
import { reasonOf } from '../lib/errors.ts';
import type { Logger } from '../lib/logger.ts';
import type { PostgresAddress } from './postgres-address.ts';
import { CHANNEL } from './postgres-notices.ts';

const SHORTEST_WAIT_MS = 100;
const LONGEST_WAIT_MS = 5_000;
/** A dead network says nothing, so the server is asked whether it is there. */
const ASK_EVERY_MS = 10_000;
const ANSWER_WITHIN_MS = 5_000;

export interface ListeningOptions {
  readonly address: PostgresAddress;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Called with each payload. */
  readonly heard: (payload: string) => void;
  /** Called whenever it listens anew: what was told before was not heard. */
  readonly begun: () => void;
}

/** Listens on a connection of its own, replaced whenever it is lost, until the answer is called. */
export function startListening({
  address,
  clock,
  logger,
  heard,
  begun,
}: ListeningOptions): () => Promise<void> {
  const closing = new AbortController();
  let wait = SHORTEST_WAIT_MS;

  /** Rejects once the connection is lost; resolves when it is to be closed. */
  async function listen(client: Client, lost: AbortSignal): Promise<void> {
    await client.connect();
    await client.query(`listen ${CHANNEL}`);
    wait = SHORTEST_WAIT_MS;
    begun();
    const disturbed = AbortSignal.any([lost, closing.signal]);
    while (!closing.signal.aborted) {
      await client.query('select 1');
      await clock.sleep(ASK_EVERY_MS, disturbed);
      lost.throwIfAborted();
    }
  }

  async function listenOnce(): Promise<void> {
    const client = new Client({ ...address.config, query_timeout: ANSWER_WITHIN_MS });
    const losing = new AbortController();
    client.on('error', error => losing.abort(error));
    client.on('end', () => losing.abort(new Error('the server has ended the connection')));
    client.on('notification', ({ payload = '' }) => heard(payload));
    try {
      await listen(client, losing.signal);
    } finally {
      // A dead network never acknowledges the end.
      await Promise.race([client.end().catch(() => {}), clock.sleep(ANSWER_WITHIN_MS)]);
    }
  }

  async function run(): Promise<void> {
    while (!closing.signal.aborted) {
      try {
        await listenOnce();
      } catch (error) {
        const detail = { place: address.place, reason: reasonOf(error) };
        if (wait === SHORTEST_WAIT_MS)
          logger.warn(detail, 'other processes are not heard for a while; it is tried again by itself');
        await clock.sleep(wait, closing.signal);
        wait = Math.min(LONGEST_WAIT_MS, wait * 2);
      }
    }
  }

  const running = run();
  return async () => {
    closing.abort();
    await running;
  };
}
