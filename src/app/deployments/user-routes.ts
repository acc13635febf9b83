import type { UserRoutesOptions } from '../../api/login-service/user-routes.ts';
import { passwordChangeRequired } from '../../auth/actor.ts';
import type { OrganizationAudits } from '../../auth/audit.ts';
import type { Identity } from '../../auth/identity.ts';
import { createCredentials } from '../../auth/organizations/credentials.ts';
import { createMembers } from '../../auth/organizations/members.ts';
import type { WorkspaceAccess } from '../../auth/organizations/workspace-access.ts';
import { createWorkspaces } from '../../auth/organizations/workspaces.ts';
import { issueLoginCode } from '../../auth/sso/login-service-sign-on.ts';
import { organizationKey } from '../../auth/tenant-name.ts';
import type { IssuedSecrets } from '../../auth/tokens/issued-secrets.ts';
import type { HostedSettings } from '../../config/settings.ts';
import { notFound } from '../../lib/errors.ts';
import type { SharedServices } from '../workspace-configuration.ts';

/** Routes for members of organizations at the login service. */
export function userRoutesOf({
  shared,
  identity,
  access,
  secrets,
  audits,
  hosted,
  externalUrl,
}: {
  readonly shared: Pick<SharedServices, 'storage' | 'keyRing' | 'clock' | 'ids'>;
  readonly identity: Identity;
  readonly access: WorkspaceAccess;
  readonly secrets: IssuedSecrets;
  readonly audits: OrganizationAudits;
  readonly hosted: HostedSettings;
  /** `instance.externalUrl` of the installation. */
  readonly externalUrl: string | undefined;
}): Omit<UserRoutesOptions, 'limits'> {
  const { storage, keyRing, clock, ids } = shared;
  const { feed, passwords, users, sessions } = identity;
  const parts = { storage, feed, clock, ids };
  const services = {
    credentials: createCredentials({ ...parts, secrets }),
    members: createMembers({ ...parts, passwords }),
    workspaces: createWorkspaces(parts),
  };
  return {
    signIn: identity,
    login: identity.login,
    async loginWithNewPassword({ newPassword, ...request }) {
      const { token } = await identity.login(request);
      const actor = await identity.authenticate(token);
      const change = { password: newPassword, currentPassword: request.password };
      const changed = await users.updateProfile(actor, change, request.address);
      return { token: changed.token ?? token, forcePasswordChange: false };
    },
    async redirectToWorkspace({ user }, workspace, state) {
      if (user.force_password_change === 1)
        throw passwordChangeRequired(
          `POST ${hosted.authUrl}/session/password with currentPassword and password`,
        );
      const accountId = await access.accountIn(workspace, user.id);
      const account = accountId === undefined ? undefined : await storage.users.byId(accountId);
      if (account === undefined) throw notFound('workspace', workspace);
      const code = issueLoginCode({ user: account, workspace, state }, { keyRing, clock });
      const query = new URLSearchParams({ code, state });
      return `${tenantUrlOf(workspace, hosted, externalUrl)}/session/callback?${query}`;
    },
    async changePassword({ user, method }, { currentPassword, password, address }) {
      const actor = { kind: 'user', id: user.id, name: user.username, role: 'user' } as const;
      await users.updateProfile(actor, { currentPassword, password }, address);
      const now = await storage.users.byId(user.id);
      if (now === undefined) throw notFound('user', user.id);
      return sessions.begin({ user: now, method });
    },
    organizations: {
      contextOf: organization => ({
        ...services,
        auditLog: storage.in(organizationKey(organization)).audit,
        audit: audits.forOrganization(organization),
      }),
      authenticate: access.organizationActorOf,
      cloudDomain: () => hosted.cloudDomain,
    },
    externalUrl: hosted.authUrl,
  };
}

/** The URL of a workspace: https, unless `instance.externalUrl` has another scheme or port for tests. */
export function tenantUrlOf(
  label: string,
  { cloudDomain }: Pick<HostedSettings, 'cloudDomain'>,
  externalUrl: string | undefined,
): string {
  const { protocol, port } = new URL(externalUrl ?? `https://${cloudDomain}`);
  return `${protocol}//${label}.${cloudDomain}${port === '' ? '' : `:${port}`}`;
}
