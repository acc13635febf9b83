import type { StatsObject } from '../parsers/impstats.ts';
import { counter, gauge, type Meaning, type SeriesMapping } from './profile.ts';

type Meanings = Readonly<Record<string, readonly Meaning[]>>;

const INPUT: Meanings = {
  submitted: [counter('in_events')],
  'bytes.received': [counter('in_bytes')],
};

const DROPPED: readonly Meaning[] = [counter('dropped'), counter('out_events', { scale: -1 })];

/** `processed` counts entry to the action's queue: it grows while the destination is down. */
const ACTION: Meanings = {
  processed: [counter('out_events')],
  failed: [counter('errors'), counter('out_events', { scale: -1 })],
  suspended: [gauge('blocked', 'max', { reads: 'grew' })],
};

const QUEUE: Meanings = {
  size: [gauge('queue_size', 'sum'), counter('out_events', { reads: 'level', scale: -1 })],
  full: [gauge('blocked', 'max', { reads: 'grew' })],
  'discarded.full': DROPPED,
  'discarded.nf': DROPPED,
};

/** Not among the statistics: it comes from the settings. */
const CAPACITY = gauge('queue_capacity', 'last');

const FORWARD: Meanings = { 'bytes.sent': [counter('out_bytes')] };

/** One counter of one object: what it is called, what it says, its value. */
interface RsyslogStat {
  /** The same for the same counter of the same object. */
  readonly series: string;
  readonly mappings: readonly SeriesMapping[];
  readonly value: number;
}

/**
 * Turns the objects one rsyslog sends into stats. It buffers an action until its queues of the
 * same round have come too, because only together they say what was delivered; how many there are it
 * learns from the rounds before. So statistics may come in any portions, down to one line each.
 */
export interface RsyslogReader {
  /** Stats that are complete now, in order, and how many objects say something of an input or output. */
  read(
    objects: readonly StatsObject[],
    settings: RsyslogReading,
  ): { readonly stats: readonly RsyslogStat[]; readonly known: number };
  /** True when the objects look as if each round began at 0, though the settings do not say so. */
  seemsReset(): boolean;
}

/** How a pipeline's statistics are to be read. */
export interface RsyslogReading {
  /** Messages the queue of an action holds, by the action's name. */
  readonly capacities: ReadonlyMap<string, number>;
  /** Each round has what was counted since the one before: impstats has `resetCounters="on"`. */
  readonly resetCounters: boolean;
}

const MOST_ACTIONS = 10_000;

type Part = 'action' | 'queue' | 'queue[DA]';

interface Reading extends RsyslogReading {
  readonly stats: RsyslogStat[];
}

interface Round {
  readonly parts: Map<Part, StatsObject>;
  /** A part came that no round before had: the rest of this round has been released already, or is here. */
  learnt: boolean;
}

export function createRsyslogReader(): RsyslogReader {
  const expected = new Map<string, Set<Part>>();
  const pending = new Map<string, Round>();
  const resets = createResetDetector();

  function release(action: string, { stats, capacities, resetCounters }: Reading): void {
    for (const [part, object] of pending.get(action)?.parts ?? []) {
      const meanings = part === 'action' ? ACTION : QUEUE;
      stats.push(...statsOf(object, meanings, actionIdentity(action), resetCounters));
    }
    pending.delete(action);
    const value = capacities.get(action);
    if (value !== undefined)
      stats.push({
        series: `capacity\n${action}`,
        mappings: [{ ...actionIdentity(action), meaning: CAPACITY }],
        value,
      });
  }

  /** An action that comes again before its queues did has lost them: what came before is complete. */
  function buffer(action: string, part: Part, object: StatsObject, reading: Reading): void {
    const before = pending.get(action);
    if (before?.parts.has(part)) {
      expected.set(action, new Set(before.parts.keys()));
      release(action, reading);
    }
    const round = pending.get(action) ?? { parts: new Map(), learnt: false };
    const known = expected.get(action) ?? new Set();
    round.learnt ||= !known.has(part);
    round.parts.set(part, object);
    pending.set(action, round);
    expected.set(action, known.add(part));
  }

  return {
    seemsReset: () => resets.isLikely(),
    read(objects, settings) {
      const stats: RsyslogStat[] = [];
      const reading = { stats, ...settings };
      let known = 0;
      if (!settings.resetCounters) resets.observe(objects);
      // A queue may stand before its action.
      for (const { origin, name } of objects)
        if (origin === 'core.action' && !expected.has(name) && expected.size < MOST_ACTIONS)
          expected.set(name, new Set());
      for (const object of objects) {
        const place = placeOf(object);
        if (place === undefined) {
          const own = ownStats(object, settings.resetCounters);
          stats.push(...own);
          known += own.length > 0 ? 1 : 0;
        } else if (expected.has(place.action)) {
          buffer(place.action, place.part, object, reading);
          known++;
        }
      }
      for (const [action, round] of pending)
        if (round.learnt || round.parts.size === expected.get(action)?.size) release(action, reading);
      return { stats, known };
    },
  };
}

