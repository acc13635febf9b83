import { randomBytes } from 'node:crypto';
import { open, rm } from 'node:fs/promises';
import { dirname } from 'node:path';

/**
 * Writes a text, or bytes as they come, on disk and readable by the owner only, to a new file beside `path`, and returns that file's path.
 * The caller puts it in place with `link` (keeps what is there) or `rename` (replaces it), then calls `syncFolderOf`.
 */
export async function stagePrivateFile(
  path: string,
  text: string | AsyncIterable<Uint8Array>,
): Promise<string> {
  const staged = `${path}.${randomBytes(6).toString('hex')}.tmp`;
  const file = await open(staged, 'wx', 0o600);
  try {
    for await (const piece of typeof text === 'string' ? [text] : text) await file.writeFile(piece);
    await file.sync();
  } catch (error) {
    await rm(staged, { force: true });
    throw error;
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
