import type { HeadgateEvent } from '../events/event.ts';
import { obeyedMs } from '../lib/backoff.ts';
import type { Clock } from '../lib/clock.ts';
import { reasonOf } from '../lib/errors.ts';
import type { HttpClient } from '../lib/http.ts';
import type { Logger } from '../lib/logger.ts';
import type { SettleOperation, Storage } from '../storage/storage.ts';
import type { Outcome } from '../targets/outcome.ts';
import type { Target } from '../targets/target.ts';
import { outgoing } from './outgoing.ts';
import type { Waiting } from './queue.ts';
import { settlement, skip } from './settlement.ts';

/** A target that neither answers nor fails by then has failed. Targets' own limits are shorter. */
const LONGEST_ATTEMPT_MS = 60_000;

/** What every attempt needs. */
export interface Attempts {
  readonly workspace: string;
  readonly storage: Storage;
  readonly http: HttpClient;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly random: () => number;
  /** Folder below which targets may write log files. */
  readonly logFolder: string;
  /** Read at each attempt, so that a reload counts at once. */
  readonly settings: () => DeliverySettings;
  /** Told what was booked of a delivery to the target. Left out, nobody is. */
  readonly booked?: (target: string, settlement: SettleOperation) => void;
  /** Aborts what is under way when the time for a graceful stop is over. */
  readonly signal: AbortSignal;
  /** Whether this process may send at this moment; it may always where there is no other. */
  readonly holds?: () => boolean;
}

interface DeliverySettings {
  /** Milliseconds between attempts; the first is before the first attempt. */
  readonly retrySchedule: readonly number[];
  /** What `cribl_host` says. */
  readonly instanceName: string;
}

export interface AttemptResult {
  readonly settlement: SettleOperation;
  /** When it may be tried again, on the monotonic clock; means nothing once it is settled. */
  readonly due: number;
  /** How long the whole target must wait. */
  readonly pauseMs: number;
}

/** The wait of a whole target whose receiver asks it to slow down and does not say for how long. */
const PAUSE_MS = 60_000;

/**
 * Tries a delivery once. `stopped` when the process ends meanwhile: nothing is booked and it is sent again later.
 * Rejects when the store cannot be read; then nothing was sent.
 */
export async function attempt(
  entry: Waiting,
  target: Target,
  options: Attempts,
): Promise<AttemptResult | 'stopped'> {
  const { clock, workspace } = options;
  const { row } = entry;
  const stores = options.storage.in(workspace);
  if (row.status === 'OK' && !(await stores.deliveries.reached(row.incident_id, row.target)))
    return { settlement: skip(workspace, row, clock.now()), due: 0, pauseMs: 0 };
  const event = entry.event ?? (await storedEvent(options, row.event_id));
  const startedAt = clock.now();
  const started = clock.monotonic();
  const outcome = event === undefined ? LOST : await send(event, entry, target, options);
  if (isOver(options) && outcome.kind !== 'sent') return 'stopped';
  const { retrySchedule } = options.settings();
  const durationMs = clock.monotonic() - started;
  const booked = settlement({
    workspace,
    delivery: row,
    outcome,
    startedAt,
    durationMs,
    retrySchedule,
    random: options.random,
  });
  const due = started + ((booked.nextAt ?? startedAt) - startedAt);
  return { settlement: booked, due, pauseMs: pauseOf(outcome) };
}

function pauseOf(outcome: Outcome): number {
  if (outcome.kind !== 'retry' || outcome.pauseTarget !== true) return 0;
  return outcome.retryAfterMs === undefined ? PAUSE_MS : obeyedMs(outcome.retryAfterMs);
}

const LOST: Outcome = { kind: 'refused', reason: 'its event is no longer in the store' };

async function storedEvent(options: Attempts, id: string): Promise<HeadgateEvent | undefined> {
  const row = await options.storage.in(options.workspace).events.get(id);
  return row === undefined ? undefined : parseStored(row.body);
}

/** The body was written by this product from a `HeadgateEvent`. */
const parseStored = (body: string): HeadgateEvent => JSON.parse(body) as HeadgateEvent;

/** A process that was frozen finds its timers due before it learns that its time is over. */
const isOver = ({ signal, holds = () => true }: Attempts): boolean => signal.aborted || !holds();

const GIVEN_UP: Outcome = { kind: 'retry', reason: `no end within ${LONGEST_ATTEMPT_MS / 1000} s` };

async function send(
  event: HeadgateEvent,
  entry: Waiting,
  target: Target,
  options: Attempts,
): Promise<Outcome> {
  if (isOver(options)) return GIVEN_UP;
  const limit = new AbortController();
  const givenUp = new Promise<Outcome>(resolve => {
    limit.signal.addEventListener('abort', () => resolve(GIVEN_UP));
  });
  const abort = (): void => limit.abort();
  const cancel = options.clock.after(LONGEST_ATTEMPT_MS, abort);
  options.signal.addEventListener('abort', abort);
  try {
    return await Promise.race([sent(event, entry, target, { ...options, signal: limit.signal }), givenUp]);
  } finally {
    cancel();
    options.signal.removeEventListener('abort', abort);
  }
}

async function sent(
  event: HeadgateEvent,
  { row }: Waiting,
  target: Target,
  options: Attempts,
): Promise<Outcome> {
  const { id, systemFields } = target.settings;
  const logger = options.logger.child({ target: id, deliveryId: row.id });
  try {
    return await target.send([outgoing(event, systemFields, options.settings().instanceName)], {
      deliveryId: row.id,
      http: options.http,
      clock: options.clock,
      logger,
      signal: options.signal,
      logFolder: options.logFolder,
    });
  } catch (error) {
    logger.error({ reason: reasonOf(error) }, 'a target failed unexpectedly');
    return { kind: 'retry', reason: 'the target failed unexpectedly; the log has the detail' };
  }
}
