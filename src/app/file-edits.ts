import type { Audit } from '../auth/audit.ts';
import type { FileEdit } from '../config/current.ts';

/** Writes into the audit which files were edited and what became of it, never what they hold; nobody can tell by whom. */
export function auditFileEdit(audit: Pick<Audit, 'record' | 'refused'>, { files, problems }: FileEdit): void {
  const entry = { actor: 'file', action: 'files.edit', target: files.join(', '), address: 'local' };
  if (problems === 0) void audit.record({ ...entry, reason: 'accepted' });
  else audit.refused({ ...entry, reason: `${problems} ${problems === 1 ? 'problem' : 'problems'}` });
}
