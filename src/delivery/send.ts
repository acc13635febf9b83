import * as z from 'zod';
import type { HeadgateEvent } from '../events/event.ts';
import { toOutgoing } from '../events/outgoing.ts';
import { type CountedLog, createCountedLog } from '../lib/counted-log.ts';
import { AppError } from '../lib/errors.ts';
import { createRepeat, type Repeat } from '../lib/repeat.ts';
import type { StorageOperation } from '../storage/operations/operation.ts';
import type { DeliveryRow, DeliveryStore, NotifiedTargets } from '../storage/stores/deliveries.ts';
import type { EventStore } from '../storage/stores/events.ts';
import { isTriedAgain, type Outcome } from '../targets/outcome.ts';
import { type EarlierSettings, hiddenTextsOf, type SendContext, type Target } from '../targets/target.ts';
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
    const taken = new Set(fitting);
    this.#requeue(entriesOf(ready.filter(one => !taken.has(one))), {});
    const receiver = await this.#receiverOf(fitting, target).catch(error => faultLog.failed(error));
    if (receiver === undefined) return this.#requeueLater(entriesOf(fitting));
    const sent = await this.#hurry(await this.#bind(fitting, target));
    const [first] = sent;
    if (first === undefined) return { skipped, sent: [], attemptResult: undefined };
    const { batch, id, remainder } = first.entry.row;
    const request = {
      id: batch ?? id,
      events: sent.map(one => one.event),
      ...(remainder !== null && { rest: remainder }),
    };
    const attemptResult = await attempt(request, receiver, this.#options);
    return attemptResult === 'stopped' ? 'stopped' : { skipped, sent, attemptResult };
  }

  /** Ends go wherever their alarms may be open, by settings of before as well. Rejects when the store cannot be read. */
  async #receiverOf(ready: readonly ReadyDelivery[], target: Target): Promise<Target> {
    if ((target.earlier?.() ?? []).length === 0) return target;
    const ends = entriesOf(ready).filter(({ row }) => row.status === 'OK');
    const times = await Promise.all(
      ends.map(({ row }) => this.#stores.deliveries.alarmsReachedAt(row.incident_id, row.target)),
    );
    return ends.length === 0 ? target : wherever(target, times.flat());
  }

  /**
   * Writes the batch before it is sent: after a crash the same deliveries are sent under the same id. When it cannot be
   * written, all are in the queue again and none is sent.
   */
  async #bind(ready: readonly ReadyDelivery[], target: Target): Promise<readonly ReadyDelivery[]> {
    const { ids, workspace } = this.#options;
    const [first] = ready;
    if (first?.entry.row.batch !== null || (ready.length < 2 && !couldGrow(first, target))) return ready;
    const batch = ids.next();
    const deliveryIds = entriesOf(ready).map(({ row }) => row.id);
    const isWritten = await this.#write({ kind: 'batch', workspace, batch, deliveryIds }, ready);
    return isWritten ? this.#replace(ready, { batch }) : [];
  }

  /**
   * What is sent before its time, because its target is well again or a clock was set back, is made due on disk first: what
   * is planned for later is not taken for sent when the process is killed.
   */
  async #hurry(ready: readonly ReadyDelivery[]): Promise<readonly ReadyDelivery[]> {
    const { sendsUntil = () => Number.POSITIVE_INFINITY, workspace } = this.#options;
    const until = sendsUntil();
    if (!ready.some(({ entry }) => entry.row.next_at !== null && entry.row.next_at > until)) return ready;
    const deliveryIds = entriesOf(ready).map(({ row }) => row.id);
    const isWritten = await this.#write({ kind: 'hurry', workspace, deliveryIds }, ready);
    return isWritten ? this.#replace(ready, { next_at: null }) : [];
  }

  /** False when it cannot be written: all are in the queue again. */
  async #write(operation: StorageOperation, ready: readonly ReadyDelivery[]): Promise<boolean> {
    try {
      await this.#options.storage.commit(operation);
      return true;
    } catch (error) {
      const isSettled = error instanceof AppError && error.code === 'conflict';
      if (isSettled) this.#requeue(entriesOf(ready), { isAlone: true });
      else {
        this.#options.faultLog.failed(error);
        this.#requeueLater(entriesOf(ready));
      }
      return false;
    }
  }

  #replace(ready: readonly ReadyDelivery[], change: Partial<DeliveryRow>): readonly ReadyDelivery[] {
    return ready.map(one => ({ ...one, entry: this.#queue.replaceTaken(one.entry, change) }));
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

/**
 * Those that one message may hold: at least the first, with those that go to the same address as it, and all of a batch
 * that is bound.
 */
function takeFitting<Ready extends ReadyDelivery>(
  ready: readonly Ready[],
  { batching, requestKey }: Target,
): readonly Ready[] {
  const [first] = ready;
  if (first === undefined || ready.length < 2 || batching === undefined || first.entry.row.batch !== null)
    return ready;
  const key = requestKey?.(first.event);
  const together = requestKey === undefined ? ready : ready.filter(({ event }) => requestKey(event) === key);
  let bytes = 0;
  const firstOver = together.findIndex(({ event }, index) => {
    bytes += Buffer.byteLength(JSON.stringify(event)) + 1;
    return index > 0 && bytes > batching.maxBytes;
  });
  return firstOver < 0 ? together : together.slice(0, firstOver);
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

/** After a start: the receiver may have been started anew as well. */
const FIRST_MS = 5000;
/** Alarms that are read at a time. */
const PAGE_SIZE = 100;
/** Between two looks for a place among the requests of the target. */
const PLACE_RETRY_MS = 1000;
/** Between two looks at a target that wants no repeats. */
const IDLE_MS = 60_000;

interface ResenderOptions extends DeliveryContext {
  readonly queue: DeliveryQueue;
  /** Undefined for a target that is removed. */
  readonly target: () => Target | undefined;
  /** Takes a place for a request of so many deliveries, or answers undefined. */
  readonly begin: (size: number) => Place | undefined;
  /** Called when what waited for this may be sent. */
  readonly released: () => void;
}

/** A place among the requests of a target. */
interface Place {
  /** Nothing is sent for a while, when the receiver requested that. */
  end(result: AttemptResult | undefined): void;
}

/**
 * Sends alarms that are open again to a receiver that forgets what it does not hear of. Nothing of it is recorded: what is
 * open is in the store, and the next time is soon. Neither an end nor anything else of the same incident is overtaken.
 */
export class Resender {
  readonly #options: ResenderOptions;
  readonly #log: CountedLog;
  readonly #repeat: Repeat;
  readonly #stopping = new AbortController();

  constructor(options: ResenderOptions) {
    const { clock, logger } = options;
    this.#options = options;
    this.#log = createCountedLog(logger, {
      fields: { target: options.target()?.settings.id },
      message: 'open alarms cannot be sent again',
      over: 'open alarms are sent again',
    });
    this.#repeat = createRepeat({
      clock,
      firstAfterMs: FIRST_MS,
      interval: () => options.target()?.resendMs ?? IDLE_MS,
      work: () => this.#resendAll(),
      faults: { failed: error => this.#log.failed(error) },
    });
  }

  start(): void {
    this.#repeat.start();
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#repeat.stop();
  }

  async #resendAll(): Promise<void> {
    for (let after: string | undefined = ''; after !== undefined; ) {
      const target = this.#options.target();
      if (target?.resendMs === undefined || this.#stopping.signal.aborted) return;
      const rows = await this.#openAlarms(target, after);
      await this.#resend(rows, after, target);
      after = rows.length < PAGE_SIZE ? undefined : rows.at(-1)?.id;
    }
  }

  #openAlarms({ settings }: Target, after: string): Promise<readonly DeliveryRow[]> {
    const { storage, workspace } = this.#options;
    return storage.in(workspace).deliveries.openAlarms(settings.id, after, PAGE_SIZE);
  }

  async #resend(rows: readonly DeliveryRow[], after: string, target: Target): Promise<void> {
    const { queue } = this.#options;
    const taken = rows.flatMap(row =>
      queue.hasKey(row) ? [] : (queue.takeEntry({ row, event: undefined, due: 0 }) ?? []),
    );
    if (taken.length === 0) return;
    try {
      // From here on their ends wait. One that came before is in the store.
      const open = new Set((await this.#openAlarms(target, after)).map(({ id }) => id));
      await this.#send(
        taken.filter(({ row }) => open.has(row.id)),
        target,
      );
    } finally {
      for (const entry of taken) queue.release(entry);
      this.#options.released();
    }
  }

  async #send(entries: readonly QueuedDelivery[], target: Target): Promise<void> {
    const { clock, settings, storage, workspace } = this.#options;
    const stored = await storage.in(workspace).events.byIds(entries.map(({ row }) => row.event_id));
    const bodies = new Map(stored.map(({ id, body }) => [id, body]));
    let rest = entries.flatMap(entry => {
      const body = bodies.get(entry.row.event_id);
      if (body === undefined) return [];
      // Receivers count from the time of the event for how long they keep it.
      const original = { ...parseStored(body), _time: Math.floor(clock.now() / 1000) };
      const event = toOutgoing(original, target.settings.systemFields, settings().instanceName);
      return target.skipReason?.(event) === undefined
        ? [{ entry, original, event, skipReason: undefined, fallbackTargets: [] }]
        : [];
    });
    while (rest.length > 0) {
      const most = target.batching?.maxEvents ?? 1;
      const fitting = new Set(takeFitting(rest.slice(0, most), target));
      rest = rest.filter(one => !fitting.has(one));
      const place = await this.#place(fitting.size);
      if (place === undefined) return;
      let result: AttemptResult | 'stopped' | undefined;
      try {
        const events = [...fitting].map(({ event }) => event);
        result = await attempt({ id: this.#options.ids.next(), events }, target, this.#options);
      } finally {
        place.end(result === 'stopped' ? undefined : result);
      }
      if (result === 'stopped') return;
      if (result.outcome.kind === 'sent') this.#log.recovered();
      else this.#log.failed(result.outcome.reason);
    }
  }

  /** Undefined when it stops before one is free. */
  async #place(size: number): Promise<Place | undefined> {
    const { begin, clock } = this.#options;
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      const place = begin(size);
      if (place !== undefined) return place;
      await clock.sleep(PLACE_RETRY_MS, signal);
    }
    return undefined;
  }
}

