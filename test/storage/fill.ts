import { AppError } from '../../src/lib/errors.ts';
import type { Storage } from '../../src/storage/storage.ts';
import { incidentRow, transition } from './rows.ts';

const MOST = 400;

/** The number of incidents the disk took, and how it refused the next. */
export interface Filled {
  readonly accepted: number;
  readonly code: string;
  readonly message: string;
  readonly retryAfterSeconds: number | undefined;
}

/** Writes 8 KB events one after the other until one is refused. */
export async function commitUntilRefused(storage: Storage): Promise<Filled> {
  const body = JSON.stringify({ filler: 'x'.repeat(8192) });
  for (let accepted = 0; accepted < MOST; accepted++) {
    try {
      await storage.commit(transition(incidentRow({ subject: `input${accepted}` }), { body }));
    } catch (error) {
      if (!(error instanceof AppError)) throw error;
      const { code, message, retryAfterSeconds } = error;
      return { accepted, code, message, retryAfterSeconds };
    }
  }
  throw new Error(`the disk took all ${MOST}`);
}
