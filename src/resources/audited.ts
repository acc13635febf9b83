import type { Audit, AuditEntry } from '../auth/audit.ts';
import { AppError } from '../lib/errors.ts';
import type { CallOrigin } from './context.ts';

const MOST_FIELDS = 20;

/** By which operation of the API a verb is run. */
export interface InvokedOperation {
  /** As in `users.update`. */
  readonly id: string;
  readonly method: string;
  /** The member of the answer that names what was made; `id` by default. */
  readonly createdKey?: string;
}

interface AuditedCall {
  readonly permission: string;
  /** Name of the caller. */
  readonly actor: string;
  readonly origin: CallOrigin;
  readonly called: InvokedOperation;
  readonly raw: unknown;
  readonly audit: Pick<Audit, 'record' | 'refused'>;
}

/** Reads are not audited; that one was refused is. */
const ALWAYS: readonly string[] = ['forbidden', 'password-change-required'];

/**
 * Runs a verb and writes into the audit what came of it: of each that changes something, whatever its file says, and
 * of every refusal for want of a right.
 */
export async function withAudit<Output>(
  { permission, actor, origin, called, raw, audit }: AuditedCall,
  run: () => Promise<Output>,
): Promise<Output> {
  const isChange = called.method !== 'GET' && !permission.startsWith('read:');
  const entry = (): AuditEntry => ({ actor, action: called.id, ...origin });
  try {
    const output = await run();
    if (isChange)
      await audit.record({
        ...entry(),
        target: targetOf(raw, output, called.createdKey),
        reason: fieldsOf(raw),
      });
    return output;
  } catch (error) {
    const reason = error instanceof AppError ? error.code : 'internal';
    if (isChange || ALWAYS.includes(reason))
      audit.refused({ ...entry(), target: targetOf(raw, undefined), reason });
    throw error;
  }
}

const valuesOf = (value: unknown): ReadonlyMap<string, unknown> =>
  new Map(typeof value === 'object' && value !== null ? Object.entries(value) : []);

function targetOf(raw: unknown, output: unknown, naming = 'id'): string {
  const given = valuesOf(raw);
  const made = valuesOf(output);
  const names = [given.get('id'), given.get('name'), made.get(naming), valuesOf(given.get('body')).get('id')];
  return names.find(name => typeof name === 'string') ?? '';
}

/** The names of what was sent, never a value. */
function fieldsOf(raw: unknown): string {
  const body = valuesOf(raw).get('body');
  return Array.isArray(body) ? '' : [...valuesOf(body).keys()].slice(0, MOST_FIELDS).join(', ');
}
