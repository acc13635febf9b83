import { createCountedLog } from '../../lib/counted-log.ts';
import { reasonOf } from '../../lib/errors.ts';
import type { KeyRing } from '../../lib/keyring.ts';
import type { Logger } from '../../lib/logger.ts';
import { createMutex } from '../../lib/mutex.ts';
import { revealJson } from '../../lib/secret.ts';
import { notifiedTargets } from '../../notifications/rule-state.ts';
import type { Storage } from '../../storage/storage.ts';
import { findTargetType } from '../../targets/index.ts';
import type { Target } from '../../targets/target.ts';

/** Incidents that a line of the log names; the rest is counted. */
const MOST_NAMED = 20;

export interface RemovedTargetsOptions {
  readonly workspace: string;
  readonly storage: Pick<Storage, 'in' | 'transaction'>;
  readonly keyRing: KeyRing;
  readonly logger: Logger;
}

/** The last settings of every target, so that a removed one is told the end of what it was told, also after a restart. */
export interface RemovedTargets {
  /** Targets that are known and not configured. */
  removed(configured: readonly Target[]): readonly Target[];
  /** Until when (epoch ms) targets asked for nothing to be sent, those left out whose settings are not as they were then. */
  paused(configured: readonly Target[]): ReadonlyMap<string, number>;
  /**
   * Keeps the settings of these, and forgets removed ones to whom nothing is owed. What is open where one sent to before
   * and not any more is logged: nobody will close it there.
   */
  save(configured: readonly Target[]): Promise<void>;
  /** Resolves when nothing is on its way to the disk. */
  idle(): Promise<void>;
}

/** Rejects when the store cannot be read. */
export async function openRemovedTargets(options: RemovedTargetsOptions): Promise<RemovedTargets> {
  const { keyRing, logger, storage, workspace } = options;
  const stores = storage.in(workspace);
  /** Settings as JSON, by id. */
  const settingsById = new Map<string, string>();
  /** By id, as it was found. */
  const pauses = new Map<string, number>();
  const unsaved = new Set<string>();
  /** Ids of those that send to somewhere else than before, and nobody was told yet. */
  const moved = new Set<string>();
  /** Ids that are configured now: a write may still be under way for a configuration before. */
  let configuredIds: ReadonlySet<string> = new Set();
  const mutex = createMutex();
  const faults = createCountedLog(logger, {
    fields: {},
    message: 'settings of targets cannot be kept for their removal',
    over: 'settings of targets are kept for their removal again',
  });

  const contextOf = (id: string): string => `removed_targets|sealed|${workspace}|${id}`;

  for (const { id, sealed, paused_until: until } of await stores.removedTargets.list())
    try {
      settingsById.set(id, keyRing.decrypt(sealed, contextOf(id)));
      if (until !== null) pauses.set(id, until);
    } catch (error) {
      logger.warn({ target: id, reason: reasonOf(error) }, 'kept settings of a target cannot be read');
    }

  /** In memory at once: what the next configuration removes must be known. */
  function remember(configured: readonly Target[]): void {
    configuredIds = new Set(configured.map(({ settings }) => settings.id));
    for (const { settings, destination } of configured) {
      const text = revealJson(settings);
      const before = settingsById.get(settings.id);
      if (before === text) continue;
      const left = before === undefined ? undefined : targetOf(before)?.destination;
      if (left !== undefined && left !== destination) moved.add(settings.id);
      settingsById.set(settings.id, text);
      unsaved.add(settings.id);
    }
  }

  async function saveUnsaved(): Promise<void> {
    if (unsaved.size === 0) return;
    const texts = [...unsaved].map(id => [id, settingsById.get(id) ?? ''] as const);
    await storage.transaction(async tx => {
      for (const [id, text] of texts)
        await tx
          .in(workspace)
          .putRemovedTarget({ id, sealed: keyRing.encrypt(text, contextOf(id)), paused_until: null });
    });
    for (const [id, text] of texts) if (settingsById.get(id) === text) unsaved.delete(id);
  }

  async function warnAboutMoved(): Promise<void> {
    if (moved.size === 0) return;
    const open = (await stores.incidents.open()).map(row => ({
      id: row.id,
      notifiedTargets: notifiedTargets(row),
    }));
    const standIns = await stores.deliveries.fallbackTargets();
    for (const id of moved) {
      moved.delete(id);
      const incidents = open
        .filter(({ notifiedTargets }) => notifiedTargets.includes(id))
        .map(incident => incident.id);
      if (incidents.length === 0 && !standIns.includes(id)) continue;
      logger.warn(
        { target: id, count: incidents.length, incidents: incidents.slice(0, MOST_NAMED) },
        'alarms stay open where the target sent to before; resolve them there by hand',
      );
    }
  }

  async function forget(): Promise<void> {
    const removable = new Set(settingsById.keys());
    const without = (ids: Iterable<string>): void => {
      for (const id of ids) removable.delete(id);
    };
    without(configuredIds);
    if (removable.size === 0) return;
    // In this order: an incident that ends meanwhile has its deliveries waiting by then, and so have those handed over.
    for (const row of await stores.incidents.open()) without(notifiedTargets(row));
    without(await stores.deliveries.fallbackTargets());
    for (const { target } of await stores.deliveries.waitingByTarget()) removable.delete(target);
    without(configuredIds);
    if (removable.size === 0) return;
    await storage.transaction(async tx => {
      for (const id of removable) await tx.in(workspace).deleteRemovedTarget(id);
    });
    for (const id of removable)
      if (configuredIds.has(id)) unsaved.add(id);
      else settingsById.delete(id);
  }

  async function write(): Promise<void> {
    try {
      await saveUnsaved();
      await warnAboutMoved();
      await forget();
      faults.recovered();
    } catch (error) {
      faults.failed(error);
    }
  }

  return {
    removed(configured) {
      const configuredIds = new Set(configured.map(target => target.settings.id));
      return [...settingsById].flatMap(([id, text]) => (configuredIds.has(id) ? [] : (targetOf(text) ?? [])));
    },
    paused(configured) {
      const changed = configured.filter(
        ({ settings }) => settingsById.get(settings.id) !== revealJson(settings),
      );
      const others = new Set(changed.map(({ settings }) => settings.id));
      return new Map([...pauses].filter(([id]) => !others.has(id)));
    },
    save(configured) {
      remember(configured);
      return mutex.run(write);
    },
    idle: () => mutex.idle(),
  };
}

/** Undefined for settings that this version does not take any more. */
function targetOf(text: string): Target | undefined {
  try {
    const raw: unknown = JSON.parse(text);
    const type: unknown = typeof raw === 'object' && raw !== null ? Reflect.get(raw, 'type') : undefined;
    return typeof type === 'string' ? findTargetType(type)?.configure(raw) : undefined;
  } catch {
    return undefined;
  }
}
