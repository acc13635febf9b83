import type { Clock } from '../lib/clock.ts';
import { delta, firstDelta, isLate } from './delta.ts';
import type { Meaning, Statement } from './engines/profile.ts';
import type { Feed, Restored } from './feed.ts';
import { createInstance } from './instance.ts';
import { addIncrease, addValue, createReplica, dropReplica, settle, tallyOf } from './replica.ts';
import type { Room } from './room.ts';
import { bitOf, type Rows } from './rows.ts';
import { type Slots, takeSlot } from './slots.ts';
import type { Instance, Replica, Row } from './state.ts';

/** What a series turned out to say. */
export interface Discovery {
  /** The instance its labels name; undefined for the feed's own. */
  readonly instance: string | undefined;
  readonly statements: readonly Statement[];
}

/** `refused`: there is no room for one series more. */
type Fate = 'taken' | 'refused' | 'malformed';

/** Takes the readings of feeds one after the other: begin, take for each value, end. */
export interface Intake {
  begin(feed: Feed): void;
  /** Counts the reading for the feed's own instance, which exists though no series may name it. */
  enterOwn(feed: Feed): Instance;
  /** `discover` is asked once for each series; undefined when its text cannot be read. */
  take(
    feed: Feed,
    series: string,
    value: number,
    time: number,
    discover: (series: string) => Discovery | undefined,
  ): Fate;
  /** `isWhole`: nothing of the reading was unreadable, so what it lacks is gone. */
  end(feed: Feed, isWhole: boolean): void;
  /** Takes a value of a series whose first slot is known. */
  takeKnown(feed: Feed, slot: number, value: number, time: number): void;
}

interface Parts {
  readonly clock: Clock;
  readonly rows: Rows;
  readonly slots: Slots;
}

/** Longer texts of series are not kept: a million of them must have room. */
const LONGEST_SERIES = 16 * 1024;

