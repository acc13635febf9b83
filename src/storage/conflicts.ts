import { AppError } from '../lib/errors.ts';

/** Says in words of the domain, instead of the database's, that a row with the same key is there already. */
export async function orConflict(insert: Promise<unknown>, message: string): Promise<void> {
  try {
    await insert;
  } catch (error) {
    if (!(error instanceof AppError) || error.code !== 'conflict') throw error;
    throw new AppError('conflict', message);
  }
}
