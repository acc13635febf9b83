import { createAudit } from '../auth/audit.ts';
import { resetPassword } from '../auth/reset-password.ts';
import type { UserFacts } from '../auth/users.ts';
import { systemClock } from '../lib/clock.ts';
import { monotonicIds } from '../lib/ids.ts';
import { silentLogger } from '../lib/logger.ts';
import { type Folders, withStore } from './offline.ts';
import { whoRuns } from './who-runs.ts';

/** The way back in when no admin can log in. Refused while a server holds a SQLite store. */
export const resetPasswordInStore = (folders: Folders, name: string, password: string): Promise<UserFacts> =>
  withStore({ ...folders, mayCreate: false }, async ({ storage, workspace }) => {
    const clock = systemClock;
    const audit = createAudit({ storage, workspace, clock, ids: monotonicIds(clock), logger: silentLogger });
    try {
      return await resetPassword({ storage, audit, clock, actor: whoRuns() }, name, password);
    } finally {
      await audit.stop();
    }
  });
