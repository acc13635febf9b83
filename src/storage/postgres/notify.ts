import { Client } from 'pg';
import type { Clock } from '../../lib/clock.ts';
import { reasonOf } from '../../lib/errors.ts';
import type { Logger } from '../../lib/logger.ts';
import { CHANGE_RESOURCES, type CommittedChange, MANY } from '../types.ts';
import type { PostgresAddress } from './address.ts';

export const CHANNEL = 'headgate';

/** A payload must be below 8,000 bytes (PostgreSQL manual, NOTIFY). */
const MAX_PAYLOAD_BYTES = 7_900;
const MAX_CHANGE_BYTES = 2_000;

/** The changes as payloads: a JSON list of the session's name and `[workspace, resource, id]` for each. */
export function toPayloads(session: string, changes: readonly CommittedChange[]): readonly string[] {
  const head = JSON.stringify([session]).slice(0, -1);
  const payloads: string[] = [];
  let payload = head;
  for (const change of changes) {
    const text = textOf(change);
    if (Buffer.byteLength(payload) + Buffer.byteLength(text) > MAX_PAYLOAD_BYTES) {
      payloads.push(`${payload}]`);
      payload = head;
    }
    payload += `,${text}`;
  }
  if (payload !== head) payloads.push(`${payload}]`);
  return payloads;
}

function textOf({ workspace, resource, id }: CommittedChange): string {
  const text = JSON.stringify([workspace, resource, id]);
  return Buffer.byteLength(text) > MAX_CHANGE_BYTES ? JSON.stringify([workspace, resource, MANY]) : text;
}

/** The changes of another session's payload. What another version or program adds is ignored. */
export function changesFromPayload(payload: string, session: string): readonly CommittedChange[] {
  const parsed = parseList(payload);
  return parsed[0] === session ? [] : parsed.slice(1).flatMap(parseChange);
}

function parseList(payload: string): readonly unknown[] {
  try {
    const parsed: unknown = JSON.parse(payload);
    return Array.isArray(parsed) ? parsed : [];
  } catch {
    return [];
  }
}

function parseChange(parsed: unknown): CommittedChange[] {
  if (!Array.isArray(parsed)) return [];
  const [workspace, word, id]: unknown[] = parsed;
  const resource = CHANGE_RESOURCES.find(known => known === word);
  if (resource === undefined || typeof workspace !== 'string' || typeof id !== 'string') return [];
  return [{ workspace, resource, id }];
}

const MIN_RECONNECT_MS = 100;
const MAX_RECONNECT_MS = 5_000;
/** A dead network reports nothing, so the server is pinged. */
const PING_INTERVAL_MS = 10_000;
const PING_TIMEOUT_MS = 5_000;

export interface ListeningOptions {
  readonly address: PostgresAddress;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Called with each payload. */
  readonly onPayload: (payload: string) => void;
  /** Called whenever it listens anew: notifications sent before were missed. */
  readonly onListening: () => void;
}

/** Listens on a connection of its own, replaced whenever it is lost, until the answer is called. */
export function startListening({
  address,
  clock,
  logger,
  onPayload,
  onListening,
}: ListeningOptions): () => Promise<void> {
  const closing = new AbortController();
  let wait = MIN_RECONNECT_MS;

  /** Rejects once the connection is lost; resolves when it is to be closed. */
  async function listen(client: Client, lost: AbortSignal): Promise<void> {
    await client.connect();
    await client.query(`listen ${CHANNEL}`);
    wait = MIN_RECONNECT_MS;
    onListening();
    const disturbed = AbortSignal.any([lost, closing.signal]);
    while (!closing.signal.aborted) {
      await client.query('select 1');
      await clock.sleep(PING_INTERVAL_MS, disturbed);
      lost.throwIfAborted();
    }
  }

  async function listenOnce(): Promise<void> {
    const client = new Client({ ...address.config, query_timeout: PING_TIMEOUT_MS });
    const losing = new AbortController();
    client.on('error', error => losing.abort(error));
    client.on('end', () => losing.abort(new Error('the server has ended the connection')));
    client.on('notification', ({ payload = '' }) => onPayload(payload));
    try {
      await listen(client, losing.signal);
    } finally {
      // A dead network never acknowledges the end.
      await Promise.race([client.end().catch(() => {}), clock.sleep(PING_TIMEOUT_MS)]);
    }
  }

  async function run(): Promise<void> {
    while (!closing.signal.aborted) {
      try {
        await listenOnce();
      } catch (error) {
        const detail = { place: address.label, reason: reasonOf(error) };
        if (wait === MIN_RECONNECT_MS)
          logger.warn(detail, 'other processes are not heard for a while; it is tried again by itself');
        await clock.sleep(wait, closing.signal);
        wait = Math.min(MAX_RECONNECT_MS, wait * 2);
      }
    }
  }

  const running = run();
  return async () => {
    closing.abort();
    await running;
  };
}
