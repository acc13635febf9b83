import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { describeConfiguration } from '../api/metrics/installation.ts';
import { describeWorkspace } from '../api/metrics/workspace.ts';
import type { Tenant } from '../api/tenant.ts';
import { createAudits } from '../auth/audits.ts';
import type { Identity } from '../auth/identity.ts';
import { createHandOver } from '../auth/sso/hand-over.ts';
import { createTenantDirectory } from '../auth/tenant-directory.ts';
import { createTenantIdentity } from '../auth/tenant-identity.ts';
import { hostOf, labelOf, organizationKey, parseLabel } from '../auth/tenant-name.ts';
import { createWorkspaceAccess } from '../auth/workspace-access.ts';
import type { HostedSettings } from '../config/hosted-settings.ts';
import { AppError, notFound } from '../lib/errors.ts';
import type { Storage } from '../storage/storage.ts';
import { openCredentialEnds } from './credential-ends.ts';
import { holdDocument } from './held.ts';
import { createHostedIdentity } from './hosted-identity.ts';
import { ConfigurationInvalid } from './invalid.ts';
import { startLoginService } from './login-service.ts';
import { createMeters } from './meters.ts';
import type { DeploymentOptions, Serving } from './serving.ts';
import { sweepSessions } from './session-sweep.ts';
import { createSweep, keepingOf } from './sweep.ts';
import { createTeardown } from './teardown.ts';
import { tenantUrlOf } from './tenant-url.ts';
import { createTenants } from './tenants.ts';
import { type RunningWorkspace, startWorkspace } from './workspace.ts';

const ORGANIZATIONS_AT_ONCE = 500;

