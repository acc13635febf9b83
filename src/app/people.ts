import type { PeopleOptions } from '../api/login-service/people.ts';
import type { Audits } from '../auth/audits.ts';

import { createCredentials } from '../auth/credentials.ts';
import type { Identity } from '../auth/identity.ts';
import type { IssuedSecrets } from '../auth/issued-secret.ts';
import { createMembers } from '../auth/members.ts';
import { handOverCode } from '../auth/sso/hand-over.ts';
import { organizationKey, parseLabel } from '../auth/tenant-name.ts';
import type { WorkspaceAccess } from '../auth/workspace-access.ts';
import { createWorkspaces } from '../auth/workspaces.ts';
import type { HostedSettings } from '../config/hosted-settings.ts';
import { AppError, notFound } from '../lib/errors.ts';
import type { Shared } from './shared.ts';
import { tenantUrlOf } from './tenant-url.ts';

/** What members of organizations do at the login service. */
export function peopleOf({
  shared,
  identity,
  access,
  secrets,
  audits,
  hosted,
  externalUrl,
}: {
  readonly shared: Pick<Shared, 'storage' | 'keyRing' | 'clock' | 'ids'>;
  readonly identity: Identity;
  readonly access: WorkspaceAccess;
  readonly secrets: IssuedSecrets;
  readonly audits: Audits;
  readonly hosted: HostedSettings;
  /** Of the installation. */
  readonly externalUrl: string | undefined;
}): Omit<PeopleOptions, 'limits'> {
  const { storage, keyRing, clock, ids } = shared;
  const { feed, passwords, users, sessions } = identity;
  const parts = { storage, feed, clock, ids };
  return {
    signIn: identity,
    login: identity.login,
    async renew({ newPassword, ...request }) {
      const { token } = await identity.login(request);
      const actor = await identity.authenticate(token);
      const change = { password: newPassword, currentPassword: request.password };
      const changed = await users.updateOwn(actor, change, request.address);
      return { token: changed.token ?? token, forcePasswordChange: false };
    },
    async handOver({ user }, workspace, state) {
      if (user.force_password_change === 1)
        throw new AppError('password-change-required', 'The password must be changed first');
      if (parseLabel(workspace) === undefined || !(await access.isOpenTo(workspace, user.id)))
        throw notFound('workspace', workspace);
      const code = handOverCode({ user, workspace, state }, { keyRing, clock });
      const query = new URLSearchParams({ code, state });
      return `${tenantUrlOf(workspace, hosted, externalUrl)}/session/callback?${query}`;
    },
    async changePassword({ user, method }, { currentPassword, password, address }) {
      const actor = { kind: 'user', id: user.id, name: user.username, role: 'user' } as const;
      await users.updateOwn(actor, { currentPassword, password }, address);
      const now = await storage.users.byId(user.id);
      if (now === undefined) throw notFound('user', user.id);
      return sessions.begin({ user: now, method });
    },
    organizations: {
      organizations: {
        credentials: createCredentials({ ...parts, secrets }),
        members: createMembers({ ...parts, passwords }),
        workspaces: createWorkspaces(parts),
        auditOf: organization => storage.in(organizationKey(organization)).audit,
      },
      managerOf: access.managerOf,
      cloudDomain: () => hosted.cloudDomain,
      audit: audits.of,
    },
    externalUrl: hosted.authUrl,
  };
}
