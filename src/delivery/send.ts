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
  /** Told what reading and binding brings. */
  readonly faultLog: CountedLog;
}

/** What became of deliveries that were taken from the queue. */
export interface SendResult {
  /** Not to be sent at all. */
  readonly skipped: readonly PreparedDelivery[];
  /** Sent together, or alone; their rows say in what. */
  readonly sent: readonly PreparedDelivery[];
  /** Undefined when nothing was sent. */
  readonly attemptResult: AttemptResult | undefined;
}

/** `put back`: all are in the queue again, for a moment. `stopped`: the process ends, and they are sent again later. */
type BatchOutcome = SendResult | 'put back' | 'stopped';

/** From the queue to the answer: looks at deliveries, binds those that travel together, and sends them once. */
export interface BatchSender {
  send(
    entries: readonly QueuedDelivery[],
    target: Target,
    reservation: TokenReservation,
  ): Promise<BatchOutcome>;
}

export function createBatchSender(options: BatchSenderOptions): BatchSender {
  const { clock, faultLog, ids, queue, storage, workspace } = options;
  const stores = storage.in(workspace);
  /** Batches whose deliveries are being brought together or are under way. */
  const inFlight = new Set<string>();

  function requeue(entries: readonly QueuedDelivery[], change: Partial<QueuedDelivery>): 'put back' {
    for (const entry of entries) queue.release(entry, { ...entry, ...change });
    return 'put back';
  }

  const requeueLater = (entries: readonly QueuedDelivery[]): 'put back' =>
    requeue(entries, { due: clock.monotonic() + STORE_RETRY_MS });

  /** It left its batch since it was read: somebody had it tried again by itself. */
  async function refresh(first: QueuedDelivery): Promise<undefined> {
    const row = await stores.deliveries.get(first.row.id);
    if (row?.state === 'waiting') queue.release(first, { ...first, row });
    else queue.release(first);
  }

  /** Those that travelled together once do so again, whatever of them is in memory. Undefined when they cannot now. */
  async function together(
    first: QueuedDelivery,
    batch: string,
  ): Promise<readonly QueuedDelivery[] | undefined> {
    const rows = await stores.deliveries.inBatch(batch);
    if (!rows.some(row => row.id === first.row.id)) return refresh(first);
    const entries: QueuedDelivery[] = [];
    for (const row of rows) {
      const isFirst = row.id === first.row.id;
      const entry = isFirst ? first : queue.takeEntry({ row, event: undefined, due: first.due });
      if (entry === undefined) {
        requeueLater(entries.includes(first) ? entries : [...entries, first]);
        return undefined;
      }
      entries.push(entry);
    }
    return entries;
  }

  async function resend(
    first: QueuedDelivery,
    batch: string,
    target: Target,
    reservation: TokenReservation,
  ): Promise<BatchOutcome> {
    if (inFlight.has(batch)) return requeueLater([first]);
    inFlight.add(batch);
    try {
      const entries = await together(first, batch).catch(error => {
        faultLog.failed(error);
        requeueLater([first]);
      });
      if (entries === undefined) return 'put back';
      if (!reservation.tryResize(entries.length)) return requeue(entries, { batchSize: entries.length });
      return await sendAll(entries, target);
    } finally {
      inFlight.delete(batch);
    }
  }

  async function sendAll(entries: readonly QueuedDelivery[], target: Target): Promise<BatchOutcome> {
    const { instanceName } = options.settings();
    const prepared = await prepare(entries, { stores, target, instanceName }).catch(faultLog.failed);
    if (prepared === undefined) return requeueLater(entries);
    faultLog.recovered();
    const skipped = prepared.filter(one => one.event === undefined);
    const ready = prepared.filter(isReady);
    const fittingDeliveries = takeFitting(ready, target);
    requeue(entriesOf(ready.slice(fittingDeliveries.length)), {});
    const boundDeliveries = await bind(fittingDeliveries, target);
    const [first] = boundDeliveries;
    if (first === undefined) return { skipped, sent: [], attemptResult: undefined };
    const { batch, id, remainder } = first.entry.row;
    const request = {
      id: batch ?? id,
      events: boundDeliveries.map(one => one.event),
      ...(remainder !== null && { rest: remainder }),
    };
    const attemptResult = await attempt(request, target, options);
    return attemptResult === 'stopped' ? 'stopped' : { skipped, sent: boundDeliveries, attemptResult };
  }

  /** On disk before they are sent: after a crash the same ones travel under the same id. None, back in the queue, if not. */
  async function bind(ready: readonly Ready[], target: Target): Promise<readonly Ready[]> {
    const [first] = ready;
    if (first?.entry.row.batch !== null || (ready.length < 2 && !couldGrow(first, target))) return ready;
    const batch = ids.next();
    const deliveryIds = entriesOf(ready).map(({ row }) => row.id);
    try {
      await storage.commit({ kind: 'batch', workspace, batch, deliveryIds });
      return ready.map(one => ({ ...one, entry: queue.replaceTaken(one.entry, { batch }) }));
    } catch (error) {
      const isSettled = error instanceof AppError && error.code === 'conflict';
      if (isSettled) requeue(entriesOf(ready), { isAlone: true });
      else {
        faultLog.failed(error);
        requeueLater(entriesOf(ready));
      }
      return [];
    }
  }

  return {
    async send(entries, target, reservation) {
      const [first] = entries;
      const batch = first?.row.batch ?? null;
      if (first !== undefined && batch !== null) return resend(first, batch, target, reservation);
      return sendAll(entries, target);
    },
  };
}