/** An attempt that began by other settings may end so long after they were replaced, where a target has no own limit. */
const ATTEMPT_MS = 60_000;

/** A place where alarms may be open. */
interface EarlierPlace {
  /** Of kept settings; '' for the present ones. */
  readonly id: string;
  readonly target: Target;
}

/**
 * Finds the settings by which alarms were sent that were settled at these times (epoch ms), the oldest first: ends go to
 * all of them. Without any alarm, the present ones.
 */
function placesOf(
  target: Target,
  earlier: readonly EarlierSettings[],
  settledAt: readonly number[],
): readonly EarlierPlace[] {
  const versions = earlier.toSorted((one, other) => one.replacedAt - other.replacedAt);
  const ends = [...versions.map(({ replacedAt }) => replacedAt), Infinity];
  const places = [...versions, { id: '', target }];
  const used = places.filter((place, index) => {
    const from = ends[index - 1] ?? -Infinity;
    const until = (ends[index] ?? Infinity) + (place.target.patienceMs ?? ATTEMPT_MS);
    return settledAt.some(at => at > from && at <= until);
  });
  return used.length > 0 ? used : [{ id: '', target }];
}

/** The target as ends are sent to it: wherever alarms that were settled at these times may be open. */
export function wherever(target: Target, settledAt: readonly number[]): Target {
  const places = placesOf(target, target.earlier?.() ?? [], settledAt);
  if (places.every(({ id }) => id === '')) return target;
  return {
    ...target,
    referredTexts: [...(target.referredTexts ?? []), ...places.flatMap(place => hiddenTextsOf(place.target))],
    patienceMs: places.reduce((sum, place) => sum + (place.target.patienceMs ?? ATTEMPT_MS), 0),
    send: (events, context) => sendToAll(places, events, context),
  };
}

