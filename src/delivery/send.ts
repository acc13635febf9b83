import type { HeadgateEvent } from '../events/event.ts';
import { toOutgoing } from '../events/outgoing.ts';
import type { CountedLog } from '../lib/counted-log.ts';
import { AppError } from '../lib/errors.ts';
import type { DeliveryRow, DeliveryStore, NotifiedTargets } from '../storage/stores/deliveries.ts';
import type { EventStore } from '../storage/stores/events.ts';
import type { Target } from '../targets/target.ts';
import { type AttemptResult, attempt, type DeliveryContext } from './attempt.ts';
import type { TokenReservation } from './limits/quota.ts';
import { type DeliveryQueue, groupOf, type QueuedDelivery, STORE_RETRY_MS } from './queue.ts';

export interface BatchSenderOptions extends DeliveryContext {
  readonly queue: DeliveryQueue;
  /** Reports failures to read and to bind deliveries. */
  readonly faultLog: CountedLog;
}

/** The result of deliveries that were taken from the queue. */
export interface SendResult {
  /** Not to be sent at all. */
  readonly skipped: readonly PreparedDelivery[];
  /** Sent as one request; of several, the rows name their batch. */
  readonly sent: readonly PreparedDelivery[];
  /** Undefined when nothing was sent. */
  readonly attemptResult: AttemptResult | undefined;
}

/** `requeued`: all are in the queue again. `stopped`: the process ends, and they are sent after the next start. */
type BatchOutcome = SendResult | 'requeued' | 'stopped';

/** From the queue to the answer: prepares deliveries, binds those that are sent as one batch, and sends them once. */
export interface BatchSender {
  send(
    entries: readonly QueuedDelivery[],
    target: Target,
    reservation: TokenReservation,
  ): Promise<BatchOutcome>;
}

export const createBatchSender = (options: BatchSenderOptions): BatchSender => new Sender(options);

class Sender implements BatchSender {
  readonly #options: BatchSenderOptions;
  readonly #stores: PrepareOptions['stores'];
  readonly #queue: DeliveryQueue;
  /** Ids of batches whose deliveries are being loaded or are in flight. */
  readonly #inFlight = new Set<string>();

  constructor(options: BatchSenderOptions) {
    this.#options = options;
    this.#queue = options.queue;
    this.#stores = options.storage.in(options.workspace);
  }

