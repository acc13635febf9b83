import type { Clock } from '../../lib/clock.ts';
import { configurationFiles } from '../configuration.ts';
import type { Sources } from '../read/configuration.ts';
import { isSameFiles, type Signatures, signaturesOf, watchFiles } from '../watch.ts';
import { removeStaged, writeTexts } from '../write/files.ts';
import type { ConfigurationSource } from './source.ts';

interface FilesSourceOptions extends Omit<Sources, 'texts'> {
  readonly clock: Pick<Clock, 'after'>;
}

/** The files of a folder. */
export function filesSource({ clock, ...sources }: FilesSourceOptions): ConfigurationSource {
  const { folder } = sources;
  /** The files as they were when they were last read or written. */
  let seen: Signatures = new Map();
  return {
    refersToFiles: true,
    sources: () => sources,
    sourcesForChange: () => sources,
    hasChanged: async () => !isSameFiles(signaturesOf(seen.keys()), seen),
    beginLoad() {
      const before = signaturesOf(seen.keys());
      // A change made while files are read must not count as seen; a file that was not known before is seen afterwards.
      return ({ files }) => {
        seen = new Map([...signaturesOf(files)].map(([file, now]) => [file, before.get(file) ?? now]));
      };
    },
    async write({ files, ...change }) {
      const written = await writeTexts({ folder, ...change });
      seen = new Map(
        [...signaturesOf(files)].map(([file, now]) => [file, written.get(file) ?? seen.get(file) ?? now]),
      );
    },
    watch: refresh => watchFiles({ folder, seen: () => seen, clock, changed: () => void refresh() }),
    cleanUp: () => removeStaged(configurationFiles(folder)),
  };
}