export function createIntake({ clock, rows, slots }: Parts): Intake {
  let now = 0;
  let monotonic = 0;
  let touched: Replica[] = [];

  function enter(feed: Feed, instance: Instance): void {
    if (instance.page === feed.page) return;
    instance.page = feed.page;
    instance.readings++;
    instance.lifeAt = monotonic;
  }

  function instanceOf(feed: Feed, name: string): Instance {
    let instance = feed.instances.get(name);
    if (instance === undefined) {
      instance = createInstance(name, feed);
      feed.instances.set(instance.name, instance);
    }
    enter(feed, instance);
    return instance;
  }

  function touch(replica: Replica): void {
    if (replica.page === replica.instance.feed.page) return;
    replica.page = replica.instance.feed.page;
    replica.row.timestamp = now;
    replica.row.lifeAt = monotonic;
    touched.push(replica);
  }

  function discovered(feed: Feed, series: string, value: number, time: number, found: Discovery): Fate {
    const { room } = feed;
    if (room.series >= room.maxSeries) {
      room.refuse('series', 'pipeline');
      return 'refused';
    }
    if (slots.count >= slots.limit) {
      room.refuse('series', 'everywhere');
      return 'refused';
    }
    const restored = feed.restored.get(series);
    let head = -1;
    let waiting = false;
    for (const statement of found.statements) {
      if (value < 0 && statement.means.reads !== 'gauge') return 'taken';
      const row = rowOf(feed, statement);
      if (row === undefined) {
        waiting = true;
        continue;
      }
      // Only what is kept makes an instance, so that there are no more of them than of series.
      const instance = instanceOf(feed, found.instance ?? feed.name);
      const replica = instance.replicas.get(row) ?? createReplica(row, instance);
      const slot = takeSlot(slots, replica, statement.means, head);
      if (slot === -1) {
        if (replica.slots === 0) dropReplica(replica);
        room.refuse('series', 'everywhere');
        waiting = true;
        break;
      }
      head = slot;
      first(feed, slot, replica, statement.means, value, time, restored);
    }
    if (head === -1 && !waiting) {
      head = takeSlot(slots, undefined, undefined, -1);
      instanceOf(feed, found.instance ?? feed.name);
    }
    if (head === -1) return 'refused';
    room.series++;
    feed.series.add(series, head);
    feed.restored.delete(series);
    return 'taken';
  }

  function rowOf(feed: Feed, statement: Statement): Row | undefined {
    const { kind, type, engineId } = statement;
    const row = rows.find(feed.pipeline.pipeline, kind, type, engineId);
    if (row !== undefined || type === undefined) return row;
    const { pipeline, room } = feed;
    const full = whoIsFull(pipeline.pipeline, room);
    const added = full === undefined ? rows.add({ ...pipeline, kind, type, engineId }) : undefined;
    if (added === undefined) room.refuse('components', full ?? 'everywhere');
    return added;
  }

  /** The workspace first: where it is full, a pipeline with a higher bound gets no more either. */
  function whoIsFull(pipeline: string, room: Room): 'pipeline' | 'workspace' | undefined {
    if (room.componentQuota !== undefined && rows.size >= room.componentQuota) return 'workspace';
    return rows.countIn(pipeline) >= room.maxComponents ? 'pipeline' : undefined;
  }

  /** The first value since the process began. */
  function first(
    feed: Feed,
    slot: number,
    replica: Replica,
    meaning: Meaning,
    value: number,
    time: number,
    restored: Restored | undefined,
  ): void {
    const { instance } = replica;
    touch(replica);
    replica.row.known |= bitOf(meaning.metric);
    keep(slot, instance, value, time);
    const wasRead = feed.partial ? instance.repeated : instance.readings > 1;
    if (meaning.reads === 'gauge') addValue(replica, meaning, value);
    else if (meaning.reads === 'amount') {
      const told = restored !== undefined && isLate(restored.time, time, false);
      addIncrease(replica, meaning, (feed.partial || wasRead) && !told ? value : 0, monotonic);
    } else if ((wasRead && !(feed.partial && restored !== undefined)) || !(restored || instance.restored)) {
      addIncrease(replica, meaning, firstDelta(value, wasRead), monotonic);
    } else {
      tallyOf(replica).quiet = true;
      grow(replica, meaning, restored?.value ?? 0, value, feed.restarted);
    }
  }

  function takeKnown(feed: Feed, head: number, value: number, time: number): void {
    for (let slot = head; slot >= 0; slot = slots.next[slot] ?? -1) next(feed, slot, value, time);
  }

  function next(feed: Feed, slot: number, value: number, time: number): void {
    slots.age[slot] = 0;
    const replica = slots.replica[slot];
    const meaning = slots.meaning[slot];
    if (replica === undefined || meaning === undefined) return;
    const { instance } = replica;
    enter(feed, instance);
    touch(replica);
    const seen = slots.seen[slot] ?? 0;
    if (!feed.partial && seen === instance.readings) return;
    // It is there, and counts nothing.
    if (!Number.isFinite(value) || (value < 0 && meaning.reads !== 'gauge')) {
      slots.seen[slot] = instance.readings;
      return;
    }
    const last = slots.last[slot] ?? 0;
    const late = isLate(slots.time[slot] ?? Number.NaN, time, isCumulative(meaning) && value > last);
    const present = late ? last : value;
    if (meaning.reads === 'gauge') addValue(replica, meaning, present);
    else if (meaning.reads === 'amount') addIncrease(replica, meaning, late ? 0 : value, monotonic);
    else {
      const vanished = !feed.partial && seen < instance.readings - 1;
      const restarted = feed.restarted && instance.name === feed.name;
      grow(replica, meaning, last, present, !late && (vanished || restarted));
    }
    keep(slot, instance, present, late ? Number.NaN : time);
  }

  function grow(replica: Replica, meaning: Increasing, last: number, value: number, reborn: boolean): void {
    if (meaning.reads !== 'level' && (reborn || value < last)) tallyOf(replica).restarted = true;
    const increase = meaning.reads === 'level' ? value - last : delta(last, value, reborn);
    addIncrease(replica, meaning, increase, monotonic);
  }

  function keep(slot: number, instance: Instance, value: number, time: number): void {
    slots.last[slot] = value;
    slots.seen[slot] = instance.readings;
    if (!Number.isNaN(time)) slots.time[slot] = time;
  }

  /** What an instance did not show counts as 0. Series from before the start that none showed are gone. */
  function settleInstances(feed: Feed, isWhole: boolean): void {
    let unread = false;
    for (const instance of feed.instances.values()) {
      unread ||= instance.readings === 0;
      if (instance.page !== feed.page) continue;
      for (const replica of instance.replicas.values()) settle(replica, now, monotonic, false);
    }
    if (!unread && isWhole) feed.restored.clear();
  }

  /** What could not be read may have been any of what was not seen: none of it has vanished. */
  function keepUnseen(feed: Feed): void {
    for (const head of feed.series.heads())
      for (let slot = head; slot >= 0; slot = slots.next[slot] ?? -1) {
        const instance = slots.replica[slot]?.instance;
        if (instance?.page === feed.page && slots.seen[slot] === instance.readings - 1)
          slots.seen[slot] = instance.readings;
      }
  }

  return {
    begin(feed) {
      now = clock.now();
      monotonic = clock.monotonic();
      touched = [];
      feed.page++;
    },
    takeKnown,
    enterOwn: feed => instanceOf(feed, feed.name),
    take(feed, series, value, time, discover) {
      const head = feed.series.get(series);
      if (head === -1) {
        if (!Number.isFinite(value)) return 'taken';
        if (series.length > LONGEST_SERIES) return 'malformed';
        const found = discover(series);
        return found === undefined ? 'malformed' : discovered(feed, series, value, time, found);
      }
      takeKnown(feed, head, value, time);
      return 'taken';
    },
    end(feed, isWhole) {
      if (!isWhole) keepUnseen(feed);
      if (feed.partial) for (const replica of touched) settle(replica, now, monotonic, true);
      else settleInstances(feed, isWhole);
      touched = [];
      feed.unreachable = null;
    },
  };
}

type Increasing = Exclude<Meaning, { reads: 'gauge' }>;

const isCumulative = ({ reads }: Meaning): boolean =>
  reads === 'counter' || reads === 'grew' || reads === 'share';