/** The workspaces of many organizations, each found by the host that a request was sent to. */
export async function startHosted(
  options: DeploymentOptions & { readonly hosted: HostedSettings },
): Promise<Serving> {
  const { shared, hosted, settings, teardown, tls } = options;
  const { storage, isShared, keyRing, clock, ids, logger } = shared;
  const { http, dial, node, facts, metrics } = options;
  const audits = createAudits({ storage, clock, ids, logger });
  teardown.add('audits', audits.stop);
  const parts = { storage, keyRing, http, clock, ids, logger, isShared };
  const identity = await createHostedIdentity({ ...parts, audits, hosted, settings });
  teardown.add('identity', identity.stop);
  identity.keys.start();
  teardown.add('sessions', sweepSessions(identity.sessions, { clock, logger }));
  const sweep = createSweep({
    workspaces: () => keysOfOrganizations(storage),
    kinds: ['audit'],
    ...{ storage, clock, logger: logger.child({ component: 'retention' }) },
    keeping: () => keepingOf(settings().retention),
    removed: () => {},
  });
  teardown.add('retention', () => sweep.stop());
  sweep.start();
  const access = createWorkspaceAccess({
    tenants: createTenantIdentity({
      ...{ storage, feed: identity.feed, keys: identity.keys.tokenKeys, clock, ids },
      settings: hosted,
    }),
    sessions: identity.authenticate,
    directory: createTenantDirectory(identity.feed, storage),
  });
  const { delivery, instance } = settings();

  async function start(workspace: string): Promise<RunningWorkspace> {
    const ends = createTeardown(logger);
    // Snapshots, beats and logs of one are none of another's.
    const dataFolder = join(shared.dataFolder, 'workspaces', workspace);
    await mkdir(dataFolder, { recursive: true, mode: 0o700 });
    const externalUrl = tenantUrlOf(workspace, hosted, instance.externalUrl);
    const tenant = {
      delivery: { ...delivery, privateAddresses: 'refuse' as const },
      externalUrl,
      quotas: hosted.quotas,
    };
    const held = await holdDocument(shared, { workspace, tenant });
    const told = metrics.within({ ...parseLabel(workspace) });
    ends.add('metrics', async () => told.end());
    ends.add('configuration', held.configuration.stop);
    ends.add('audit', held.audit.stop);
    try {
      const loaded = held.configuration.load();
      if (!loaded.ok) throw new ConfigurationInvalid(loaded.problems);
      const expiring = await openCredentialEnds({ storage, workspace, clock, logger });
      ends.add('credentials', expiring.stop);
      const running = await startWorkspace(
        { ...shared, dataFolder, logger: logger.child({ workspace }) },
        {
          ...{ held, node, http, dial, meters: createMeters(told, clock) },
          facts: now => [...facts(now), ...expiring.facts()],
          authenticate: access.in(workspace),
          quotas: hosted.quotas,
          common: { users: identity.users, keys: identity.keys },
        },
      );
      ends.add('workspace', running.stop);
      running.follow();
      describeConfiguration(told, running.tenant.house);
      describeWorkspace(told, running.tenant.house);
      return { ...running, stop: ends.run };
    } catch (error) {
      await ends.run();
      throw error;
    }
  }

  const tenants = createTenants({
    names: async () =>
      (await storage.organizations.allWorkspaces())
        .filter(({ state }) => state === 'Active')
        .map(({ id, organization }) => labelOf({ workspace: id, organization })),
    start,
    subscribe: listener =>
      storage.subscribe(({ noun }) => {
        if (noun === 'organizations') listener();
      }),
    clock,
    logger: logger.child({ component: 'tenants' }),
  });
  teardown.add('workspaces', tenants.stop);
  await tenants.start();

  function labelIn(host: string): string {
    const tenant = hostOf(host, hosted.cloudDomain);
    if (tenant === undefined) throw new AppError('not-found', `There is no workspace at the host '${host}'`);
    return labelOf(tenant);
  }

  function isMisdirected(serverName: string, host: string): boolean {
    const [meant, asked] = [hostOf(serverName, hosted.cloudDomain), hostOf(host, hosted.cloudDomain)];
    return meant !== undefined && asked !== undefined && labelOf(meant) !== labelOf(asked);
  }

  function tenantAt(host: string): Tenant {
    const label = labelIn(host);
    const running = tenants.find(label);
    if (running === undefined) throw notFound('workspace', label);
    return running.tenant;
  }

  return {
    identity,
    signInOf: ({ host }) =>
      signInTo(identity, { workspace: labelIn(host), house: tenantAt(host).house, options }),
    tenantOf: ({ host }) => tenantAt(host),
    isToTenant: ({ host }) => hostOf(host, hosted.cloudDomain) !== undefined,
    isHosted: true,
    isMisdirected,
    generatedPassword: undefined,
    assertMayBecome: async () => {},
    follow() {},
    async listening(port) {
      // A file cannot be shared with the login service in a process of its own.
      if (isShared) return;
      const { api } = settings();
      const login = await startLoginService({
        ...{ storage, keyRing, identity, tls, hosted, clock, ids, logger },
        externalUrl: instance.externalUrl,
        api: () => settings().api,
        ...{ host: api.host, port: port + 1 },
      });
      teardown.add('login service', login.stop);
      logger.info({ url: login.url }, 'the login service listens');
    },
    checkSettings: async () => {
      // Nobody signs in here while the login service is a process of its own.
      if (!isShared) await identity.checkSettings();
    },
  };
}

/** Where what is done to organizations as a whole is noted, and what concerns none. */
async function keysOfOrganizations({ organizations }: Pick<Storage, 'organizations'>): Promise<string[]> {
  const keys = [organizationKey(undefined)];
  for (let offset = 0; ; offset += ORGANIZATIONS_AT_ONCE) {
    const { rows } = await organizations.list({ offset, limit: ORGANIZATIONS_AT_ONCE });
    keys.push(...rows.map(({ id }) => organizationKey(id)));
    if (rows.length < ORGANIZATIONS_AT_ONCE) return keys;
  }
}

/** The page of a workspace knows no passwords: whoever signs in has done so at the login service. */
function signInTo(
  identity: Identity,
  {
    workspace,
    house,
    options,
  }: {
    readonly workspace: string;
    readonly house: Tenant['house'];
    readonly options: DeploymentOptions & { readonly hosted: HostedSettings };
  },
) {
  const { storage, keyRing, clock } = options.shared;
  const { sessions, localLogin } = identity;
  return {
    sessions,
    localLogin: { ...localLogin, state: async () => 'off' as const },
    signIn: async () => {
      throw new AppError('local-login-disabled', 'Sign in at the login service');
    },
    sso: createHandOver({
      ...{ storage, sessions, keyRing, clock, workspace, audit: house.audit },
      authUrl: () => options.hosted.authUrl,
    }),
  };
}
