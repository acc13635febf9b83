import type { Clock } from '../lib/clock.ts';
import { reasonOf } from '../lib/errors.ts';
import type { Ids } from '../lib/ids.ts';
import type { Logger } from '../lib/logger.ts';
import type { ConfigVersionRow, Storage } from '../storage/storage.ts';
import type { Door } from './change.ts';
import type { Texts } from './load.ts';

/** A configuration that has taken effect. */
interface Effect {
  readonly author: string;
  readonly door: Door;
  readonly message?: string | undefined;
  /** The files, secrets masked. */
  readonly masked: Texts;
}

/** Keeps what was in force when, and by whom it came. */
export interface Versions {
  /**
   * Writes a version unless its files read as those of the last one. Never rejects: what cannot be
   * written now is written at the next chance, as it differs from the last row.
   */
  record(effect: Effect): Promise<void>;
}

export interface VersionsOptions {
  readonly storage: Pick<Storage, 'in' | 'transaction'>;
  readonly workspace: string;
  readonly ids: Ids;
  readonly clock: Pick<Clock, 'now'>;
  readonly logger: Logger;
}

/** Versions that wait to be written; with more the oldest is lost. */
const MOST_WAITING = 100;

export function createVersions({ storage, workspace, ids, clock, logger }: VersionsOptions): Versions {
  const waiting: ConfigVersionRow[] = [];
  let last: string | undefined;
  let isWarned = false;

  async function flush(): Promise<void> {
    for (let row = waiting[0]; row !== undefined; row = waiting[0]) {
      const version = row;
      await storage.transaction(tx => tx.in(workspace).addVersion(version));
      waiting.shift();
    }
  }

  return {
    async record({ author, door, message, masked }) {
      const files = JSON.stringify(masked);
      try {
        last ??= (await storage.in(workspace).versions.last())?.files;
        if (files !== (waiting.at(-1)?.files ?? last))
          waiting.push({
            id: ids.next(),
            author,
            door,
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
            'a version of the configuration cannot be written yet; the configuration itself is in force',
          );
        isWarned = true;
      }
    },
  };
}
