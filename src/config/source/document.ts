import * as z from 'zod';
import type { Cancel, Clock } from '../../lib/clock.ts';
import { createCountedLog } from '../../lib/counted-log.ts';
import type { KeyRing } from '../../lib/keyring.ts';
import { createMutex } from '../../lib/mutex.ts';
import { createRepeat } from '../../lib/repeat.ts';
import type { Storage } from '../../storage/storage.ts';
import type { ConfigChange } from '../change.ts';
import {
  type Attribution,
  assertSound,
  type ConfigurationHolder,
  type ConfigurationOptions,
  createActiveConfiguration,
  editsOf,
  FILE_AUTHOR,
} from '../holder.ts';
import {
  type Configuration,
  FILES,
  type FileName,
  type FileTexts,
  type Loaded,
  type LoadResult,
} from '../load.ts';
import { UNLIMITED_QUOTAS, type WorkspaceRestrictions } from '../restrictions.ts';
import { maskedTexts } from '../secrets/mask.ts';
import { storeSecrets } from '../secrets/store.ts';
import { checkTexts, type PreparedChange, prepareWithWorker } from '../worker.ts';

export interface DocumentConfigurationOptions
  extends Omit<ConfigurationOptions, 'texts' | 'onFileEdit' | 'assertMayBecome' | 'restrictions'> {
  readonly restrictions: WorkspaceRestrictions;
  readonly documents: SealedDocumentStore;
  /** What the store holds at the start. */
  readonly first: WorkspaceDocument;
  /** Calls back when another process may have written. */
  readonly subscribe: (listener: () => void) => Cancel;
}

/** Changes that nobody told of are found by looking this often. */
const POLL_MS = 3000;

