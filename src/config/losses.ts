import { join } from 'node:path';
import type { LoadResult, Texts } from './load.ts';

/**
 * A file that was in force and is gone since is refused like one with errors: all that it held would end in silence,
 * while at a start a missing file counts as empty.
 */
export function refuseLosses(result: LoadResult, inForce: Texts, folder: string): LoadResult {
  if (!result.ok) return result;
  const gone = Object.keys(inForce).filter(name => !(name in result.texts));
  if (gone.length === 0) return result;
  const message =
    'is gone, and what it held stays in force; put it back, or an empty one to end what it held';
  const problems = gone.map(name => ({ file: join(folder, name), line: 1, column: 1, path: '', message }));
  return { ok: false, problems, warnings: result.warnings, files: result.files, texts: result.texts };
}