  async send(
    entries: readonly QueuedDelivery[],
    target: Target,
    reservation: TokenReservation,
  ): Promise<BatchOutcome> {
    const [first] = entries;
    const batch = first?.row.batch ?? null;
    if (first === undefined || batch === null) return this.#prepareAndSend(entries, target);
    if (this.#inFlight.has(batch)) return this.#requeueLater([first]);
    this.#inFlight.add(batch);
    try {
      return await this.#resend(first, batch, target, reservation);
    } finally {
      this.#inFlight.delete(batch);
    }
  }

  async #resend(
    first: QueuedDelivery,
    batch: string,
    target: Target,
    reservation: TokenReservation,
  ): Promise<BatchOutcome> {
    const entries = await this.#loadBatch(first, batch).catch(error => {
      this.#options.faultLog.failed(error);
      this.#requeueLater([first]);
    });
    if (entries === undefined) return 'requeued';
    if (!reservation.tryResize(entries.length)) return this.#requeue(entries, { batchSize: entries.length });
    return this.#prepareAndSend(entries, target);
  }

  /** All deliveries of the batch, whatever of them is in memory. Undefined when they cannot be sent together now. */
  async #loadBatch(first: QueuedDelivery, batch: string): Promise<readonly QueuedDelivery[] | undefined> {
    const rows = await this.#stores.deliveries.inBatch(batch);
    if (!rows.some(row => row.id === first.row.id)) return this.#refresh(first);
    const entries: QueuedDelivery[] = [];
    for (const row of rows) {
      const isFirst = row.id === first.row.id;
      const entry = isFirst ? first : this.#queue.takeEntry({ row, event: undefined, due: first.due });
      if (entry === undefined) {
        this.#requeueLater(entries.includes(first) ? entries : [...entries, first]);
        return undefined;
      }
      entries.push(entry);
    }
    return entries;
  }

  /** It left its batch since it was read: it was requeued by itself on request. */
  async #refresh(first: QueuedDelivery): Promise<undefined> {
    const row = await this.#stores.deliveries.get(first.row.id);
    if (row?.state === 'waiting') this.#queue.release(first, { ...first, row });
    else this.#queue.release(first);
  }

  async #prepareAndSend(entries: readonly QueuedDelivery[], target: Target): Promise<BatchOutcome> {
    const { faultLog } = this.#options;
    const { instanceName } = this.#options.settings();
    const prepared = await prepare(entries, { stores: this.#stores, target, instanceName }).catch(error =>
      faultLog.failed(error),
    );
    if (prepared === undefined) return this.#requeueLater(entries);
    faultLog.recovered();
    const skipped = prepared.filter(one => one.event === undefined);
    const ready = prepared.filter(isReady);
    const fitting = takeFitting(ready, target);
    this.#requeue(entriesOf(ready.slice(fitting.length)), {});
    const sent = await this.#bind(fitting, target);
    const [first] = sent;
    if (first === undefined) return { skipped, sent: [], attemptResult: undefined };
    const { batch, id, remainder } = first.entry.row;
    const request = {
      id: batch ?? id,
      events: sent.map(one => one.event),
      ...(remainder !== null && { rest: remainder }),
    };
    const attemptResult = await attempt(request, target, this.#options);
    return attemptResult === 'stopped' ? 'stopped' : { skipped, sent, attemptResult };
  }

  /**
   * Writes the batch before it is sent: after a crash the same deliveries are sent under the same id. When it cannot be
   * written, all are in the queue again and none is sent.
   */
  async #bind(ready: readonly ReadyDelivery[], target: Target): Promise<readonly ReadyDelivery[]> {
    const { faultLog, ids, storage, workspace } = this.#options;
    const [first] = ready;
    if (first?.entry.row.batch !== null || (ready.length < 2 && !couldGrow(first, target))) return ready;
    const batch = ids.next();
    const deliveryIds = entriesOf(ready).map(({ row }) => row.id);
    try {
      await storage.commit({ kind: 'batch', workspace, batch, deliveryIds });
      return ready.map(one => ({ ...one, entry: this.#queue.replaceTaken(one.entry, { batch }) }));
    } catch (error) {
      const isSettled = error instanceof AppError && error.code === 'conflict';
      if (isSettled) this.#requeue(entriesOf(ready), { isAlone: true });
      else {
        faultLog.failed(error);
        this.#requeueLater(entriesOf(ready));
      }
      return [];
    }
  }

  #requeue(entries: readonly QueuedDelivery[], change: Partial<QueuedDelivery>): 'requeued' {
    for (const entry of entries) this.#queue.release(entry, { ...entry, ...change });
    return 'requeued';
  }

  #requeueLater(entries: readonly QueuedDelivery[]): 'requeued' {
    return this.#requeue(entries, { due: this.#options.clock.monotonic() + STORE_RETRY_MS });
  }
}

/** After a crash others of its group could join it, under an id that its receiver knows. */
const couldGrow = ({ entry }: PreparedDelivery, { batching }: Target): boolean =>
  groupOf(entry) !== undefined && entry.isAlone !== true && batching !== undefined;

interface ReadyDelivery extends PreparedDelivery {
  readonly event: HeadgateEvent;
}

const entriesOf = (prepared: readonly PreparedDelivery[]): readonly QueuedDelivery[] =>
  prepared.map(({ entry }) => entry);

const isReady = (one: PreparedDelivery): one is ReadyDelivery => one.event !== undefined;

