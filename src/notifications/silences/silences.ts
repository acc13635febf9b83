import type { HeadgateEvent } from '../../events/event.ts';
import type { Clock } from '../../lib/clock.ts';
import { type CountedLog, createCountedLog } from '../../lib/counted-log.ts';
import type { Logger } from '../../lib/logger.ts';
import type { Storage } from '../../storage/storage.ts';
import { fieldsOf } from '../matchers.ts';
import { readSilence, type Silence, withEndedSilence } from './silence.ts';

export type { Silence };

/** Finds the silences that are active. */
export interface Silences {
  /** The silence that holds an alarm back now: of several the one that ends last. */
  silenceFor(event: HeadgateEvent): Silence | undefined;
  /** True until the silence is over. */
  isActive(id: string): boolean;
  /** A silence, also one that ended within the last hour. */
  find(id: string): Silence | undefined;
  /** An event that it held back, as it is sent once the silence is over. */
  afterEnd(id: string, event: HeadgateEvent): HeadgateEvent;
  /** Called once it is on disk that an alarm of the incident waits for the end of the silence. */
  heldBack(silence: string, incident: string): void;
  /** Called once its end is on disk: a silence may end with the last incident that it held back. */
  incidentClosed(incident: string): void;
}

export interface ActiveSilencesOptions {
  readonly workspace: string;
  readonly storage: Storage;
  readonly clock: Pick<Clock, 'now'>;
  readonly logger: Logger;
}

/**
 * The silences of the store that are not over, found by a value that they ask for where they ask for one. Follows every
 * change that is committed, in this process and in others.
 */
export class ActiveSilences implements Silences {
  readonly #options: ActiveSilencesOptions;
  readonly #faults: CountedLog;
  readonly #byId = new Map<string, Silence>();
  /** By the name and the value of a field. */
  readonly #byValue = new Map<string, Map<string, Set<Silence>>>();
  readonly #others = new Set<Silence>();
  /** Open incidents that each silence until they are resolved holds back. */
  readonly #silenced = new Map<string, Set<string>>();
  readonly #ended = new Set<Promise<void>>();
  #changed: () => void = () => {};
  #reading: Promise<void> = Promise.resolve();
  #unsubscribe: () => void = () => {};

