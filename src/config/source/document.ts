import * as z from 'zod';
import type { Cancel, Clock } from '../../lib/clock.ts';
import { createCountedLog } from '../../lib/counted-log.ts';
import type { KeyRing } from '../../lib/keyring.ts';
import type { Logger } from '../../lib/logger.ts';
import { createRepeat } from '../../lib/repeat.ts';
import type { Storage } from '../../storage/storage.ts';
import { charactersOf, FILES, type FileName, type FileTexts } from '../configuration.ts';
import type { Sources } from '../read/configuration.ts';
import {
  countLogFolders,
  UNLIMITED_QUOTAS,
  type WorkspaceQuotas,
  type WorkspaceRestrictions,
} from '../restrictions.ts';
import { storeSecrets } from '../secrets/store.ts';
import type { ConfigurationSource } from './source.ts';

interface DocumentSourceOptions extends Omit<Sources, 'texts' | 'restrictions'> {
  readonly restrictions: WorkspaceRestrictions;
  readonly documents: SealedDocumentStore;
  /** The document as the store holds it at the start. */
  readonly first: WorkspaceDocument;
  /** Calls back when another process may have written. */
  readonly subscribe: (listener: () => void) => Cancel;
  readonly clock: Pick<Clock, 'sleep' | 'monotonic'>;
  readonly logger: Logger;
}

/** How often the document is read to find changes that no notification came for. */
const POLL_MS = 3000;

/** One document in the store: the configuration of a workspace that has no files. */
export function documentSource(options: DocumentSourceOptions): ConfigurationSource {
  const { restrictions, documents, subscribe, clock, logger, first, ...rest } = options;
  let read = first;
  const failures = createCountedLog(logger, {
    fields: { workspace: options.folder },
    message: 'the configuration of a workspace cannot be read from the store',
    over: 'the configuration of a workspace can be read from the store again',
  });
  const sourcesWith = (present: WorkspaceQuotas): Sources => ({
    ...rest,
    texts: read.texts,
    restrictions: { ...restrictions, present },
  });
  return {
    refersToFiles: false,
    sources: () => sourcesWith(UNLIMITED_QUOTAS),
    /** A change may keep what is there, and adds nothing beyond the quotas. */
    sourcesForChange: ({ settings, targets, notifications, inhibitions }) =>
      sourcesWith({
        pipelines: settings.pipelines.length,
        targets: targets.length,
        notifications: notifications.length,
        inhibitions: inhibitions.length,
        logFolders: countLogFolders(targets),
        configurationCharacters: charactersOf(read.texts),
      }),
    async hasChanged() {
      const present = await documents.read(read);
      const isChanged = present.revision !== read.revision;
      read = present;
      return isChanged;
    },
    beginLoad: () => () => {},
    async write({ texts, before, secrets, author, store }) {
      const rollBack = await storeSecrets({ secrets, author, store });
      const next = { revision: read.revision + 1, texts: withAllFiles({ ...before, ...texts }) };
      try {
        await documents.write(next);
      } catch (error) {
        await rollBack();
        throw error;
      }
      read = next;
    },
    watch(refresh) {
      const poll = async (): Promise<void> => {
        try {
          await refresh();
          failures.recovered();
        } catch (error) {
          failures.failed(error);
        }
      };
      const polling = createRepeat({
        clock,
        interval: POLL_MS,
        work: poll,
        faults: { failed: error => failures.failed(error) },
      });
      const unsubscribe = subscribe(() => void poll());
      polling.start();
      return () => {
        unsubscribe();
        void polling.stop();
      };
    },
    cleanUp: async () => {},
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
  /** Answers `known` while the store has no other revision: to decrypt and parse it takes its time. */
  read(known?: WorkspaceDocument): Promise<WorkspaceDocument>;
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
    async read(known) {
      const row = await storage.in(workspace).document.get();
      if (row === undefined) return { revision: 0, texts: withAllFiles({}) };
      if (row.revision === known?.revision) return known;
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
