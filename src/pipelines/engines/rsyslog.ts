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
  /**
   * Stats that are complete now, in order, and how many objects say something of an input or output.
   * `capacities`: messages the queue of an action holds, by the action's name.
   */
  read(
    objects: readonly StatsObject[],
    capacities: ReadonlyMap<string, number>,
  ): { readonly stats: readonly RsyslogStat[]; readonly known: number };
}

const MOST_ACTIONS = 10_000;

type Part = 'action' | 'queue' | 'queue[DA]';

interface Reading {
  readonly stats: RsyslogStat[];
  readonly capacities: ReadonlyMap<string, number>;
}

interface Round {
  readonly parts: Map<Part, StatsObject>;
  /** A part came that no round before had: the rest of this round has been released already, or is here. */
  learnt: boolean;
}

export function createRsyslogReader(): RsyslogReader {
  const expected = new Map<string, Set<Part>>();
  const pending = new Map<string, Round>();

  function release(action: string, { stats, capacities }: Reading): void {
    for (const [part, object] of pending.get(action)?.parts ?? [])
      stats.push(...statsOf(object, part === 'action' ? ACTION : QUEUE, actionIdentity(action)));
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
    read(objects, capacities) {
      const stats: RsyslogStat[] = [];
      const reading = { stats, capacities };
      let known = 0;
      // A queue may stand before its action.
      for (const { origin, name } of objects)
        if (origin === 'core.action' && !expected.has(name) && expected.size < MOST_ACTIONS)
          expected.set(name, new Set());
      for (const object of objects) {
        const place = placeOf(object);
        if (place === undefined) {
          const own = ownStats(object);
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

function ownStats(object: StatsObject): RsyslogStat[] {
  const { origin, name } = object;
  if (origin === 'omfwd') return statsOf(object, FORWARD, { kind: 'output', type: origin, engineId: name });
  if (!origin.startsWith('im') || origin === 'impstats' || object.values.submitted === undefined) return [];
  return statsOf(object, INPUT, { kind: 'input', type: origin, engineId: name });
}

function statsOf(
  object: StatsObject,
  meanings: Meanings,
  identity: Omit<SeriesMapping, 'meaning'>,
): RsyslogStat[] {
  return Object.entries(meanings).flatMap(([key, found]) => {
    const value = object.values[key];
    if (value === undefined) return [];
    const mappings = found.map(meaning => ({ ...identity, meaning }));
    return [{ series: `${object.origin}\n${object.name}\n${key}`, mappings, value }];
  });
}
