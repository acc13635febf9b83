import type * as z from 'zod';
import { credentialFields } from '../auth/credential-rules.ts';
import { invalidInput } from '../resources/verb.ts';
import { type CredentialFlags, NEVER } from './credential-flags.ts';

const asked = credentialFields.required({ name: true, organizationRole: true });

/** What the command line says of a new credential, as the store takes it. Throws `invalid-request`, naming each flaw. */
export function fieldsOf(flags: CredentialFlags & { readonly name: string }): z.output<typeof asked> {
  const { name, role, workspace, description = '', expires, allowFrom } = flags;
  const read = asked.safeParse({
    ...{ name, organizationRole: role, workspaces: workspace, description },
    ...(expires !== undefined && { expiresAt: expires === NEVER ? null : Date.parse(expires) }),
    ...(allowFrom !== undefined && { ipAllowlist: allowFrom }),
  });
  if (!read.success) throw invalidInput(read.error);
  return read.data;
}
