import { mkdir } from 'node:fs/promises';
import { dirname } from 'node:path';
import { codeOf, reasonOf } from '../lib/errors.ts';
import { explainFailure } from './sqlite/errors.ts';

/** Makes the folder for its owner alone when it is missing, whichever database is used: keys and logs lie there. */
export async function createDataFolder(folder: string): Promise<void> {
  await create(folder).catch(error => {
    throw explainFailure({ code: codeOf(error), message: reasonOf(error) }, folder, folder);
  });
}

/** Step by step, because Node 20's recursive `mkdir` never returns below a folder such as /proc. */
async function create(folder: string): Promise<void> {
  try {
    await mkdir(folder, { mode: 0o700 });
  } catch (error) {
    const parent = dirname(folder);
    if (codeOf(error) === 'EEXIST') return;
    if (codeOf(error) !== 'ENOENT' || parent === folder) throw error;
    await create(parent);
    await mkdir(folder, { mode: 0o700 });
  }
}