/** After a crash others of its group could join it, under an id that its receiver knows. */
const couldGrow = ({ entry }: PreparedDelivery, { batching }: Target): boolean =>
  groupOf(entry) !== undefined && entry.isAlone !== true && batching !== undefined;

interface Ready extends PreparedDelivery {
  readonly event: HeadgateEvent;
}

const entriesOf = (prepared: readonly PreparedDelivery[]): readonly QueuedDelivery[] =>
  prepared.map(({ entry }) => entry);

const isReady = (one: PreparedDelivery): one is Ready => one.event !== undefined;

/** As many from the first on as one message may hold; the first in any case, and all that travelled together once. */
function takeFitting(ready: readonly Ready[], { batching }: Target): readonly Ready[] {
  if (ready.length < 2 || batching === undefined || ready[0]?.entry.row.batch !== null) return ready;
  let bytes = 0;
  const firstOver = ready.findIndex(({ event }, index) => {
    bytes += Buffer.byteLength(JSON.stringify(event)) + 1;
    return index > 0 && bytes > batching.maxBytes;
  });
  return firstOver < 0 ? ready : ready.slice(0, firstOver);
}

/** A delivery that was looked at before it is sent. */
export interface PreparedDelivery {
  readonly entry: QueuedDelivery;
  /** As it was made; undefined when it is not in the store any more. */
  readonly original: HeadgateEvent | undefined;
  /** As the target gets it; undefined when nothing is sent. */
  readonly event: HeadgateEvent | undefined;
  /** Why it is not to be sent. */
  readonly skipReason: string | undefined;
  /** Of an end: the targets that were told of the beginning in place of this one, and not yet of the end. */
  readonly fallbackTargets: readonly string[];
}

interface PrepareOptions {
  readonly stores: { readonly deliveries: DeliveryStore; readonly events: EventStore };
  readonly target: Target;
  /** What `cribl_host` says. */
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
      const notified = needsNotifiedState(row)
        ? await stores.deliveries.notified(row.incident_id, row.target)
        : undefined;
      const original = entry.event ?? stored.get(row.event_id);
      const outgoingEvent = original && toOutgoing(original, target.settings.systemFields, instanceName);
      const skipReason =
        (outgoingEvent && target.skipReason?.(outgoingEvent)) ??
        (await skipReasonOf(row, notified, stores.deliveries));
      const fallbackTargets = notified !== undefined && isFirstAttempt(row) ? notified.fallbacks : [];
      return {
        entry,
        original,
        event: skipReason === undefined ? outgoingEvent : undefined,
        skipReason,
        fallbackTargets,
      };
    }),
  );
}

/** Why it would tell the receiver nothing, or mislead it: an alarm that comes after its end would stay for ever. */
async function skipReasonOf(
  row: DeliveryRow,
  notified: NotifiedTargets | undefined,
  deliveries: DeliveryStore,
): Promise<string | undefined> {
  const { incident_id: incident, target, seq } = row;
  // What travelled with others goes on doing so.
  if (row.batch !== null) return undefined;
  if (notified?.isNotified === false) return 'the alarm it resolves did not reach this target';
  if (row.retried_at !== null && (await deliveries.isSuperseded(incident, target, seq)))
    return 'this target has got later news of the incident since';
  return undefined;
}

/** An alarm goes to whoever stands in before its end is tried, so that they are known with the first attempt. */
const isFirstAttempt = ({ attempts, retried_from: retriedFrom }: DeliveryRow): boolean =>
  attempts <= retriedFrom;

/** What travelled with others is sent whatever was told. */
const needsNotifiedState = (row: DeliveryRow): boolean =>
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
