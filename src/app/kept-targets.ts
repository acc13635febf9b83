import { reasonOf } from '../lib/errors.ts';
import { createFaultLog } from '../lib/fault-log.ts';
import type { KeyRing } from '../lib/keyring.ts';
import type { Logger } from '../lib/logger.ts';
import { createMutex } from '../lib/mutex.ts';
import { revealedJson } from '../lib/secret.ts';
import { toldTargets } from '../notifications/transition.ts';
import type { Storage } from '../storage/storage.ts';
import { findTargetType } from '../targets/index.ts';
import type { Target } from '../targets/target.ts';

/** Incidents that a line of the log names; the rest is counted. */
const MOST_NAMED = 20;

export interface KeptTargetsOptions {
  readonly workspace: string;
  readonly storage: Pick<Storage, 'in' | 'transaction'>;
  readonly keyRing: KeyRing;
  readonly logger: Logger;
}

/** The last settings of every target, so that a removed one is told the end of what it was told, also after a restart. */
export interface KeptTargets {
  /** Targets that are known and not configured. */
  former(configured: readonly Target[]): readonly Target[];
  /** Until when (epoch ms) targets asked for nothing to be sent, those left out whose settings are not as they were then. */
  paused(configured: readonly Target[]): ReadonlyMap<string, number>;
  /**
   * Keeps the settings of these, and forgets removed ones to whom nothing is owed. What is open where one sent to before
   * and not any more is logged: nobody will close it there.
   */
  keep(configured: readonly Target[]): Promise<void>;
  /** Resolves when nothing is on its way to the disk. */
  idle(): Promise<void>;
}

/** Rejects when the store cannot be read. */
export async function openKeptTargets(options: KeptTargetsOptions): Promise<KeptTargets> {
  const { keyRing, logger, storage, workspace } = options;
  const stores = storage.in(workspace);
  /** Settings as JSON, by id. */
  const kept = new Map<string, string>();
  /** By id, as it was found. */
  const pauses = new Map<string, number>();
  const unsaved = new Set<string>();
  /** Ids of those that send to somewhere else than before, and nobody was told yet. */
  const moved = new Set<string>();
  /** Ids that are configured now: a write may still be under way for a configuration before. */
  let present: ReadonlySet<string> = new Set();
  const mutex = createMutex();
  const faults = createFaultLog(logger, {
    fields: {},
    message: 'settings of targets cannot be kept for their removal',
    over: 'settings of targets are kept for their removal again',
  });

  const contextOf = (id: string): string => `kept_targets|sealed|${workspace}|${id}`;

  for (const { id, sealed, paused_until: until } of await stores.keptTargets.list())
    try {
      kept.set(id, keyRing.decrypt(sealed, contextOf(id)));
      if (until !== null) pauses.set(id, until);
    } catch (error) {
      logger.warn({ target: id, reason: reasonOf(error) }, 'kept settings of a target cannot be read');
    }

  /** In memory at once: what the next configuration removes must be known. */
  function remember(configured: readonly Target[]): void {
    present = new Set(configured.map(({ settings }) => settings.id));
    for (const { settings, destination } of configured) {
      const text = revealedJson(settings);
      const before = kept.get(settings.id);
      if (before === text) continue;
      const left = before === undefined ? undefined : targetOf(before)?.destination;
      if (left !== undefined && left !== destination) moved.add(settings.id);
      kept.set(settings.id, text);
      unsaved.add(settings.id);
    }
  }

  async function save(): Promise<void> {
    if (unsaved.size === 0) return;
    const texts = [...unsaved].map(id => [id, kept.get(id) ?? ''] as const);
    await storage.transaction(async tx => {
      for (const [id, text] of texts)
        await tx
          .in(workspace)
          .keepTarget({ id, sealed: keyRing.encrypt(text, contextOf(id)), paused_until: null });
    });
    for (const [id, text] of texts) if (kept.get(id) === text) unsaved.delete(id);
  }

  async function tellMoved(): Promise<void> {
    if (moved.size === 0) return;
    const open = (await stores.incidents.open()).map(row => ({ id: row.id, told: toldTargets(row) }));
    const standIns = await stores.deliveries.standIns();
    for (const id of moved) {
      moved.delete(id);
      const incidents = open.filter(({ told }) => told.includes(id)).map(incident => incident.id);
      if (incidents.length === 0 && !standIns.includes(id)) continue;
      logger.warn(
        { target: id, count: incidents.length, incidents: incidents.slice(0, MOST_NAMED) },
        'alarms stay open where the target sent to before; resolve them there by hand',
      );
    }
  }

  async function forget(): Promise<void> {
    const gone = new Set(kept.keys());
    const without = (ids: Iterable<string>): void => {
      for (const id of ids) gone.delete(id);
    };
    without(present);
    if (gone.size === 0) return;
    // In this order: an incident that ends meanwhile has its deliveries waiting by then, and so have those handed over.
    for (const row of await stores.incidents.open()) without(toldTargets(row));
    without(await stores.deliveries.standIns());
    for (const { target } of await stores.deliveries.waitingByTarget()) gone.delete(target);
    without(present);
    if (gone.size === 0) return;
    await storage.transaction(async tx => {
      for (const id of gone) await tx.in(workspace).dropTarget(id);
    });
    for (const id of gone)
      if (present.has(id)) unsaved.add(id);
      else kept.delete(id);
  }

  async function write(): Promise<void> {
    try {
      await save();
      await tellMoved();
      await forget();
      faults.passed();
    } catch (error) {
      faults.failed(error);
    }
  }

  return {
    former(configured) {
      const present = new Set(configured.map(target => target.settings.id));
      return [...kept].flatMap(([id, text]) => (present.has(id) ? [] : (targetOf(text) ?? [])));
    },
    paused(configured) {
      const changed = configured.filter(({ settings }) => kept.get(settings.id) !== revealedJson(settings));
      const others = new Set(changed.map(({ settings }) => settings.id));
      return new Map([...pauses].filter(([id]) => !others.has(id)));
    },
    keep(configured) {
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
