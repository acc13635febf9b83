import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buildProduct } from '../../scripts/build.ts';
import { findPostgres } from './postgres.ts';

/**
 * Tests run the storage worker and the bin as they are shipped, and a real PostgreSQL. Whatever they leave in the folder for temporary
 * files goes at the end.
 */
export async function setup(): Promise<() => Promise<void>> {
  await buildProduct();
  const folder = await mkdtemp(join(tmpdir(), 'headgate-tests-'));
  // Tests that work as another user have to pass through.
  await chmod(folder, 0o711);
  process.env.TMPDIR = folder;
  const endPostgres = await findPostgres();
  return async () => {
    endPostgres();
    await rm(folder, { recursive: true, force: true });
  };
}