/** Places that are done, each with the reason of a refusal or null, kept with the delivery until all are. */
const restSchema = z.object({
  done: z.record(z.string(), z.string().nullable()),
  rest: z.string().optional(),
});

type Rest = z.output<typeof restSchema>;

function restOf(text: string | undefined): Rest {
  if (text === undefined) return { done: {} };
  try {
    return restSchema.safeParse(JSON.parse(text)).data ?? { done: {}, rest: text };
  } catch {
    return { done: {}, rest: text };
  }
}

async function sendToAll(
  places: readonly EarlierPlace[],
  events: Parameters<Target['send']>[0],
  { rest: before, ...context }: SendContext,
): Promise<Outcome> {
  const { done, rest } = restOf(before);
  let first = rest;
  let last: Outcome = { kind: 'sent' };
  for (const { id, target } of places) {
    if (Object.hasOwn(done, id)) continue;
    const outcome = await target.send(events, { ...context, ...(first !== undefined && { rest: first }) });
    first = undefined;
    if (isTriedAgain(outcome)) {
      const own = outcome.rest === undefined ? {} : { rest: outcome.rest };
      return { ...outcome, rest: JSON.stringify({ done, ...own }) };
    }
    done[id] = outcome.kind === 'refused' ? `${placeText(id)}: ${outcome.reason}` : null;
    last = outcome;
  }
  return combined(Object.values(done), last);
}

const placeText = (id: string): string => (id === '' ? 'by its settings' : 'by its settings of before');

/** Where it is closed somewhere, what other settings are refused for is a remark. */
function combined(ends: readonly (string | null)[], last: Outcome): Outcome {
  const refused = ends.filter(reason => reason !== null);
  if (refused.length === 0) return last;
  const reason = refused.join('; ');
  if (refused.length < ends.length) return { kind: 'sent', except: `taken elsewhere; ${reason}` };
  return last.kind === 'refused' ? { ...last, reason } : { kind: 'refused', reason };
}
