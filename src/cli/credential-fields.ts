import type * as z from 'zod';
import { credentialFields } from '../auth/credential-rules.ts';
import { invalidInput } from '../resources/verb.ts';

const asked = credentialFields.required({ name: true, organizationRole: true });

/** What the command line says of a new credential. Throws `invalid-request`, naming each flaw. */
export function fieldsOf(flags: {
  readonly name: string;
  readonly role: string;
  readonly workspace: readonly { readonly workspace: string; readonly role: string }[];
  readonly description?: string;
}): z.output<typeof asked> {
  const { name, role, workspace, description = '' } = flags;
  const read = asked.safeParse({ name, organizationRole: role, workspaces: workspace, description });
  if (!read.success) throw invalidInput(read.error);
  return read.data;
}
