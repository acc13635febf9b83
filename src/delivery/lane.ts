import type { HeadgateEvent } from '../events/event.ts';
import { longestDelay, obeyedMs } from '../lib/backoff.ts';
import type { Cancel } from '../lib/clock.ts';
import { reasonOf } from '../lib/errors.ts';
import { createFaultLog } from '../lib/fault-log.ts';
import { revealedJson } from '../lib/secret.ts';
import type { DeliveryRow, SettleOperation, TargetPause } from '../storage/storage.ts';
import type { Target } from '../targets/target.ts';
import type { Attempts } from './attempt.ts';
import { createBacklog } from './backlog.ts';
import { type Booked, bookings, settleInStore, withHandOver, withPause } from './booking.ts';
import { createFlights, type Landing } from './flight.ts';
import { createHealth, type HealthNews, type ToldFailing } from './health.ts';
import type { Pace } from './pace.ts';
import { createQueue, groupOf, type Waiting } from './queue.ts';
import type { Claim, Quota } from './quota.ts';
import { skip } from './settlement.ts';
import type { Slots } from './slots.ts';

/** Rows a lane holds in memory; what is over waits in the store until there is room. */
const MOST_IN_MEMORY = 10_000;
/** Sent but not booked yet; beyond that the lane waits, so that a crash repeats no more than these. */
const MOST_UNSETTLED = 500;
/** Most deliveries that travel in one message, whatever the target takes. */
const MOST_TOGETHER = 500;

export interface LaneOptions extends Attempts {
  readonly target: Target;
  readonly slots: Slots;
  readonly quota: Quota;
  /** Its pace among those of the other lanes. */
  readonly pace: (wake: () => void) => Pace;
  /** What was last told of the target if it was failing when somebody last looked. */
  readonly toldFailing: ToldFailing | undefined;
  /** Until when (epoch ms) the target asked for nothing to be sent when somebody last looked; undefined when it did not. */
  readonly pausedUntil: number | undefined;
  /** Told of the target's health, and what the delivery was of that says so. */
  readonly news: (target: string, news: HealthNews, row: DeliveryRow) => void;
  /** Told of a delivery that was skipped because too many wait. Left out, nobody is. */
  readonly dropped?: (row: DeliveryRow) => void;
  /** Ids of the targets that stand in for it, for this event. */
  readonly fallbacks: (target: Target, event: HeadgateEvent | undefined) => readonly string[];
  /** Told that another target has a delivery of this id to take from the store. */
  readonly handedOver: (target: string, id: string) => void;
}

/** Everything that goes to one target: read, send, settle. */
export interface Lane {
  /** Takes up what the store holds; before, nothing is sent. */
  start(): void;
  /** Adds a delivery that was just committed. */
  add(row: DeliveryRow, event: HeadgateEvent): void;
  /** The store has a delivery with an id after `after` that was not added. */
  look(after: string): void;
  /** Deliveries in the store may be due at another time than memory has it. */
  lookAnew(): void;
  /** Later attempts use this one. To a former target only ends are sent. */
  use(target: Target, isFormer: boolean): void;
  /** For how long (ms) something has been due while nothing was begun or booked; 0 while the lane moves or rests. */
  overdueMs(): number;
  /** Whether what is due waits for the quota of the workspace. */
  isHeld(): boolean;
  /** Starts nothing more and waits for what is under way. */
  stop(): Promise<void>;
}

