import type { Clock } from '../../lib/clock.ts';
import { type CountedLog, createCountedLog } from '../../lib/counted-log.ts';
import { notFound, reasonOf } from '../../lib/errors.ts';
import type { Ids } from '../../lib/ids.ts';
import type { KeyRing } from '../../lib/keyring.ts';
import type { Logger } from '../../lib/logger.ts';
import { createMutex } from '../../lib/mutex.ts';
import { revealJson } from '../../lib/secret.ts';
import { notifiedTargets } from '../../notifications/rule-state.ts';
import type { KeptSettings, KeptSettingsAccess } from '../../resources/context.ts';
import type { Storage } from '../../storage/storage.ts';
import type { IncidentRow } from '../../storage/stores/incidents.ts';
import type { RemovedTargetRow } from '../../storage/stores/removed-targets.ts';
import { findTargetType } from '../../targets/index.ts';
import type { EarlierSettings, Target } from '../../targets/target.ts';

/** Incidents that a log line names; the rest is counted. */
const MOST_NAMED = 20;
/** Kept settings hold secrets: however long an incident lasts, they are dropped after 30 days. */
const LONGEST_MS = 30 * 24 * 3_600_000;
/** Settings that were replaced so much later than it is now were kept before the clock was set back. */
const MAX_AHEAD_MS = 3_600_000;

export interface RemovedTargetsOptions {
  readonly workspace: string;
  readonly storage: Pick<Storage, 'in' | 'transaction'>;
  readonly keyRing: KeyRing;
  readonly logger: Logger;
  readonly clock: Pick<Clock, 'now' | 'monotonic'>;
  readonly ids: Ids;
}

/** The last settings of every target, and those before its destination changed: by them alarms that are open are closed, also after a restart. */
export interface RemovedTargets extends KeptSettingsAccess {
  /** Known targets that are not configured. */
  removed(configured: readonly Target[]): readonly Target[];
  /** The targets, each with the settings of before that are kept of it. */
  withEarlier(targets: readonly Target[]): readonly Target[];
  /** Until when (epoch ms) targets asked for a pause, without those whose settings have changed since. */
  paused(configured: readonly Target[]): ReadonlyMap<string, number>;
  /** Ids of those whose settings have changed since they were saved last, by a process before for instance. */
  changed(configured: readonly Target[]): ReadonlySet<string>;
  /**
   * Saves the settings of these, and forgets what no open incident or delivery needs. Logs the alarms that are open at a
   * destination that was changed.
   */
  save(configured: readonly Target[]): Promise<void>;
  /** Forgets what no open incident or delivery needs any more, and what is too old. */
  sweep(): Promise<void>;
  /** Resolves when nothing is being written. */
  idle(): Promise<void>;
}

/** Rejects when the store cannot be read. */
export async function openRemovedTargets(options: RemovedTargetsOptions): Promise<RemovedTargets> {
  const targets = new StoredRemovedTargets(options);
  await targets.load();
  return targets;
}

/** Settings of a target before its destination changed. */
interface Earlier {
  readonly id: string;
  readonly target: string;
  readonly text: string;
  readonly replacedAt: number;
  /** Undefined for settings that this version does not accept any more. */
  readonly settings: EarlierSettings | undefined;
}

class StoredRemovedTargets implements RemovedTargets {
  readonly #options: RemovedTargetsOptions;
  readonly #faults: CountedLog;
  readonly #mutex = createMutex();
  /** Settings as JSON, by id. */
  readonly #settings = new Map<string, string>();
  /** Epoch ms by id, of those that are not configured any more. */
  readonly #removedAt = new Map<string, number>();
  /** By their own ids. */
  readonly #earlier = new Map<string, Earlier>();
  /** Epoch ms by id, as they were loaded. */
  readonly #pauses = new Map<string, number>();
  /** When settings are too old that were kept before the clock was set back, on the monotonic clock; by id. */
  readonly #tooOldAt = new Map<string, number>();
  readonly #unsaved = new Set<string>();
  readonly #unsavedEarlier = new Set<string>();
  /** Ids of targets that came or went since that was written. */
  readonly #unsavedRemovals = new Set<string>();
  /** Ids of targets whose destination has changed and that no log line has named yet. */
  readonly #moved = new Set<string>();
  /** Ids that are configured now: a write may still be under way for a configuration before. */
  #configured: ReadonlySet<string> = new Set();

