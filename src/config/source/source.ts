import type { Cancel } from '../../lib/clock.ts';
import type { NewSecret } from '../change.ts';
import type { Configuration, FileTexts } from '../configuration.ts';
import type { LoadResult } from '../load.ts';
import type { Sources } from '../read/configuration.ts';
import type { WritableSecrets } from '../secrets/store.ts';

/** A change that was checked, as a source writes it. */
interface CheckedChange {
  /** The new texts of the files that differ. */
  readonly texts: FileTexts;
  /** All texts as they were before. */
  readonly before: FileTexts;
  /** Every file that the new configuration was read from. */
  readonly files: readonly string[];
  readonly secrets: readonly NewSecret[];
  readonly author: string;
  /** Where the secrets go; undefined where none can be stored. */
  readonly store: WritableSecrets | undefined;
}

/** Where a configuration stands: in files of a folder, or in a document of the store. */
export interface ConfigurationSource {
  sources(): Sources;
  /** The sources that a change of this configuration is checked with. */
  sourcesForChange(now: Configuration): Sources;
  /** True when it differs from what the last load read. A document is read anew for the answer. */
  hasChanged(): Promise<boolean>;
  /** To be called before a load reads; the answer is called with what the load has read. */
  beginLoad(): (result: LoadResult) => void;
  /** A change can then be invalid because of files outside the configuration, such as files of secrets. */
  readonly refersToFiles: boolean;
  /**
   * Writes a change and its secrets, all or nothing. Rejects with `configuration-read-only`, `unavailable` when there is no
   * room, or `conflict` when another process has written.
   */
  write(change: CheckedChange): Promise<void>;
  /** Calls `refresh` whenever the source may have changed, until the returned call. Keeps no process alive. */
  watch(refresh: () => Promise<unknown>): Cancel;
  /** Removes what a killed process left. */
  cleanUp(): Promise<void>;
}
