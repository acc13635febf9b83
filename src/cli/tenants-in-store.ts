import { createAudits } from '../auth/audits.ts';
import type { CredentialFields } from '../auth/credential-rules.ts';
import { credentialSecrets } from '../auth/credential-secrets.ts';
import { type CreatedCredential, createCredentials } from '../auth/credentials.ts';
import { createOrganization, type NewOrganization, setRoleSelector } from '../auth/organizations.ts';
import { createPasswords } from '../auth/passwords.ts';
import { openPepper } from '../auth/pepper.ts';
import { systemClock } from '../lib/clock.ts';
import { monotonicIds } from '../lib/ids.ts';
import { silentLogger } from '../lib/logger.ts';
import type { OrganizationRole } from '../storage/tenant-tables.ts';
import { type Folders, type Offline, withStore } from './offline.ts';
import { whoRuns } from './who-runs.ts';

const clock = systemClock;

/** What `work` answers, once the audit says that it was done. */
function audited<Result>(
  folders: Folders,
  { organization, action }: { readonly organization: string; readonly action: string },
  work: (offline: Offline) => Promise<{ readonly result: Result; readonly target: string }>,
): Promise<Result> {
  return withStore({ ...folders, mayCreate: true }, async offline => {
    const { storage } = offline;
    const audits = createAudits({ storage, clock, ids: monotonicIds(clock), logger: silentLogger });
    const { result, target } = await work(offline);
    await audits.of(organization).record({ actor: whoRuns(), action, target, address: 'local' });
    await audits.stop();
    return result;
  });
}

export const createOrganizationInStore = (folders: Folders, asked: NewOrganization) =>
  audited(folders, { organization: asked.id, action: 'organizations.create' }, async ({ storage }) => {
    const made = { passwords: createPasswords(), clock, ids: monotonicIds(clock), actor: whoRuns() };
    const result = await createOrganization({ storage, ...made }, asked);
    return { result, target: asked.id };
  });

export const setRoleSelectorInStore = (folders: Folders, organization: string, isOn: boolean) =>
  audited(folders, { organization, action: 'organizations.update' }, async ({ storage }) => {
    const result = await setRoleSelector({ storage, clock }, organization, isOn);
    return { result, target: organization };
  });

export const createCredentialInStore = (
  folders: Folders,
  organization: string,
  fields: CredentialFields & { readonly name: string; readonly organizationRole: OrganizationRole },
): Promise<CreatedCredential> =>
  audited(folders, { organization, action: 'credentials.create' }, async ({ storage, openKeyRing }) => {
    const keyRing = await openKeyRing();
    const credentials = createCredentials({
      storage,
      secrets: credentialSecrets(await openPepper({ storage, keyRing })),
      // Whatever is new has ended nobody's tokens.
      feed: { takenOver: async () => {} },
      clock,
      ids: monotonicIds(clock),
    });
    const result = await credentials.create({ name: whoRuns(), role: 'owner' }, organization, fields);
    return { result, target: result.credential.clientId };
  });
