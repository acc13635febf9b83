import { type Audit, createAudit } from './audit.ts';
import { organizationKey } from './tenant-name.ts';

/** The audit of each organization, and of what concerns none. */
export interface Audits {
  /** Undefined for what cannot be told to be about one. */
  of(organization: string | undefined): Audit;
  /** Writes what has been counted. */
  stop(): Promise<void>;
}

export function createAudits(options: Omit<Parameters<typeof createAudit>[0], 'workspace'>): Audits {
  const audits = new Map<string, Audit>();
  return {
    of(organization) {
      const workspace = organizationKey(organization);
      const known = audits.get(workspace) ?? createAudit({ ...options, workspace });
      audits.set(workspace, known);
      return known;
    },
    async stop() {
      await Promise.all([...audits.values()].map(audit => audit.stop()));
    },
  };
}