/** Where in an action an object belongs; undefined when it belongs to none. */
function placeOf({ origin, name }: StatsObject): { action: string; part: Part } | undefined {
  if (origin === 'core.action') return { action: name, part: 'action' };
  if (origin !== 'core.queue') return undefined;
  for (const part of ['queue', 'queue[DA]'] as const)
    if (name.endsWith(` ${part}`)) return { action: name.slice(0, -part.length - 1), part };
  return undefined;
}

/** An action without a name is called after its module; one with a name does not show its module. */
function actionIdentity(action: string): Omit<SeriesMapping, 'meaning'> {
  const module = /^action-\d+-(?:builtin:)?(\w+)$/.exec(action)?.[1];
  return { kind: 'output', type: module ?? 'core.action', engineId: action };
}

function ownStats(object: StatsObject, resetCounters: boolean): RsyslogStat[] {
  const { origin, name } = object;
  const identity = { type: origin, engineId: name };
  if (origin === 'omfwd') return statsOf(object, FORWARD, { ...identity, kind: 'output' }, resetCounters);
  if (!isInput(object)) return [];
  return statsOf(object, INPUT, { ...identity, kind: 'input' }, resetCounters);
}

const isInput = ({ origin, values }: StatsObject): boolean =>
  origin.startsWith('im') && origin !== 'impstats' && values.submitted !== undefined;

function statsOf(
  object: StatsObject,
  meanings: Meanings,
  identity: Omit<SeriesMapping, 'meaning'>,
  resetCounters: boolean,
): RsyslogStat[] {
  const series = `${resetCounters ? 'increase\n' : ''}${object.origin}\n${object.name}`;
  return Object.entries(meanings).flatMap(([key, found]) => {
    const value = object.values[key];
    if (value === undefined) return [];
    const meaningOf = resetCounters ? ofIncrease : (meaning: Meaning) => meaning;
    const mappings = found.map(meaning => ({ ...identity, meaning: meaningOf(meaning) }));
    const isFlag = resetCounters && found.every(({ reads }) => reads === 'grew');
    return [{ series: `${series}\n${key}`, mappings, value: isFlag ? Math.min(1, value) : value }];
  });
}

/** The same thing said by an increase in place of a total. What goes up and down is not reset. */
function ofIncrease(meaning: Meaning): Meaning {
  if (meaning.reads === 'counter') return { ...meaning, reads: 'delta' };
  return meaning.reads === 'grew' ? { ...meaning, reads: 'gauge' } : meaning;
}

/** Rounds that are looked back on, and how many odd ones among them are no accident: a restart makes one. */
const ROUNDS = 20;
const MOST_ODD_ROUNDS = 2;

/**
 * Notices impstats with `resetCounters="on"`. Totals of one process only grow, and begin anew all together; increases
 * rise here and fall there. Those of a steady load repeat themselves, while the queue of an action that is stuck grows by
 * more than the action seems to have taken in, or the main queue grows though no input seems to take anything.
 */
function createResetDetector() {
  const before = new Map<string, number>();
  const odd: boolean[] = [];

  function isOdd(objects: readonly StatsObject[], now: ReadonlyMap<string, number>): boolean {
    const growth = (key: string): number => {
      const value = now.get(key) ?? Number.NaN;
      return value - (before.get(key) ?? value) || 0;
    };
    const growths = [...now.keys()].filter(key => !key.endsWith(SIZE)).map(growth);
    if (growths.some(one => one > 0) && growths.some(one => one < 0)) return true;
    const inputs = objects.filter(isInput);
    const isRepeated =
      inputs.some(({ values }) => (values.submitted ?? 0) > 0) &&
      inputs.every(({ origin, name }) => growth(`${origin}\n${name}`) === 0);
    return objects.some(({ origin, name, values }) => {
      if (origin === 'core.queue') return isRepeated && isMain(name) && growth(name + SIZE) > 0;
      if (origin !== 'core.action' || !((values.processed ?? 0) > 0)) return false;
      const taken = growth(name);
      const kept = growth(`${name} queue${SIZE}`) + growth(`${name} queue[DA]${SIZE}`);
      return taken >= 0 && kept > 2 * taken;
    });
  }

  return {
    isLikely: (): boolean => odd.filter(Boolean).length > MOST_ODD_ROUNDS,
    observe(objects: readonly StatsObject[]): void {
      const now = new Map<string, number>();
      for (const object of objects.slice(0, MOST_ACTIONS)) {
        const { origin, name, values } = object;
        if (origin === 'core.action') now.set(name, values.processed ?? 0);
        else if (origin === 'core.queue') now.set(name + SIZE, values.size ?? 0);
        else if (isInput(object)) now.set(`${origin}\n${name}`, values.submitted ?? 0);
      }
      odd.push(isOdd(objects, now));
      if (odd.length > ROUNDS) odd.shift();
      if (before.size > MOST_ACTIONS) before.clear();
      for (const [key, value] of now) before.set(key, value);
    },
  };
}

const SIZE = '\nsize';

/** Of a ruleset: inputs submit to it, and not actions. */
const isMain = (queue: string): boolean => !queue.endsWith(' queue') && !queue.endsWith(' queue[DA]');
