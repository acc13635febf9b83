import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buildProduct } from '../../scripts/build.ts';

/**
 * Tests run the storage worker and the bin as they are shipped. Whatever they leave in the folder for temporary
 * files goes at the end.
 */
export async function setup(): Promise<() => Promise<void>> {
  await buildProduct();
  const folder = await mkdtemp(join(tmpdir(), 'headgate-tests-'));
  process.env.TMPDIR = folder;
  return () => rm(folder, { recursive: true, force: true });
}
