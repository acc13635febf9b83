import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buildProduct } from '../../scripts/build.ts';
import { findPostgres } from './postgres.ts';

const FOLDER = 'TEST_FOLDER';

/**
 * Tests run the storage worker and the bin as they are shipped, and a real PostgreSQL. What they leave in the folder
 * for temporary files is removed at the end. Each group of files asks for it; the first one does it for all.
 */
export async function setup(): Promise<(() => Promise<void>) | undefined> {
  if (process.env[FOLDER] !== undefined) return undefined;
  const folder = await mkdtemp(join(tmpdir(), 'headgate-tests-'));
  process.env[FOLDER] = folder;
  await buildProduct();
  // Tests that work as another user have to pass through.
  await chmod(folder, 0o711);
  process.env.TMPDIR = folder;
  const endPostgres = await findPostgres();
  return async () => {
    await endPostgres();
    await rm(folder, { recursive: true, force: true });
  };
}
