import type { Audits } from '../auth/audits.ts';
import { createIdentity, type Identity } from '../auth/identity.ts';
import { createMemberAccounts } from '../auth/sso/member-accounts.ts';
import type { HostedSettings } from '../config/hosted-settings.ts';
import type { Settings } from '../config/settings.ts';
import { identitySettings } from './own.ts';

type IdentityOptions = Parameters<typeof createIdentity>[0];

interface HostedIdentityOptions extends Omit<IdentityOptions, 'audit' | 'settings' | 'accounts'> {
  readonly audits: Audits;
  readonly hosted: Pick<HostedSettings, 'authUrl'>;
  /** Of the installation; asked at each call. */
  readonly settings: () => Settings;
}

/** Who comes in to a hosted installation: members of its organizations, at the login service. Throws as `createIdentity`. */
export function createHostedIdentity(options: HostedIdentityOptions): Promise<Identity> {
  const { audits, hosted, settings, ...rest } = options;
  const { storage, clock } = rest;
  return createIdentity({
    ...rest,
    audit: audits.of(undefined),
    settings: () => ({ ...identitySettings(settings()), externalUrl: hosted.authUrl }),
    accounts: (feed, logger) => createMemberAccounts({ storage, feed, clock, auditOf: audits.of, logger }),
  });
}
