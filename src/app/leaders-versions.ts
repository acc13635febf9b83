import type { Versions } from '../config/versions.ts';

type Effect = Parameters<Versions['record']>[0];

/** The versions of a configuration, which only the process that leads writes: what it has in force is in force. */
export interface LeadersVersions extends Versions {
  /** Writes what came last while another process led, and from now on whatever comes. */
  lead(): Promise<void>;
  /** From now on keeps only what comes last. */
  follow(): void;
}

/**
 * Processes that share a folder all see a file that one of them has written, and only the one that wrote it knows for
 * whom.
 */
export function leadersVersions(versions: Versions): LeadersVersions {
  let isLeading = false;
  let last: Effect | undefined;
  return {
    async record(effect) {
      if (isLeading) await versions.record(effect);
      else last = effect;
    },
    async lead() {
      isLeading = true;
      const kept = last;
      last = undefined;
      if (kept !== undefined) await versions.record(kept);
    },
    follow() {
      isLeading = false;
    },
  };
}
