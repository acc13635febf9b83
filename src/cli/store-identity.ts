import type * as z from 'zod';
import { createAudit, createOrganizationAudits } from '../auth/audit.ts';
import { createCredentialSecrets, credentialFields } from '../auth/organizations/credential.ts';
import { type CreatedCredential, createCredentials } from '../auth/organizations/credentials.ts';
import {
  createOrganization,
  type NewOrganization,
  setRoleSelector,
} from '../auth/organizations/organizations.ts';
import { openPepper } from '../auth/tokens/issued-secrets.ts';
import { createPasswords } from '../auth/users/passwords.ts';
import type { UserDetails } from '../auth/users/user.ts';
import { resetPassword } from '../auth/users/users.ts';
import { systemClock } from '../lib/clock.ts';
import { monotonicIds } from '../lib/ids.ts';
import { silentLogger } from '../lib/logger.ts';
import { readInput } from '../lib/problem-list.ts';
import { type CredentialFlags, NEVER } from './credential-flags.ts';
import { type Folders, type OpenStore, systemUser, withStore } from './store.ts';

const clock = systemClock;

/** Answers the result of `work` once it is in the audit. */
function audited<Result>(
  folders: Folders,
  { organization, action }: { readonly organization: string; readonly action: string },
  work: (offline: OpenStore) => Promise<{ readonly result: Result; readonly target: string }>,
): Promise<Result> {
  return withStore({ ...folders, mayCreate: true }, async offline => {
    const { storage } = offline;
    const audits = createOrganizationAudits({
      storage,
      clock,
      ids: monotonicIds(clock),
      logger: silentLogger,
    });
    const { result, target } = await work(offline);
    await audits
      .forOrganization(organization)
      .record({ actor: systemUser(), action, target, address: 'local' });
    await audits.stop();
    return result;
  });
}

export const createOrganizationInStore = (folders: Folders, asked: NewOrganization) =>
  audited(folders, { organization: asked.id, action: 'organizations.create' }, async ({ storage }) => {
    const made = { passwords: createPasswords(), clock, ids: monotonicIds(clock), actor: systemUser() };
    const result = await createOrganization({ storage, ...made }, asked);
    return { result, target: asked.id };
  });

export const setRoleSelectorInStore = (folders: Folders, organization: string, isOn: boolean) =>
  audited(folders, { organization, action: 'organizations.update' }, async ({ storage }) => {
    const result = await setRoleSelector({ storage, clock }, organization, isOn);
    return { result, target: organization };
  });

const newCredentialSchema = credentialFields.required({ name: true, organizationRole: true });
type NewCredential = z.output<typeof newCredentialSchema>;

/** The fields of a new credential, as the store takes them. Throws `invalid-request`, naming the problems. */
export function fieldsOf(flags: CredentialFlags & { readonly name: string }): NewCredential {
  const { name, role, workspace, description = '', expires, allowFrom } = flags;
  return readInput(newCredentialSchema, {
    ...{ name, organizationRole: role, workspaces: workspace, description },
    ...(expires !== undefined && { expiresAt: expires === NEVER ? null : Date.parse(expires) }),
    ...(allowFrom !== undefined && { ipAllowlist: allowFrom }),
  });
}

export const createCredentialInStore = (
  folders: Folders,
  organization: string,
  fields: NewCredential,
): Promise<CreatedCredential> =>
  audited(folders, { organization, action: 'credentials.create' }, async ({ storage, openKeyRing }) => {
    const keyRing = await openKeyRing();
    const credentials = createCredentials({
      storage,
      secrets: createCredentialSecrets(await openPepper({ storage, keyRing })),
      // A new credential ends no tokens.
      feed: { waitForPropagation: async () => {} },
      clock,
      ids: monotonicIds(clock),
    });
    const actor = { kind: 'operator', id: '', name: systemUser(), organization, role: 'owner' } as const;
    const result = await credentials.create(actor, fields);
    return { result, target: result.credential.clientId };
  });

/** For when no admin can log in. Refused while a server holds a SQLite store. */
export const resetPasswordInStore = (
  folders: Folders,
  name: string,
  password: string,
): Promise<UserDetails> =>
  withStore({ ...folders, mayCreate: false }, async ({ storage, workspace }) => {
    const clock = systemClock;
    const audit = createAudit({ storage, workspace, clock, ids: monotonicIds(clock), logger: silentLogger });
    try {
      return await resetPassword({ storage, audit, clock, actor: systemUser() }, name, password);
    } finally {
      await audit.stop();
    }
  });