  constructor(options: RemovedTargetsOptions) {
    this.#options = options;
    this.#faults = createCountedLog(options.logger, {
      fields: {},
      message: 'settings of targets cannot be kept for their removal',
      over: 'settings of targets are kept for their removal again',
    });
  }

  async load(): Promise<void> {
    const { logger } = this.#options;
    for (const row of await this.#stores().removedTargets.list())
      try {
        this.#take(row);
      } catch (error) {
        logger.warn(
          { target: row.target, reason: reasonOf(error) },
          'kept settings of a target cannot be read',
        );
      }
  }

  #take({ id, target, sealed, replaced_at: replacedAt, paused_until: until }: RemovedTargetRow): void {
    const { clock, keyRing } = this.#options;
    const text = keyRing.decrypt(sealed, this.#contextOf(id));
    if (replacedAt !== null && replacedAt > clock.now() + MAX_AHEAD_MS)
      this.#tooOldAt.set(id, clock.monotonic() + LONGEST_MS);
    if (id !== target) {
      this.#earlier.set(id, earlierOf({ id, target, text, replacedAt: replacedAt ?? 0 }));
      return;
    }
    this.#settings.set(id, text);
    if (replacedAt !== null) this.#removedAt.set(id, replacedAt);
    if (until !== null) this.#pauses.set(id, until);
  }

  removed(configured: readonly Target[]): readonly Target[] {
    const ids = new Set(configured.map(target => target.settings.id));
    return [...this.#settings].flatMap(([id, text]) => (ids.has(id) ? [] : (targetOf(text) ?? [])));
  }

  withEarlier(targets: readonly Target[]): readonly Target[] {
    return targets.map(target => ({ ...target, earlier: () => this.#earlierOf(target.settings.id) }));
  }

  #earlierOf(target: string): readonly EarlierSettings[] {
    if (this.#earlier.size === 0) return [];
    return [...this.#earlier.values()].flatMap(one => (one.target === target ? (one.settings ?? []) : []));
  }

  changed(configured: readonly Target[]): ReadonlySet<string> {
    const changed = configured.filter(
      ({ settings }) => this.#settings.get(settings.id) !== revealJson(settings),
    );
    return new Set(changed.map(({ settings }) => settings.id));
  }

  paused(configured: readonly Target[]): ReadonlyMap<string, number> {
    const ids = this.changed(configured);
    return new Map([...this.#pauses].filter(([id]) => !ids.has(id)));
  }

  save(configured: readonly Target[]): Promise<void> {
    this.#remember(configured);
    return this.#mutex.run(() => this.#write());
  }

  sweep(): Promise<void> {
    return this.#mutex.run(() => this.#write());
  }

  async list(): Promise<readonly KeptSettings[]> {
    const open = await this.#stores().incidents.open();
    const removed = [...this.#removedAt].flatMap(([id, replacedAt]) => {
      const text = this.#settings.get(id);
      return text === undefined ? [] : [{ id, target: id, text, replacedAt }];
    });
    return [...this.#earlier.values(), ...removed]
      .map(kept => describe(kept, open))
      .sort((one, other) => one.replacedAt - other.replacedAt);
  }

  async remove(id: string): Promise<KeptSettings> {
    const found = (await this.list()).find(one => one.id === id);
    if (found === undefined) throw notFound('kept settings', id);
    const { storage, workspace } = this.#options;
    await this.#mutex.run(async () => {
      await storage.transaction(tx => tx.in(workspace).deleteRemovedTarget(id));
      this.#earlier.delete(id);
      this.#unsavedEarlier.delete(id);
      if (this.#configured.has(id)) return;
      this.#settings.delete(id);
      this.#removedAt.delete(id);
    });
    return found;
  }

  idle(): Promise<void> {
    return this.#mutex.idle();
  }

  #stores() {
    return this.#options.storage.in(this.#options.workspace);
  }

  #contextOf(id: string): string {
    return `removed_targets|sealed|${this.#options.workspace}|${id}`;
  }

  /** In memory at once: what the next configuration removes must be known. */
  #remember(configured: readonly Target[]): void {
    const now = this.#options.clock.now();
    this.#configured = new Set(configured.map(({ settings }) => settings.id));
    for (const { settings, destination } of configured) {
      const { id } = settings;
      this.#tooOldAt.delete(id);
      if (this.#removedAt.delete(id)) this.#unsavedRemovals.add(id);
      const text = revealJson(settings);
      const before = this.#settings.get(id);
      if (before === text) continue;
      const left = before === undefined ? undefined : targetOf(before)?.destination;
      if (before !== undefined && left !== undefined && left !== destination) this.#moveFrom(id, before, now);
      this.#settings.set(id, text);
      this.#unsaved.add(id);
    }
    for (const id of this.#settings.keys()) {
      if (this.#configured.has(id) || this.#removedAt.has(id)) continue;
      this.#removedAt.set(id, now);
      this.#unsavedRemovals.add(id);
    }
  }

  #moveFrom(target: string, text: string, replacedAt: number): void {
    const id = this.#options.ids.next();
    this.#earlier.set(id, earlierOf({ id, target, text, replacedAt }));
    this.#unsavedEarlier.add(id);
    this.#moved.add(target);
  }

  async #write(): Promise<void> {
    try {
      await this.#saveUnsaved();
      await this.#logMoved();
      await this.#forget();
      this.#faults.recovered();
    } catch (error) {
      this.#faults.failed(error);
    }
  }

  async #saveUnsaved(): Promise<void> {
    if (this.#unsaved.size + this.#unsavedEarlier.size + this.#unsavedRemovals.size === 0) return;
    const { storage, workspace } = this.#options;
    const texts = [...this.#unsaved].map(id => [id, this.#settings.get(id) ?? ''] as const);
    const earlier = [...this.#unsavedEarlier].flatMap(id => this.#earlier.get(id) ?? []);
    const removals = [...this.#unsavedRemovals].map(id => ({
      id,
      replaced_at: this.#removedAt.get(id) ?? null,
    }));
    await storage.transaction(async tx => {
      const stores = tx.in(workspace);
      for (const [id, text] of texts)
        await stores.putRemovedTarget(this.#rowOf({ id, target: id, text, replacedAt: null }));
      for (const one of earlier) await stores.putRemovedTarget(this.#rowOf(one));
      for (const removal of removals) await stores.replaceRemovedTarget(removal);
    });
    for (const [id, text] of texts) if (this.#settings.get(id) === text) this.#unsaved.delete(id);
    for (const { id } of earlier) this.#unsavedEarlier.delete(id);
    for (const { id, replaced_at } of removals)
      if ((this.#removedAt.get(id) ?? null) === replaced_at) this.#unsavedRemovals.delete(id);
  }

  #rowOf(kept: Pick<Earlier, 'id' | 'target' | 'text'> & { replacedAt: number | null }): RemovedTargetRow {
    const { id, target, text, replacedAt } = kept;
    const sealed = this.#options.keyRing.encrypt(text, this.#contextOf(id));
    return { id, target, sealed, replaced_at: replacedAt, paused_until: null };
  }

  async #logMoved(): Promise<void> {
    if (this.#moved.size === 0) return;
    const { incidents, deliveries } = this.#stores();
    const open = (await incidents.open()).map(row => ({ id: row.id, targets: notifiedTargets(row) }));
    const fallbacks = await deliveries.fallbackTargets();
    for (const id of this.#moved) {
      this.#moved.delete(id);
      const left = open.filter(({ targets }) => targets.includes(id)).map(incident => incident.id);
      if (left.length === 0 && !fallbacks.includes(id)) continue;
      this.#options.logger.warn(
        { target: id, count: left.length, incidents: left.slice(0, MOST_NAMED) },
        'alarms are open where the target sent to before; its settings are kept until they end, for 30 days at most',
      );
    }
  }

  async #forget(): Promise<void> {
    const { clock } = this.#options;
    const oldest = clock.now() - LONGEST_MS;
    const removable = new Set([...this.#settings.keys(), ...this.#earlier.keys()]);
    const retain = (targets: Iterable<string>): void => {
      for (const id of targets) {
        removable.delete(id);
        for (const one of this.#earlier.values()) if (one.target === id) removable.delete(one.id);
      }
    };
    for (const id of this.#configured) removable.delete(id);
    if (removable.size === 0) return;
    const { incidents, deliveries } = this.#stores();
    // In this order: an incident that ends meanwhile has its deliveries waiting by then, and so have those of fallbacks.
    for (const row of await incidents.open()) retain(notifiedTargets(row));
    retain(await deliveries.fallbackTargets());
    retain((await deliveries.waitingByTarget()).map(({ target }) => target));
    const isTooOld = (id: string, at: number): boolean =>
      at < oldest || (this.#tooOldAt.get(id) ?? Infinity) < clock.monotonic();
    for (const [id, at] of this.#removedAt) if (isTooOld(id, at)) removable.add(id);
    for (const { id, replacedAt } of this.#earlier.values()) if (isTooOld(id, replacedAt)) removable.add(id);
    for (const id of this.#configured) removable.delete(id);
    await this.#delete(removable);
  }

  async #delete(removable: ReadonlySet<string>): Promise<void> {
    if (removable.size === 0) return;
    const { storage, workspace } = this.#options;
    await storage.transaction(async tx => {
      for (const id of removable) await tx.in(workspace).deleteRemovedTarget(id);
    });
    for (const id of removable) {
      this.#earlier.delete(id);
      this.#tooOldAt.delete(id);
      if (this.#configured.has(id)) this.#unsaved.add(id);
      else {
        this.#settings.delete(id);
        this.#removedAt.delete(id);
      }
    }
  }
}

function earlierOf(kept: Omit<Earlier, 'settings'>): Earlier {
  const target = targetOf(kept.text);
  return { ...kept, settings: target && { id: kept.id, replacedAt: kept.replacedAt, target } };
}

function describe(
  { id, target, text, replacedAt }: Omit<Earlier, 'settings'>,
  open: readonly IncidentRow[],
): KeptSettings {
  const incidents = open.filter(row => row.opened_at <= replacedAt && notifiedTargets(row).includes(target));
  return {
    ...{ id, target, replacedAt },
    type: targetOf(text)?.settings.type ?? 'unknown',
    reason: id === target ? 'removed' : 'changed',
    expiresAt: replacedAt + LONGEST_MS,
    incidents: incidents.length,
  };
}

/** Undefined for settings that this version does not accept any more. */
function targetOf(text: string): Target | undefined {
  try {
    const raw: unknown = JSON.parse(text);
    const type: unknown = typeof raw === 'object' && raw !== null ? Reflect.get(raw, 'type') : undefined;
    return typeof type === 'string' ? findTargetType(type)?.configure(raw) : undefined;
  } catch {
    return undefined;
  }
}
