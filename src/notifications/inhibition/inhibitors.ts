import type { HeadgateEvent } from '../../events/event.ts';
import type { Cancel, Clock } from '../../lib/clock.ts';
import { type CountedLog, createCountedLog } from '../../lib/counted-log.ts';
import type { Logger } from '../../lib/logger.ts';
import type { Storage } from '../../storage/storage.ts';
import type { IncidentRow } from '../../storage/stores/incidents.ts';
import { compileMatchers, type FieldValue, fieldsOf } from '../matchers.ts';
import type { InhibitionRule } from './inhibition-rule.ts';

/** Incidents whose first events are read at a time. */
const READ_AT_ONCE = 500;
/** Before the open incidents are read again after the store could not be read. */
const RETRY_MS = 60_000;
/** Incidents that are followed from one that waits for another to the one that nothing holds. */
const LONGEST_CHAIN = 1000;

/** An open incident that inhibits others, and the rule by which it does. */
export interface Inhibitor {
  /** Id of the rule. */
  readonly rule: string;
  readonly fingerprint: string;
  readonly incident: string;
}

/** The incident that an incident waits for; undefined for one that waits for none. */
export type WaitsFor = (incident: string) => string | undefined;

/** Incidents that inhibit what agrees with them in the fields of a rule, in the order in which they opened. */
interface Agreeing {
  /** Those that the rule itself could not hold. */
  readonly oneSided: Set<string>;
  /** Those that it could hold as well. */
  readonly twoSided: Set<string>;
}

interface IndexedRule {
  readonly rule: InhibitionRule;
  readonly when: (value: FieldValue) => boolean;
  readonly hold: (value: FieldValue) => boolean;
  /** By the values of the fields that must be equal. */
  readonly open: Map<string, Agreeing>;
}

export interface InhibitorsOptions {
  readonly workspace: string;
  readonly storage: Pick<Storage, 'in'>;
  readonly clock: Pick<Clock, 'after'>;
  readonly logger: Logger;
}

/**
 * The open incidents that inhibit others by the rules of the configuration, found by the values of the fields that must
 * be equal. An incident counts with the alarm that opened it, whether or not that was sent to anybody.
 */
export class Inhibitors {
  readonly #options: InhibitorsOptions;
  readonly #faults: CountedLog;
  /** Where each open incident that inhibits stands. */
  readonly #places = new Map<string, Map<IndexedRule, string>>();
  #rules: readonly IndexedRule[] = [];
  #isStarted = false;
  #isStopped = false;
  #reading: Promise<void> | undefined;
  /** Incidents that closed while the store is read. */
  readonly #closed = new Set<string>();
  #cancelRetry: Cancel = () => {};