  constructor(options: ActiveSilencesOptions) {
    this.#options = options;
    this.#faults = createCountedLog(options.logger, {
      fields: {},
      message: 'silences cannot be read or ended',
      over: 'silences can be read and ended again',
    });
  }

  /** Reads the silences, and of which open incidents they held alarms back. `changed` is called for each change from then on. */
  async start(changed: () => void): Promise<void> {
    const { storage, workspace } = this.#options;
    this.#unsubscribe = storage.subscribe(change => {
      if (change.resource !== 'silences' || (change.workspace !== workspace && change.workspace !== '*'))
        return;
      void this.refresh();
    });
    await this.#read();
    for (const { silence, incident } of await storage.in(workspace).silences.openHeldBack())
      this.heldBack(silence, incident);
    await this.#endResolved();
    this.#changed = changed;
  }

  silenceFor(event: HeadgateEvent): Silence | undefined {
    if (this.#byId.size === 0) return undefined;
    const now = this.#options.clock.now();
    const fieldValue = fieldsOf(event);
    let last: Silence | undefined;
    const consider = (silence: Silence): void => {
      if (!isActiveAt(silence, now) || (last !== undefined && silence.endsAt <= last.endsAt)) return;
      if (silence.matches(fieldValue)) last = silence;
    };
    for (const [name, byValue] of this.#byValue) byValue.get(fieldValue(name))?.forEach(consider);
    this.#others.forEach(consider);
    return last;
  }

  isActive(id: string): boolean {
    const silence = this.#byId.get(id);
    return silence !== undefined && isActiveAt(silence, this.#options.clock.now());
  }

  afterEnd(id: string, event: HeadgateEvent): HeadgateEvent {
    const silence = this.#byId.get(id);
    return silence === undefined ? event : withEndedSilence(event, silence);
  }

  find(id: string): Silence | undefined {
    return this.#byId.get(id);
  }

  heldBack(silence: string, incident: string): void {
    if (this.#byId.get(silence)?.isUntilResolved !== true) return;
    const incidents = this.#silenced.get(silence) ?? new Set();
    this.#silenced.set(silence, incidents.add(incident));
  }

  incidentClosed(incident: string): void {
    for (const [silence, incidents] of this.#silenced)
      if (incidents.delete(incident) && incidents.size === 0) this.#end(silence);
  }

  /** Reads the silences anew, one time after the other, so that an earlier answer of the store never replaces a later one. */
  refresh(): Promise<void> {
    this.#reading = this.#reading.then(async () => {
      try {
        await this.#read();
        this.#faults.recovered();
        this.#changed();
      } catch (error) {
        this.#faults.failed(error);
      }
    });
    return this.#reading;
  }

  async stop(): Promise<void> {
    this.#unsubscribe();
    await this.#reading;
    await Promise.all(this.#ended);
  }

  async #read(): Promise<void> {
    const { storage, workspace, clock } = this.#options;
    const now = clock.now();
    const rows = await storage.in(workspace).silences.unexpired(now - KNOWN_AFTER_END_MS);
    const present = new Set(rows.map(({ id }) => id));
    for (const silence of this.#byId.values()) if (!present.has(silence.id)) this.#forget(silence);
    for (const row of rows) this.#put(readSilence(row, this.#byId.get(row.id)));
  }

  #put(silence: Silence): void {
    const before = this.#byId.get(silence.id);
    if (before !== undefined) this.#forget(before);
    this.#byId.set(silence.id, silence);
    if (silence.equal === undefined) {
      this.#others.add(silence);
      return;
    }
    const { name, value } = silence.equal;
    const byValue = this.#byValue.get(name) ?? new Map<string, Set<Silence>>();
    this.#byValue.set(name, byValue);
    const same = byValue.get(value);
    if (same === undefined) byValue.set(value, new Set([silence]));
    else same.add(silence);
  }

  #forget(silence: Silence): void {
    this.#byId.delete(silence.id);
    this.#others.delete(silence);
    if (silence.equal === undefined) return;
    const { name, value } = silence.equal;
    const byValue = this.#byValue.get(name);
    const same = byValue?.get(value);
    same?.delete(silence);
    if (same?.size === 0) byValue?.delete(value);
    if (byValue?.size === 0) this.#byValue.delete(name);
  }

  /** Ends those whose incidents all closed while no process led. */
  async #endResolved(): Promise<void> {
    const { silences } = this.#options.storage.in(this.#options.workspace);
    for (const { id, isUntilResolved } of this.#byId.values())
      if (isUntilResolved && this.isActive(id) && !this.#silenced.has(id) && (await silences.hasHeldBack(id)))
        this.#end(id);
  }

  #end(id: string): void {
    const { storage, workspace, clock } = this.#options;
    const silence = this.#byId.get(id);
    const now = clock.now();
    this.#silenced.delete(id);
    if (silence === undefined) return;
    this.#put({ ...silence, endsAt: Math.min(silence.endsAt, now) });
    const work: Promise<void> = storage
      .transaction(tx => tx.in(workspace).updateSilence(id, { ends_at: now }, now))
      .then(() => this.#faults.recovered())
      // It is over for this process; the next one that leads ends it in the store.
      .catch((error: unknown) => this.#faults.failed(error))
      .finally(() => this.#ended.delete(work));
    this.#ended.add(work);
  }
}

/** A silence that is over stays known for what waited for its end. */
const KNOWN_AFTER_END_MS = 3_600_000;

const isActiveAt = ({ startsAt, endsAt }: Silence, now: number): boolean => startsAt <= now && now < endsAt;