export function createLane(options: LaneOptions): Lane {
  const { clock, logger, storage } = options;
  const { id } = options.target.settings;
  const { deliveries } = storage.in(options.workspace);
  const queue = createQueue();
  const pace = options.pace(pump);
  let health = createHealth(clock, options.toldFailing);
  const seat = options.slots.seat(pump);
  const share = options.quota.share(pump);
  const faultLog = (message: string, over: string) =>
    createFaultLog(logger, { fields: { target: id }, message, over });
  const flights = createFlights({
    ...options,
    queue,
    faults: faultLog('a delivery cannot be prepared', 'deliveries can be prepared again'),
  });
  const unbooked = faultLog('attempts cannot be booked', 'attempts can be booked again');
  const undelivered = faultLog('deliveries fail', 'deliveries arrive again');
  const overflow = faultLog('too many wait: alarms are dropped', 'alarms are taken again');
  /** Ids of deliveries that are being dropped and are not on disk as skipped yet. */
  const dropping = new Set<string>();
  const backlog = createBacklog({
    queue,
    clock,
    most: MOST_IN_MEMORY,
    faults: faultLog('waiting deliveries cannot be read', 'waiting deliveries can be read again'),
    read: (after, limit) => deliveries[isFormer ? 'waitingEnds' : 'waiting'](id, after, limit),
    dueOf,
    isLeftOut: id => dropping.has(id),
    changed: pump,
  });
  const begun = options.ids.next();
  let target = options.target;
  /** What its settings say: another one that says the same is the same. */
  let settingsText = revealedJson(target.settings);
  let isFormer = false;
  let state: 'new' | 'started' | 'stopped' = 'new';
  let sending = 0;
  let settling = 0;
  /** Since when, on the monotonic clock, something that is due has met no free request. */
  let gatheringSince: number | undefined;
  /** When something was last begun or booked, on the monotonic clock. */
  let movedAt = clock.monotonic();
  let wake: Cancel = () => {};
  const underWay = new Set<Promise<void>>();
  pace.limit(target.settings.pacing, target.paceKey);
  // Never longer than any pause: the wall clock may have been set back since.
  if (options.pausedUntil !== undefined)
    pace.pause(clock.monotonic() + obeyedMs(options.pausedUntil - clock.now()));

  /** Never later than the schedule could have put it: the wall clock may have been set back since. */
  function dueOf({ next_at: nextAt, attempts, retried_from: from }: DeliveryRow): number {
    const waitMs = nextAt === null ? 0 : Math.max(0, nextAt - clock.now());
    return (
      clock.monotonic() + Math.min(waitMs, longestDelay(options.settings().retrySchedule, attempts - from))
    );
  }

  const mostTogether = (): number => Math.min(target.batching?.maxEvents ?? 1, MOST_TOGETHER);

  /** Until when what is due waits for company: not beyond what fits, and not while nothing is under way. */
  function gatheredAt(): number {
    const { batching } = target;
    if (gatheringSince === undefined || batching === undefined || sending === 0) return 0;
    return queue.heads >= mostTogether() ? 0 : gatheringSince + batching.gatherMs;
  }

  const hasRoom = (): boolean => sending < target.concurrency && settling < MOST_UNSETTLED;

  function pump(): void {
    wake();
    if (state !== 'started') return;
    const now = clock.monotonic();
    const isNothingDue = beginAll(now);
    backlog.fill(isNothingDue);
    const due = Math.min(queue.nextDue() ?? Infinity, backlog.nextDue() ?? Infinity);
    if (sending >= target.concurrency && due <= now) gatheringSince ??= now;
    const next = Math.max(due, pace.freeAt(), gatheredAt());
    if (hasRoom() && next > now && next < Infinity) wake = clock.after(next - now, pump);
  }

  /** Begins what may be begun; whether whatever is in memory waits for its time. */
  function beginAll(now: number): boolean {
    while (hasRoom() && pace.freeAt() <= now) {
      const next = queue.next();
      if (next === undefined || next.due > now) return true;
      if (gatheredAt() > now || !share.admits(next.together ?? 1) || !seat.take()) return false;
      const entries = takeTogether(now);
      if (entries.length > 0) begin(entries, now);
      else seat.release();
    }
    return false;
  }

  /** What is due and may travel together; what travels alone, or in company of its own, waits for its turn. */
  function takeTogether(now: number): readonly Waiting[] {
    const most = mostTogether();
    const entries: Waiting[] = [];
    let group: string | undefined;
    while (entries.length < most && share.fits(entries.length + 1)) {
      const entry = takeSendable(now, group);
      if (entry === undefined) break;
      if (entries.length === 0) group = groupOf(entry);
      const isApart = travelsApart(entry) || groupOf(entry) !== group;
      if (isApart && entries.length > 0) queue.settle(entry, entry);
      else entries.push(entry);
      if (isApart) break;
    }
    return entries;
  }

  /**
   * Whoever was tried under an id keeps it. What is older than this lane may have been under way, alone, when the process
   * before ended; what travels in a group is bound even then.
   */
  const travelsApart = ({ row, isAlone }: Waiting): boolean =>
    isAlone === true || row.batch !== null || row.attempts > 0 || (row.group_id === null && row.id < begun);

  /** What is next, of the group when there is one. */
  function takeSendable(now: number, group: string | undefined): Waiting | undefined {
    for (;;) {
      const entry = group === undefined ? queue.take(now) : queue.takeOfGroup(group, now);
      if (entry === undefined || !isFormer || entry.row.status === 'OK') return entry;
      queue.forget(entry);
    }
  }

  function begin(entries: readonly Waiting[], now: number): void {
    sending += 1;
    gatheringSince = undefined;
    movedAt = now;
    pace.begun(now);
    track(handle(entries, now, share.claim(entries[0]?.together ?? entries.length)));
  }

  async function handle(entries: readonly Waiting[], began: number, claim: Claim): Promise<void> {
    const sentTo = target;
    const sentBy = settingsText;
    const flown = await flights.fly(entries, sentTo, claim);
    sending -= 1;
    seat.release();
    if (flown === 'stopped') return;
    claim.end(flown === 'put back' ? 0 : flown.sent.length);
    if (flown === 'put back' || flown.end === undefined) pace.unused(began);
    if (flown !== 'put back') await land(flown, sentTo, sentBy === settingsText);
    pump();
  }

  /** Whoever is asked by other settings since is not who asked for a pause. */
  function pauseFor(pauseMs: number): TargetPause | undefined {
    if (pauseMs <= 0) return undefined;
    pace.pause(clock.monotonic() + pauseMs);
    return { target: id, until: clock.now() + pauseMs };
  }

  async function land(landing: Landing, sentTo: Target, isAsBefore: boolean): Promise<void> {
    const { end } = landing;
    const pause = isAsBefore && end !== undefined ? pauseFor(end.pauseMs) : undefined;
    const booked = withPause(bookings(landing, options), pause);
    const [first] = booked;
    const news = end && first && health.note(end.outcome, first.settlement);
    const { isFailing } = health;
    settling += booked.length;
    pump();
    const fallbacks = (event?: HeadgateEvent) => options.fallbacks(sentTo, event);
    await Promise.all(withHandOver(booked, { fallbacks, isFailing, ids: options.ids, clock }).map(book));
    if (news !== undefined && first !== undefined) options.news(id, news, first.prepared.entry.row);
  }

  async function book({ prepared, settlement, durationMs, due, isAlone }: Booked): Promise<void> {
    const { entry } = prepared;
    const { row } = entry;
    const written = await settleInStore(settlement, options, unbooked);
    settling -= 1;
    movedAt = clock.monotonic();
    if (written === 'stopped') return;
    backlog.settled(row.id);
    note(settlement);
    if (written !== 'gone') {
      options.booked?.(row, settlement, durationMs);
      for (const other of settlement.handOver) options.handedOver(other.target, other.id);
    }
    if (written !== 'booked') {
      // The store has it otherwise than memory, settled, with this attempt or put back, and that is what counts.
      queue.forget(entry);
      backlog.rewind('');
    } else if (settlement.state !== 'waiting') queue.settle(entry);
    else queue.settle(entry, { row: afterAttempt(row, settlement), event: entry.event, due, isAlone });
    // Its end, if that came meanwhile, was not among those to send.
    if (isFormer && row.status === 'ALARM') backlog.rewind('');
  }

  function note({ state: now, deliveryId, lastError }: SettleOperation): void {
    if (now === 'sent') undelivered.passed();
    else if (now !== 'skipped') undelivered.failed(`${now}: ${lastError}`, { delivery: deliveryId });
  }

  /** Ends are never dropped: whoever got an alarm gets its end. */
  const isOver = ({ status }: DeliveryRow): boolean =>
    target.settings.onBackpressure === 'drop' &&
    status === 'ALARM' &&
    queue.size + dropping.size >= options.settings().mostWaiting;

  async function drop(row: DeliveryRow): Promise<void> {
    dropping.add(row.id);
    const reason = `dropped: ${options.settings().mostWaiting} wait for this target, and onBackpressure is drop`;
    overflow.failed(reason, { delivery: row.id });
    const settlement = skip(options.workspace, row, { now: clock.now(), reason });
    const written = await settleInStore(settlement, options, unbooked);
    backlog.settled(row.id);
    dropping.delete(row.id);
    if (written === 'stopped') return;
    if (written === 'booked') {
      options.booked?.(row, settlement, null);
      options.dropped?.(row);
    } else backlog.rewind(beforeId(row.id));
    pump();
  }

  function track(work: Promise<void>): void {
    const tracked: Promise<void> = work
      .catch(error => logger.error({ target: id, reason: reasonOf(error) }, 'a delivery broke its lane'))
      .finally(() => underWay.delete(tracked));
    underWay.add(tracked);
  }

  return {
    start() {
      if (state === 'new') state = 'started';
      pump();
    },
    add(row, event) {
      if (!isFormer && isOver(row)) {
        track(drop(row));
        return;
      }
      overflow.passed();
      if (isFormer) backlog.rewind(beforeId(row.id));
      else backlog.add(row, event);
      pump();
    },
    look(after) {
      backlog.rewind(after);
      pump();
    },
    lookAnew() {
      backlog.rewind('');
      pump();
    },
    use(next, nowFormer) {
      if (isFormer !== nowFormer) {
        backlog.rewind('');
        // What was told of it ended with its removal.
        health = createHealth(clock);
      }
      const nextText = revealedJson(next.settings);
      if (nextText !== settingsText) pace.resume();
      settingsText = nextText;
      target = next;
      isFormer = nowFormer;
      pace.limit(next.settings.pacing, next.paceKey);
      pump();
    },
    overdueMs() {
      const due = Math.min(queue.nextDue() ?? Infinity, backlog.nextDue() ?? Infinity);
      return Math.max(0, clock.monotonic() - Math.max(due, pace.freeAt(), share.freeAt(), movedAt));
    },
    isHeld: () => share.isWaiting,
    async stop() {
      state = 'stopped';
      wake();
      pace.end();
      share.end();
      await Promise.all(underWay);
    },
  };
}

/** A place right before it, as far as ids go. */
export const beforeId = (id: string): string => id.slice(0, -1);

const afterAttempt = (row: DeliveryRow, settlement: SettleOperation): DeliveryRow => ({
  ...row,
  attempts: settlement.attempts,
  next_at: settlement.nextAt,
  last_status: settlement.lastStatus,
  last_error: settlement.lastError,
  batch: settlement.batch,
  rest: settlement.rest ?? null,
});