  constructor(options: InhibitorsOptions) {
    this.#options = options;
    this.#faults = createCountedLog(options.logger, {
      fields: {},
      message: 'the incidents that inhibit others cannot be read',
      over: 'the incidents that inhibit others can be read again',
    });
  }

  /** Goes by these rules from now on; for a new one the open incidents are read. */
  configure(rules: readonly InhibitionRule[]): void {
    const before = new Map(this.#rules.map(one => [one.rule.fingerprint, one]));
    const isNew = rules.some(({ fingerprint }) => !before.has(fingerprint));
    this.#rules = rules.map(rule => before.get(rule.fingerprint) ?? indexed(rule));
    const kept = new Set(this.#rules);
    for (const [incident, places] of this.#places) {
      for (const rule of places.keys()) if (!kept.has(rule)) places.delete(rule);
      if (places.size === 0) this.#places.delete(incident);
    }
    if (isNew && this.#isStarted) this.#readAgain();
  }

  /** Reads the open incidents. */
  async start(): Promise<void> {
    await this.#read();
    this.#isStarted = true;
  }

  /** Resolves when the open incidents are known to every rule; undefined when they are. */
  ready(): Promise<void> | undefined {
    return this.#reading;
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#cancelRetry();
    await this.#reading;
  }

  /** Called when a transition is handed to the disk. Answers what takes it back when the disk refuses. */
  changing(incident: Pick<IncidentRow, 'id' | 'seq' | 'state'>, event: HeadgateEvent): () => void {
    if (this.#rules.length === 0) return () => {};
    if (incident.state === 'closed') {
      this.#remove(incident.id);
      if (this.#reading !== undefined) this.#closed.add(incident.id);
      return () => this.#readAgain();
    }
    if (incident.seq > 1) return () => {};
    this.#put(incident.id, event);
    return () => this.#remove(incident.id);
  }

  /**
   * The first open incident that inhibits the alarm of another one, if possible the one that it waits for already. One
   * that waits for that other one itself does not, so that of two that could inhibit each other one is sent.
   */
  inhibitorFor(event: HeadgateEvent, { incident, waitsFor, present }: Inhibited): Inhibitor | undefined {
    if (this.#places.size === 0) return undefined;
    const value = fieldsOf(event);
    const own = this.#rules.find(({ rule }) => rule.fingerprint === present?.fingerprint);
    if (own !== undefined && present !== undefined && agreeingWith(own, value)?.has(present.incident))
      return present;
    for (const one of this.#rules) {
      for (const other of agreeingWith(one, value)?.all() ?? [])
        if (other !== incident && !isBehind(other, incident, waitsFor))
          return { rule: one.rule.id, fingerprint: one.rule.fingerprint, incident: other };
    }
    return undefined;
  }

  /** The rule with that id as it is now. */
  find(id: string): InhibitionRule | undefined {
    return this.#rules.find(({ rule }) => rule.id === id)?.rule;
  }

  #put(incident: string, event: HeadgateEvent): void {
    const value = fieldsOf(event);
    for (const rule of this.#rules) {
      if (!rule.when(value)) continue;
      const key = keyOf(rule.rule, value);
      const agreeing = rule.open.get(key) ?? { oneSided: new Set(), twoSided: new Set() };
      rule.open.set(key, agreeing);
      (rule.hold(value) ? agreeing.twoSided : agreeing.oneSided).add(incident);
      const places = this.#places.get(incident) ?? new Map<IndexedRule, string>();
      this.#places.set(incident, places.set(rule, key));
    }
  }

  #remove(incident: string): void {
    for (const [rule, key] of this.#places.get(incident) ?? []) {
      const agreeing = rule.open.get(key);
      agreeing?.oneSided.delete(incident);
      agreeing?.twoSided.delete(incident);
      if (agreeing?.oneSided.size === 0 && agreeing.twoSided.size === 0) rule.open.delete(key);
    }
    this.#places.delete(incident);
  }

  /** While the store cannot be read, alarms go by what is known. */
  #readAgain(): void {
    if (this.#isStopped) return;
    this.#cancelRetry();
    const reading: Promise<void> = (this.#reading ?? Promise.resolve())
      .then(() => this.#read())
      .then(() => this.#faults.recovered())
      .catch((error: unknown) => {
        this.#faults.failed(error);
        this.#cancelRetry = this.#options.clock.after(RETRY_MS, () => this.#readAgain());
      })
      .finally(() => {
        if (this.#reading !== reading) return;
        this.#reading = undefined;
        this.#closed.clear();
      });
    this.#reading = reading;
  }

  async #read(): Promise<void> {
    if (this.#rules.length === 0) return;
    const { incidents, events } = this.#options.storage.in(this.#options.workspace);
    const open = await incidents.open();
    for (let from = 0; from < open.length; from += READ_AT_ONCE) {
      const ids = open.slice(from, from + READ_AT_ONCE).map(({ id }) => id);
      const first = new Map((await events.firstOf(ids)).map(row => [row.incident_id, row.body]));
      for (const id of ids) {
        const body = first.get(id);
        if (body !== undefined && !this.#closed.has(id)) this.#put(id, JSON.parse(body));
      }
    }
  }
}

/** An alarm that may be held back. */
export interface Inhibited {
  /** Id of its own incident. */
  readonly incident: string;
  readonly waitsFor: WaitsFor;
  /** What it waits for now. */
  readonly present?: Inhibitor | undefined;
}

const indexed = (rule: InhibitionRule): IndexedRule => ({
  rule,
  when: compileMatchers(rule.settings.when),
  hold: compileMatchers(rule.settings.hold),
  open: new Map(),
});

const keyOf = ({ settings }: InhibitionRule, value: FieldValue): string =>
  JSON.stringify(settings.equal.map(value));

/** The open incidents by which a rule inhibits an alarm; undefined where there are none. */
function agreeingWith({ rule, open, when, hold }: IndexedRule, value: FieldValue) {
  if (open.size === 0 || !hold(value)) return undefined;
  const agreeing = open.get(keyOf(rule, value));
  if (agreeing === undefined) return undefined;
  const { oneSided, twoSided } = agreeing;
  // What fits both sides of a rule is not inhibited by what does so, too.
  const sets = when(value) ? [oneSided] : [oneSided, twoSided];
  return {
    has: (incident: string): boolean => sets.some(set => set.has(incident)),
    *all(): Iterable<string> {
      for (const set of sets) yield* set;
    },
  };
}

/** True when an incident waits for the other one, or for one that does. */
function isBehind(incident: string, other: string, waitsFor: WaitsFor): boolean {
  let next = waitsFor(incident);
  for (let steps = 0; next !== undefined; steps++) {
    if (next === other || steps === LONGEST_CHAIN) return true;
    next = waitsFor(next);
  }
  return false;
}
