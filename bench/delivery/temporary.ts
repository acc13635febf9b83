import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const folders: string[] = [];

/** A folder that goes with this process, or with `removeTemporaryFolders`. */
export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'headgate-bench-'));
  folders.push(folder);
  return folder;
}

export function removeTemporaryFolders(): void {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true, maxRetries: 3 });
}

/** Ends this process in time, and leaves nothing behind however it ends: children are killed by whoever started them. */
export function endWithin(minutes: number): void {
  process.once('exit', removeTemporaryFolders);
  for (const name of ['SIGINT', 'SIGTERM'] as const) process.once(name, () => process.exit(130));
  setTimeout(() => {
    console.error(`not over within ${minutes} minutes`);
    process.exit(1);
  }, minutes * 60_000).unref();
}