/** Owns the configuration of a workspace that has no files: one document in the store. */
export function createDocumentConfiguration(options: DocumentConfigurationOptions): ConfigurationHolder {
  const { clock, documents, logger, secrets, restrictions } = options;
  let read = options.first;
  const active = createActiveConfiguration({
    ...options,
    restrictions: { ...restrictions, present: UNLIMITED_QUOTAS },
    get texts() {
      return read.texts;
    },
  });
  const mutex = createMutex();
  const faults = createCountedLog(logger, {
    fields: { workspace: options.folder },
    message: 'the configuration of a workspace cannot be read from the store',
    over: 'the configuration of a workspace can be read from the store again',
  });
  /** Whether a secret is no longer what it was loaded with. */
  let isStale = false;
  let unwatch: Cancel | undefined;

  async function record(result: LoadResult, by: Attribution): Promise<void> {
    if (!result.ok) return;
    const masked = result.masked ?? maskedTexts(result.texts, result.configuration.raw);
    await options.versions?.record({ ...by, masked });
  }

  async function load(): Promise<LoadResult> {
    isStale = false;
    const result = await active.load();
    await record(result, FILE_AUTHOR);
    return result;
  }

  /** What the store holds by now, in force if it can be. */
  async function current(): Promise<LoadResult> {
    const present = await documents.read();
    const last = active.lastIfUnchanged();
    if (present.revision === read.revision && !isStale && last !== undefined) return last;
    read = present;
    return load();
  }

  async function poll(): Promise<void> {
    try {
      await current();
      faults.recovered();
    } catch (error) {
      faults.failed(error);
    }
  }

  /** What changes are held against: they may keep what is there, and add nothing beyond the quotas. */
  const sourcesNow = ({ settings, targets, notifications }: Configuration) => ({
    ...options,
    texts: read.texts,
    restrictions: {
      ...restrictions,
      present: {
        pipelines: settings.pipelines.length,
        targets: targets.length,
        notifications: notifications.length,
      },
    },
  });

  const prepared = (now: Loaded, change: Parameters<typeof prepareWithWorker>[0]): Promise<PreparedChange> =>
    prepareWithWorker(change, now, sourcesNow(now.configuration), clock);

  async function save(change: ConfigChange): Promise<Configuration> {
    const now = assertSound(await current());
    const edits = 'edits' in change ? editsOf(change.edits, now.configuration) : [];
    const texts = 'texts' in change ? change.texts(now.configuration) : {};
    const { changed, loaded } = await prepared(now, { edits, texts });
    const added = edits.flatMap(edit => edit.secrets ?? []);
    if (Object.keys(changed).length + added.length === 0) return active.get();
    const rollBack = await storeSecrets({ secrets: added, author: change.author, store: secrets });
    const next = { revision: read.revision + 1, texts: withAllFiles({ ...now.texts, ...changed }) };
    try {
      await documents.write(next);
    } catch (error) {
      await rollBack();
      throw error;
    }
    read = next;
    await record(active.activate(loaded, active.seen()), change);
    return active.get();
  }

  async function dryRun(edits: Parameters<ConfigurationHolder['dryRun']>[0]): Promise<Configuration> {
    const now = assertSound(await current());
    return (await prepared(now, { edits: edits(now.configuration), texts: {} })).loaded.configuration;
  }

  return {
    load() {
      const result = active.loadFirst();
      void mutex.run(() => record(result, FILE_AUTHOR));
      return result;
    },
    get: active.get,
    reload: () => mutex.run(current),
    save: change => mutex.run(() => save(change)),
    dryRun: edits => mutex.run(() => dryRun(edits)),
    check: texts => checkTexts(sourcesNow(active.get()), texts, clock),
    secretsChanged() {
      isStale = true;
      return mutex.run(async () => {
        if (isStale) await load();
      });
    },
    subscribe: active.subscribe,
    status: active.status,
    texts: active.masked,
    watch() {
      if (unwatch !== undefined) return;
      const looking = createRepeat({
        clock,
        interval: POLL_MS,
        work: () => mutex.run(poll),
        faults: { failed: error => faults.failed(error) },
      });
      const unsubscribe = options.subscribe(() => void mutex.run(poll));
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

/** The configuration of a workspace that has no files, as the store holds it. */
interface WorkspaceDocument {
  /** One more with each change; 0 while nothing was ever written. */
  readonly revision: number;
  /** Every file of a configuration, '' for one that holds nothing. */
  readonly texts: Readonly<Record<FileName, string>>;
}

export interface SealedDocumentStore {
  read(): Promise<WorkspaceDocument>;
  /** Throws `conflict` unless its revision is the next one. */
  write(document: WorkspaceDocument): Promise<void>;
}

const content = z.partialRecord(z.enum(FILES), z.string());

export function createSealedDocumentStore({
  storage,
  workspace,
  keyRing,
  clock,
}: {
  readonly storage: Pick<Storage, 'in' | 'transaction'>;
  readonly workspace: string;
  readonly keyRing: KeyRing;
  readonly clock: Pick<Clock, 'now'>;
}): SealedDocumentStore {
  const place = `config_documents|sealed|${workspace}`;
  return {
    async read() {
      const row = await storage.in(workspace).document.get();
      if (row === undefined) return { revision: 0, texts: withAllFiles({}) };
      const texts = content.parse(JSON.parse(keyRing.decrypt(row.sealed, place)));
      return { revision: row.revision, texts: withAllFiles(texts) };
    },
    async write({ revision, texts }) {
      const sealed = keyRing.encrypt(JSON.stringify(texts), place);
      await storage.transaction(tx =>
        tx.in(workspace).putDocument({ revision, sealed, updated_at: clock.now() }),
      );
    },
  };
}

const withAllFiles = (texts: FileTexts): WorkspaceDocument['texts'] => ({
  'headgate.yml': texts['headgate.yml'] ?? '',
  'notifications.yml': texts['notifications.yml'] ?? '',
  'inputs.yml': texts['inputs.yml'] ?? '',
  'outputs.yml': texts['outputs.yml'] ?? '',
});
