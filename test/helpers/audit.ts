import type { Audit, AuditEntry } from '../../src/auth/audit.ts';

/** An audit that keeps what it is told. */
export function notedAudit(): Audit & { readonly entries: AuditEntry[] } {
  const entries: AuditEntry[] = [];
  return {
    entries,
    record: async entry => void entries.push(entry),
    refused: entry => void entries.push(entry),
    stop: async () => {},
  };
}
