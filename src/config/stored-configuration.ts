import type { Cancel } from '../lib/clock.ts';
import { createFaultLog } from '../lib/fault-log.ts';
import { createMutex } from '../lib/mutex.ts';
import { createRepeat } from '../lib/repeat.ts';
import { checkTexts, type Prepared, prepareApart } from './apart.ts';
import type { Change } from './change.ts';
import {
  A_PERSON,
  type By,
  type ConfigurationHolder,
  type ConfigurationOptions,
  editsOf,
} from './current.ts';
import { assertSound, createInForce } from './in-force.ts';
import { keepSecrets } from './keep-secrets.ts';
import type { Configuration, Loaded, LoadResult } from './load.ts';
import { maskedTexts } from './mask-texts.ts';
import { type TenantTerms, WHATEVER_IS_THERE } from './tenant-terms.ts';
import { allOf, type DocumentKeeper, type WorkspaceDocument } from './workspace-document.ts';

export interface StoredConfigurationOptions
  extends Omit<ConfigurationOptions, 'texts' | 'edited' | 'assertMayBecome' | 'tenant'> {
  readonly tenant: TenantTerms;
  readonly documents: DocumentKeeper;
  /** What the store holds at the start. */
  readonly first: WorkspaceDocument;
  /** Calls back when another process may have written. */
  readonly subscribe: (listener: () => void) => Cancel;
}

/** Changes that nobody told of are found by looking this often. */
const LOOK_MS = 3000;

/** Owns the configuration of a workspace that has no files: one document in the store. */
export function createStoredConfiguration(options: StoredConfigurationOptions): ConfigurationHolder {
  const { clock, documents, logger, secrets, tenant } = options;
  let read = options.first;
  const inForce = createInForce({
    ...options,
    tenant: { ...tenant, present: WHATEVER_IS_THERE },
    get texts() {
      return read.texts;
    },
  });
  const mutex = createMutex();
  const faults = createFaultLog(logger, {
    fields: { workspace: options.folder },
    message: 'the configuration of a workspace cannot be read from the store',
    over: 'the configuration of a workspace can be read from the store again',
  });
  /** Whether a secret is no longer what it was loaded with. */
  let isStale = false;
  let unwatch: Cancel | undefined;

  async function record(result: LoadResult, by: By): Promise<void> {
    if (!result.ok) return;
    const masked = result.masked ?? maskedTexts(result.texts, result.configuration.raw);
    await options.versions?.record({ ...by, masked });
  }

  async function load(): Promise<LoadResult> {
    isStale = false;
    const result = await inForce.load();
    await record(result, A_PERSON);
    return result;
  }

  /** What the store holds by now, in force if it can be. */
  async function current(): Promise<LoadResult> {
    const present = await documents.read();
    const last = inForce.ifCurrent();
    if (present.revision === read.revision && !isStale && last !== undefined) return last;
    read = present;
    return load();
  }

  async function look(): Promise<void> {
    try {
      await current();
      faults.passed();
    } catch (error) {
      faults.failed(error);
    }
  }

  /** What changes are held against: they may keep what is there, and add nothing beyond the quotas. */
  const sourcesNow = ({ settings, targets, notifications }: Configuration) => ({
    ...options,
    texts: read.texts,
    tenant: {
      ...tenant,
      present: {
        pipelines: settings.pipelines.length,
        targets: targets.length,
        notifications: notifications.length,
      },
    },
  });

  const prepared = (now: Loaded, change: Parameters<typeof prepareApart>[0]): Promise<Prepared> =>
    prepareApart(change, now, sourcesNow(now.configuration), clock);

  async function save(change: Change): Promise<Configuration> {
    const now = assertSound(await current());
    const edits = 'edits' in change ? editsOf(change.edits, now.configuration) : [];
    const texts = 'texts' in change ? change.texts(now.configuration) : {};
    const { changed, loaded } = await prepared(now, { edits, texts });
    const added = edits.flatMap(edit => edit.secrets ?? []);
    if (Object.keys(changed).length + added.length === 0) return inForce.get();
    const takeBack = await keepSecrets({ secrets: added, author: change.author, keeper: secrets });
    const next = { revision: read.revision + 1, texts: allOf({ ...now.texts, ...changed }) };
    try {
      await documents.write(next);
    } catch (error) {
      await takeBack();
      throw error;
    }
    read = next;
    await record(inForce.takeOver(loaded, inForce.seen()), change);
    return inForce.get();
  }

  async function trial(edits: Parameters<ConfigurationHolder['trial']>[0]): Promise<Configuration> {
    const now = assertSound(await current());
    return (await prepared(now, { edits: edits(now.configuration), texts: {} })).loaded.configuration;
  }

  return {
    load() {
      const result = inForce.loadFirst();
      void mutex.run(() => record(result, A_PERSON));
      return result;
    },
    get: inForce.get,
    reload: () => mutex.run(current),
    save: change => mutex.run(() => save(change)),
    trial: edits => mutex.run(() => trial(edits)),
    check: texts => checkTexts(sourcesNow(inForce.get()), texts, clock),
    secretsChanged() {
      isStale = true;
      return mutex.run(async () => {
        if (isStale) await load();
      });
    },
    subscribe: inForce.subscribe,
    status: inForce.status,
    texts: inForce.masked,
    watch() {
      if (unwatch !== undefined) return;
      const looking = createRepeat({
        clock,
        interval: LOOK_MS,
        work: () => mutex.run(look),
        faults: { failed: error => faults.failed(error) },
      });
      const unsubscribe = options.subscribe(() => void mutex.run(look));
      looking.start();
      unwatch = () => {
        unsubscribe();
        void looking.stop();
      };
    },
    stop() {
      unwatch?.();
      unwatch = undefined;
      return mutex.idle();
    },
  };
}
