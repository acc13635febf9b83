import type { OrganizationAudits } from '../../auth/audit.ts';
import { createIdentity, type Identity, type IdentitySettings } from '../../auth/identity.ts';
import { createMemberLinking } from '../../auth/sso/account-linking.ts';
import { memberAccounts } from '../../auth/users/login.ts';
import type { HostedSettings, Settings } from '../../config/settings.ts';

export const identitySettings = ({ api, auth, instance }: Settings): IdentitySettings => ({
  ...api,
  loginBackOff: { after: api.loginBackOff.after, longestMs: api.loginBackOff.longest.ms },
  auth,
  externalUrl: instance.externalUrl,
});

type IdentityOptions = Parameters<typeof createIdentity>[0];

interface HostedIdentityOptions
  extends Omit<IdentityOptions, 'audit' | 'settings' | 'accountLinking' | 'accountsFor'> {
  readonly audits: OrganizationAudits;
  readonly hosted: Pick<HostedSettings, 'authUrl'>;
  /** Of the installation; read at each call. */
  readonly settings: () => Settings;
}

/** Members of organizations sign in at the login service. Throws as `createIdentity`. */
export function createHostedIdentity(options: HostedIdentityOptions): Promise<Identity> {
  const { audits, hosted, settings, ...rest } = options;
  const { storage, clock } = rest;
  return createIdentity({
    ...rest,
    audit: audits.forOrganization(undefined),
    settings: () => ({ ...identitySettings(settings()), externalUrl: hosted.authUrl }),
    accountsFor: memberAccounts,
    accountLinking: (feed, logger) =>
      createMemberLinking({ storage, feed, clock, auditOf: audits.forOrganization, logger }),
  });
}