/** As many from the first on as one message may hold: at least the first, and all of a batch that is bound. */
function takeFitting(ready: readonly ReadyDelivery[], { batching }: Target): readonly ReadyDelivery[] {
  if (ready.length < 2 || batching === undefined || ready[0]?.entry.row.batch !== null) return ready;
  let bytes = 0;
  const firstOver = ready.findIndex(({ event }, index) => {
    bytes += Buffer.byteLength(JSON.stringify(event)) + 1;
    return index > 0 && bytes > batching.maxBytes;
  });
  return firstOver < 0 ? ready : ready.slice(0, firstOver);
}

/** A delivery that was checked before it is sent. */
export interface PreparedDelivery {
  readonly entry: QueuedDelivery;
  /** The event as it was made; undefined when it is not in the store any more. */
  readonly original: HeadgateEvent | undefined;
  /** The event as the target gets it; undefined when nothing is sent. */
  readonly event: HeadgateEvent | undefined;
  /** Why it is not to be sent. */
  readonly skipReason: string | undefined;
  /** For a resolution, the fallback targets that got the alarm and not yet its end. */
  readonly fallbackTargets: readonly string[];
}

interface PrepareOptions {
  readonly stores: { readonly deliveries: DeliveryStore; readonly events: EventStore };
  readonly target: Target;
  /** The value of `cribl_host`. */
  readonly instanceName: string;
}

/** Rejects when the store cannot be read. */
async function prepare(
  entries: readonly QueuedDelivery[],
  { stores, target, instanceName }: PrepareOptions,
): Promise<readonly PreparedDelivery[]> {
  const stored = await storedEvents(entries, stores.events);
  return Promise.all(
    entries.map(async (entry): Promise<PreparedDelivery> => {
      const { row } = entry;
      const notified = needsNotified(row)
        ? await stores.deliveries.notified(row.incident_id, row.target)
        : undefined;
      const original = entry.event ?? stored.get(row.event_id);
      const outgoing = original && toOutgoing(original, target.settings.systemFields, instanceName);
      const skipReason =
        (outgoing && target.skipReason?.(outgoing)) ?? (await skipReasonOf(row, notified, stores.deliveries));
      return {
        entry,
        original,
        event: skipReason === undefined ? outgoing : undefined,
        skipReason,
        fallbackTargets: notified !== undefined && isFirstAttempt(row) ? notified.fallbacks : [],
      };
    }),
  );
}

/** Why sending it would be pointless or misleading: an alarm that comes after its end would stay open for ever. */
async function skipReasonOf(
  row: DeliveryRow,
  notified: NotifiedTargets | undefined,
  deliveries: DeliveryStore,
): Promise<string | undefined> {
  const { incident_id: incident, target, seq } = row;
  // A batch stays whole.
  if (row.batch !== null) return undefined;
  if (notified?.isNotified === false) return 'the alarm it resolves did not reach this target';
  if (row.retried_at !== null && (await deliveries.isSuperseded(incident, target, seq)))
    return 'this target has got a later event of the incident since';
  return undefined;
}

/** The fallbacks of an alarm get it before its end is tried, so that they are known at the first attempt. */
const isFirstAttempt = ({ attempts, retried_from: from }: DeliveryRow): boolean => attempts <= from;

/** A batch is sent whole, whatever was notified. */
const needsNotified = (row: DeliveryRow): boolean =>
  row.status === 'OK' && (row.batch === null || isFirstAttempt(row));

async function storedEvents(
  entries: readonly QueuedDelivery[],
  events: EventStore,
): Promise<ReadonlyMap<string, HeadgateEvent>> {
  const missing = entries.flatMap(({ event, row }) => (event === undefined ? [row.event_id] : []));
  const rows = missing.length === 0 ? [] : await events.byIds(missing);
  return new Map(rows.map(row => [row.id, parseStored(row.body)]));
}

/** The body was written by this product from a `HeadgateEvent`. */
const parseStored = (body: string): HeadgateEvent => JSON.parse(body) as HeadgateEvent;
