import { join } from 'node:path';
import type { Clock } from '../lib/clock.ts';
import { configureInhibition } from '../notifications/inhibition/inhibition-rule.ts';
import { configureNotification, type Notification } from '../notifications/notification.ts';
import type { Target } from '../targets/target.ts';
import { withDefaultTarget, withResolvedTargets } from './check/cross-checks.ts';
import { targetGraph } from './check/target-graph.ts';
import { type Configuration, type FileTexts, SETTINGS_FILE } from './configuration.ts';
import { withoutByteOrderMark } from './file-text.ts';
import { deepFreeze, type PlainMap } from './plain.ts';
import {
  type ConfigurationData,
  type ConfigurationValues,
  type ReadConfiguration,
  readConfiguration,
  type Sources,
} from './read/configuration.ts';
import { configuredTarget } from './read/items.ts';
import { checkedSettings } from './read/settings.ts';
import type { ValueOrigin } from './schema-problems.ts';
import { positionsIn } from './yaml/parse.ts';

export type LoadResult = {
  readonly warnings: ReadConfiguration['warnings'];
  /** Every file that was looked at, secrets' files included: a change of one may change the result. */
  readonly files: readonly string[];
  /** The files that are there, as they were read. */
  readonly texts: FileTexts;
} & (
  | {
      readonly ok: true;
      readonly configuration: Configuration;
      /** Where settings of headgate.yml come from. */
      readonly settingOrigin: ValueOrigin;
      /** The texts with their secrets masked, where the load has masked them already. */
      readonly masked?: FileTexts;
    }
  | { readonly ok: false; readonly problems: ReadConfiguration['warnings'] }
);

export type Loaded = Extract<LoadResult, { readonly ok: true }>;

type Read = Extract<ReadConfiguration, { readonly ok: true }>;

/**
 * Reads and checks a configuration on this thread, as at the start. Large ones are loaded by `loadWithWorker` once
 * somebody would have to wait. Never throws for what a file holds.
 */
export function loadConfiguration(sources: Sources, clock: Pick<Clock, 'now'>): LoadResult {
  const read = readConfiguration(sources);
  return read.ok ? assemble(read, read.values, clock) : read;
}

/** The configuration of what was read and checked, frozen where it is plain. */
export function assemble(
  { data, warnings, files, texts }: Omit<Read, 'values' | 'refusals'>,
  values: ConfigurationValues,
  clock: Pick<Clock, 'now'>,
): Loaded {
  const { settings, settingOrigin, overridden, targets, notifications, inhibitions } = values;
  const { inputs, outputs, raw } = data;
  const configuration: Configuration = Object.freeze({
    settings: deepFreeze(settings),
    targets: deepFreeze(targets),
    notifications: deepFreeze(notifications),
    inhibitions: deepFreeze(inhibitions),
    inputs: deepFreeze(inputs),
    outputs: deepFreeze(outputs),
    raw: Object.freeze({ ...raw, settings: deepFreeze(raw.settings) }),
    warnings: deepFreeze(warnings),
    overridden,
    waiting: [],
    loadedAt: new Date(clock.now()).toISOString(),
  });
  return { ok: true, configuration, warnings, files, texts, settingOrigin };
}

/** How long others wait at most while values are made, in milliseconds. */
const SLICE_MS = 5;

/** Makes the values of data that the config worker has checked, a little at a time. */
export async function valuesOf(
  { targets: resolvedTargets, raw }: ConfigurationData,
  texts: FileTexts,
  sources: Sources,
  clock: Pick<Clock, 'monotonic'>,
): Promise<ConfigurationValues> {
  const pause = pauses(clock);
  const text = withoutByteOrderMark(texts[SETTINGS_FILE] ?? '');
  const work = checkedSettings(
    {
      file: join(sources.folder, SETTINGS_FILE),
      value: raw.settings,
      // Only a setting that waits for a restart is looked up in the text.
      places: positionsIn(text),
    },
    sources,
  );
  let reading = work.next();
  for (; reading.done !== true; reading = work.next()) await pause();
  const { settings, origin, overridden } = reading.value;
  if (settings === undefined) throw new Error('what headgate.yml refers to has changed while it was read');
  const graph = targetGraph(itemsOf(raw.targets, 'targets'));
  const targets: Target[] = [];
  const rawTargets = [...raw.targets.values()];
  for (const [index, value] of resolvedTargets.entries()) {
    const target = configuredTarget(rawTargets[index], value, sources.restrictions);
    targets.push(deepFreeze(withResolvedTargets(target, graph)));
    await pause();
  }
  const notifications: Notification[] = [];
  for (const value of raw.notifications.values()) {
    notifications.push(deepFreeze(withDefaultTarget(configureNotification(value), graph)));
    await pause();
  }
  const inhibitions = [...raw.inhibitions.values()].map(value => deepFreeze(configureInhibition(value)));
  return { settings, settingOrigin: origin, overridden, targets, notifications, inhibitions };
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
