import type { HeadgateEvent } from '../events/event.ts';
import { obeyedMs } from '../lib/backoff.ts';
import type { Clock } from '../lib/clock.ts';
import { reasonOf } from '../lib/errors.ts';
import type { HttpClient } from '../lib/http.ts';
import type { Ids } from '../lib/ids.ts';
import type { Logger } from '../lib/logger.ts';
import type { DeliveryRow, DeliveryStore, SettleOperation, Storage } from '../storage/storage.ts';
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
  readonly ids: Ids;
  readonly logger: Logger;
  readonly random: () => number;
  /** Folder below which targets may write log files. */
  readonly logFolder: string;
  /** Read at each attempt, so that a reload counts at once. */
  readonly settings: () => DeliverySettings;
  /** Told what was booked of a delivery, and how long its attempt took; null when nothing was sent. Left out, nobody is. */
  readonly booked?: (row: DeliveryRow, settlement: SettleOperation, durationMs: number | null) => void;
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
  /** Attempts under way at once over all targets, beside one for each. */
  readonly concurrency: number;
}

export interface AttemptResult {
  readonly settlement: SettleOperation;
  /** It is an end, and the target's fallback was told of the beginning. */
  readonly isGiven: boolean;
  /** Null when nothing was sent. */
  readonly durationMs: number | null;
  /** Undefined when nothing was sent. */
  readonly outcome: Outcome | undefined;
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
  const { deliveries } = options.storage.in(workspace);
  const [reason, isGiven] = await Promise.all([whyNot(row, deliveries), isGivenTo(row, target, deliveries)]);
  if (reason !== undefined) {
    const settlement = skip(workspace, row, { now: clock.now(), reason });
    return { settlement, isGiven, outcome: undefined, durationMs: null, due: 0, pauseMs: 0 };
  }
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
  return { settlement: booked, isGiven, outcome, durationMs, due, pauseMs: pauseOf(outcome) };
}

/** Why it would tell the receiver nothing, or mislead it: an alarm that comes after its end would stay for ever. */
async function whyNot(row: DeliveryRow, deliveries: DeliveryStore): Promise<string | undefined> {
  const { incident_id: incident, target, seq } = row;
  if (row.status === 'OK' && !(await deliveries.reached(incident, target)))
    return 'the alarm it resolves did not reach this target';
  if (row.retried_at !== null && (await deliveries.overtaken(incident, target, seq)))
    return 'this target has got later news of the incident since';
  return undefined;
}

/** Asked before the first attempt: an alarm goes to the fallback before its end is tried. */
async function isGivenTo(row: DeliveryRow, target: Target, deliveries: DeliveryStore): Promise<boolean> {
  const { fallback } = target;
  if (row.status !== 'OK' || fallback === undefined || row.attempts > row.retried_from) return false;
  return deliveries.isGiven(row.incident_id, fallback);
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
