import { type CountedLog, createCountedLog } from '../../lib/counted-log.ts';
import { reasonOf } from '../../lib/errors.ts';
import type { KeyRing } from '../../lib/keyring.ts';
import type { Logger } from '../../lib/logger.ts';
import { createMutex } from '../../lib/mutex.ts';
import { revealJson } from '../../lib/secret.ts';
import { notifiedTargets } from '../../notifications/rule-state.ts';
import type { Storage } from '../../storage/storage.ts';
import { findTargetType } from '../../targets/index.ts';
import type { Target } from '../../targets/target.ts';

/** Incidents that a log line names; the rest is counted. */
const MOST_NAMED = 20;

export interface RemovedTargetsOptions {
  readonly workspace: string;
  readonly storage: Pick<Storage, 'in' | 'transaction'>;
  readonly keyRing: KeyRing;
  readonly logger: Logger;
}

/** The last settings of every target. With them a removed target still gets the end of each alarm it got, also after a restart. */
export interface RemovedTargets {
  /** Known targets that are not configured. */
  removed(configured: readonly Target[]): readonly Target[];
  /** Until when (epoch ms) targets asked for a pause, without those whose settings have changed since. */
  paused(configured: readonly Target[]): ReadonlyMap<string, number>;
  /**
   * Saves the settings of these, and forgets removed targets that no open incident or delivery needs. Logs the alarms
   * that are open at a destination that was changed: nothing will close them there.
   */
  save(configured: readonly Target[]): Promise<void>;
  /** Resolves when nothing is being written. */
  idle(): Promise<void>;
}

/** Rejects when the store cannot be read. */
export async function openRemovedTargets(options: RemovedTargetsOptions): Promise<RemovedTargets> {
  const targets = new StoredRemovedTargets(options);
  await targets.load();
  return targets;
}

class StoredRemovedTargets implements RemovedTargets {
  readonly #options: RemovedTargetsOptions;
  readonly #faults: CountedLog;
  readonly #mutex = createMutex();
  /** Settings as JSON, by id. */
  readonly #settings = new Map<string, string>();
  /** Epoch ms by id, as they were loaded. */
  readonly #pauses = new Map<string, number>();
  readonly #unsaved = new Set<string>();
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
    const { keyRing, logger } = this.#options;
    for (const { id, sealed, paused_until: until } of await this.#stores().removedTargets.list())
      try {
        this.#settings.set(id, keyRing.decrypt(sealed, this.#contextOf(id)));
        if (until !== null) this.#pauses.set(id, until);
      } catch (error) {
        logger.warn({ target: id, reason: reasonOf(error) }, 'kept settings of a target cannot be read');
      }
  }

  removed(configured: readonly Target[]): readonly Target[] {
    const ids = new Set(configured.map(target => target.settings.id));
    return [...this.#settings].flatMap(([id, text]) => (ids.has(id) ? [] : (targetOf(text) ?? [])));
  }

  paused(configured: readonly Target[]): ReadonlyMap<string, number> {
    const changed = configured.filter(
      ({ settings }) => this.#settings.get(settings.id) !== revealJson(settings),
    );
    const ids = new Set(changed.map(({ settings }) => settings.id));
    return new Map([...this.#pauses].filter(([id]) => !ids.has(id)));
  }

  save(configured: readonly Target[]): Promise<void> {
    this.#remember(configured);
    return this.#mutex.run(() => this.#write());
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
    this.#configured = new Set(configured.map(({ settings }) => settings.id));
    for (const { settings, destination } of configured) {
      const text = revealJson(settings);
      const before = this.#settings.get(settings.id);
      if (before === text) continue;
      const left = before === undefined ? undefined : targetOf(before)?.destination;
      if (left !== undefined && left !== destination) this.#moved.add(settings.id);
      this.#settings.set(settings.id, text);
      this.#unsaved.add(settings.id);
    }
  }

  async #write(): Promise<void> {
    try {
      await this.#saveUnsaved();
      await this.#warnAboutMoved();
      await this.#forget();
      this.#faults.recovered();
    } catch (error) {
      this.#faults.failed(error);
    }
  }

  async #saveUnsaved(): Promise<void> {
    if (this.#unsaved.size === 0) return;
    const { storage, workspace, keyRing } = this.#options;
    const texts = [...this.#unsaved].map(id => [id, this.#settings.get(id) ?? ''] as const);
    await storage.transaction(async tx => {
      for (const [id, text] of texts) {
        const sealed = keyRing.encrypt(text, this.#contextOf(id));
        await tx.in(workspace).putRemovedTarget({ id, sealed, paused_until: null });
      }
    });
    for (const [id, text] of texts) if (this.#settings.get(id) === text) this.#unsaved.delete(id);
  }

  async #warnAboutMoved(): Promise<void> {
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
        'alarms stay open where the target sent to before; resolve them there by hand',
      );
    }
  }

  async #forget(): Promise<void> {
    const removable = new Set(this.#settings.keys());
    const retain = (ids: Iterable<string>): void => {
      for (const id of ids) removable.delete(id);
    };
    retain(this.#configured);
    if (removable.size === 0) return;
    const { incidents, deliveries } = this.#stores();
    // In this order: an incident that ends meanwhile has its deliveries waiting by then, and so have those of fallbacks.
    for (const row of await incidents.open()) retain(notifiedTargets(row));
    retain(await deliveries.fallbackTargets());
    retain((await deliveries.waitingByTarget()).map(({ target }) => target));
    retain(this.#configured);
    if (removable.size === 0) return;
    const { storage, workspace } = this.#options;
    await storage.transaction(async tx => {
      for (const id of removable) await tx.in(workspace).deleteRemovedTarget(id);
    });
    for (const id of removable)
      if (this.#configured.has(id)) this.#unsaved.add(id);
      else this.#settings.delete(id);
  }
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
