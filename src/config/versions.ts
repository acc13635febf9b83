import type { Clock } from '../lib/clock.ts';
import { reasonOf } from '../lib/errors.ts';
import type { MonotonicIds } from '../lib/ids.ts';
import type { Logger } from '../lib/logger.ts';
import type { Storage } from '../storage/storage.ts';
import type { ConfigVersionRow } from '../storage/stores/configuration.ts';
import type { ChangeSource } from './change.ts';
import type { FileTexts } from './configuration.ts';

/** A configuration that has taken effect. */
interface AppliedConfiguration {
  readonly author: string;
  readonly source: ChangeSource;
  readonly message?: string | undefined;
  /** The files, secrets masked. */
  readonly masked: FileTexts;
}

/** Records each configuration that became active, with its author. */
export interface VersionRecorder {
  /**
   * Writes a version unless its files read as those of the last one. Never rejects: what cannot be
   * written now is written at the next chance, as it differs from the last row.
   */
  record(effect: AppliedConfiguration): Promise<void>;
}

export interface VersionRecorderOptions {
  readonly storage: Pick<Storage, 'transaction'>;
  readonly workspace: string;
  readonly ids: MonotonicIds;
  readonly clock: Pick<Clock, 'now'>;
  readonly logger: Logger;
}

/** Versions that wait to be written; with more the oldest is lost. */
const MOST_WAITING = 100;

export function createVersionRecorder({
  storage,
  workspace,
  ids,
  clock,
  logger,
}: VersionRecorderOptions): VersionRecorder {
  const waiting: Omit<ConfigVersionRow, 'id'>[] = [];
  /** The files that this process has recorded last. */
  let last: string | undefined;
  let isWarned = false;

  async function flush(): Promise<void> {
    for (let row = waiting[0]; row !== undefined; row = waiting[0]) {
      await write(row);
      waiting.shift();
    }
  }

  /** Another process may have written the same files meanwhile, or a version whose id is of a clock ahead of ours. */
  async function write(row: Omit<ConfigVersionRow, 'id'>): Promise<void> {
    await storage.transaction(async tx => {
      const versions = tx.in(workspace);
      const newest = await versions.lastVersion();
      if (newest?.files === row.files) return;
      if (newest !== undefined) ids.advancePast(newest.id);
      await versions.addVersion({ ...row, id: ids.next() });
    });
  }

  return {
    async record({ author, source, message, masked }) {
      const files = JSON.stringify(masked);
      try {
        if (files !== (waiting.at(-1)?.files ?? last))
          waiting.push({
            author,
            source,
            message: message ?? null,
            created_at: clock.now(),
            files,
          });
        if (waiting.length > MOST_WAITING) waiting.shift();
        await flush();
        last = files;
        isWarned = false;
      } catch (error) {
        if (!isWarned)
          logger.warn(
            { reason: reasonOf(error) },
            'a version of the configuration cannot be written yet; the configuration itself is active',
          );
        isWarned = true;
      }
    },
  };
}
