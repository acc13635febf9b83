import { randomBytes } from 'node:crypto';
import { open } from 'node:fs/promises';
import { dirname } from 'node:path';

/**
 * Writes `text`, on disk and readable by the owner only, to a new file beside `path`, and returns that file's path.
 * The caller puts it in place with `link` (keeps what is there) or `rename` (replaces it), then calls `syncFolderOf`.
 */
export async function stagePrivateFile(path: string, text: string): Promise<string> {
  const staged = `${path}.${randomBytes(6).toString('hex')}.tmp`;
  const file = await open(staged, 'wx', 0o600);
  try {
    await file.writeFile(text);
    await file.sync();
  } finally {
    await file.close();
  }
  return staged;
}

/** Makes a new name in the folder of `path` survive a power cut. */
export async function syncFolderOf(path: string): Promise<void> {
  const folder = await open(dirname(path), 'r');
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}
