import type { Clock } from '../../lib/clock.ts';
import { configureNotification } from '../../notifications/notification.ts';
import { findTargetType } from '../../targets/index.ts';
import type { Target } from '../../targets/target.ts';
import { withDefaultTarget, withResolvedTargets } from '../check/cross-checks.ts';
import { targetGraph } from '../check/target-graph.ts';
import { type Loaded, type LoadResult, SETTINGS_FILE, type Sources } from '../load.ts';
import { deepFreeze, type PlainMap } from '../plain.ts';
import { childOf } from '../schema-walk.ts';
import type { CheckedResult } from '../worker-job.ts';
import { readConfigDocument } from '../yaml/document.ts';
import { readSettings } from './settings.ts';

/** How long others wait at most while a configuration is put together. */
const SLICE_MS = 10;

/** Makes a configuration live that was checked before, a little at a time. */
export async function assemble(
  result: CheckedResult,
  sources: Sources,
  clock: Pick<Clock, 'now' | 'monotonic'>,
): Promise<LoadResult> {
  if (!result.ok) return result;
  const { plain, warnings, files, texts } = result;
  const document = readConfigDocument(sources.folder, SETTINGS_FILE, texts[SETTINGS_FILE] ?? '');
  const { settings, origin, overridden } = readSettings(document, sources);
  if (settings === undefined) throw new Error('what headgate.yml refers to has changed while it was read');
  const pause = pauses(clock);
  const graph = targetGraph(itemsOf(plain.rawTargets, 'targets'));
  const targets: Target[] = [];
  for (const value of plain.targets) {
    targets.push(deepFreeze(withResolvedTargets(configured(value), graph)));
    await pause();
  }
  const notifications = [];
  for (const value of plain.rawNotifications.values()) {
    notifications.push(deepFreeze(withDefaultTarget(configureNotification(value), graph)));
    await pause();
  }
  const configuration: Loaded['configuration'] = Object.freeze({
    settings: deepFreeze(settings),
    targets: Object.freeze(targets),
    notifications: Object.freeze(notifications),
    inputs: deepFreeze(plain.inputs),
    outputs: deepFreeze(plain.outputs),
    raw: Object.freeze({
      settings: deepFreeze({ ...document.value }),
      targets: plain.rawTargets,
      notifications: plain.rawNotifications,
      inputs: plain.rawInputs,
      outputs: plain.rawOutputs,
    }),
    warnings: deepFreeze(warnings),
    overridden,
    waiting: [],
    loadedAt: new Date(clock.now()).toISOString(),
  });
  const { masked } = result;
  const resolvedTargets = plain.targets;
  return { ok: true, configuration, warnings, files, texts, masked, settingOrigin: origin, resolvedTargets };
}

function configured(value: unknown): Target {
  const type = childOf(value, 'type');
  const found = typeof type === 'string' ? findTargetType(type) : undefined;
  if (found === undefined) throw new Error(`a target of the unknown type '${String(type)}' passed the check`);
  return found.configure(value);
}

const itemsOf = (raw: ReadonlyMap<string, PlainMap>, section: string) =>
  [...raw].map(([id, value], index) => ({ path: [section, index], id, value }));

/** Lets others run whenever a slice of time is used up. */
function pauses(clock: Pick<Clock, 'monotonic'>): () => Promise<void> {
  let begun = clock.monotonic();
  return async () => {
    if (clock.monotonic() - begun < SLICE_MS) return;
    await new Promise(resolve => setImmediate(resolve));
    begun = clock.monotonic();
  };
}
