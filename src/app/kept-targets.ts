import { reasonOf } from '../lib/errors.ts';
import { createFaultLog } from '../lib/fault-log.ts';
import type { KeyRing } from '../lib/keyring.ts';
import type { Logger } from '../lib/logger.ts';
import { revealedJson } from '../lib/secret.ts';
import { toldTargets } from '../notifications/transition.ts';
import type { Storage } from '../storage/storage.ts';
import { findTargetType } from '../targets/index.ts';
import type { Target } from '../targets/target.ts';

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
  /** Keeps the settings of these, and forgets removed ones to whom nothing is owed. */
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
  const unsaved = new Set<string>();
  let running: Promise<void> = Promise.resolve();
  const faults = createFaultLog(logger, {
    fields: {},
    message: 'settings of targets cannot be kept for their removal',
    over: 'settings of targets are kept for their removal again',
  });

  const contextOf = (id: string): string => `kept_targets|sealed|${workspace}|${id}`;

  for (const { id, sealed } of await stores.keptTargets.list())
    try {
      kept.set(id, keyRing.decrypt(sealed, contextOf(id)));
    } catch (error) {
      logger.warn({ target: id, reason: reasonOf(error) }, 'kept settings of a target cannot be read');
    }

  /** In memory at once: what the next configuration removes must be known. */
  function remember(configured: readonly Target[]): void {
    for (const { settings } of configured) {
      const text = revealedJson(settings);
      if (kept.get(settings.id) === text) continue;
      kept.set(settings.id, text);
      unsaved.add(settings.id);
    }
  }

  async function save(): Promise<void> {
    if (unsaved.size === 0) return;
    const ids = [...unsaved];
    await storage.transaction(async tx => {
      for (const id of ids) {
        const sealed = keyRing.encrypt(kept.get(id) ?? '', contextOf(id));
        await tx.in(workspace).keepTarget({ id, sealed });
      }
    });
    for (const id of ids) unsaved.delete(id);
  }

  async function forget(configured: readonly Target[]): Promise<void> {
    const gone = new Set(kept.keys());
    for (const { settings } of configured) gone.delete(settings.id);
    if (gone.size === 0) return;
    for (const { target } of await stores.deliveries.waitingByTarget()) gone.delete(target);
    for (const row of await stores.incidents.open()) for (const id of toldTargets(row)) gone.delete(id);
    if (gone.size === 0) return;
    await storage.transaction(async tx => {
      for (const id of gone) await tx.in(workspace).dropTarget(id);
    });
    for (const id of gone) kept.delete(id);
  }

  async function write(configured: readonly Target[]): Promise<void> {
    try {
      await save();
      await forget(configured);
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
    keep(configured) {
      remember(configured);
      running = running.then(() => write(configured));
      return running;
    },
    idle: () => running,
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
