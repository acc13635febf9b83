import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { describeConfiguration } from '../../api/metrics/installation.ts';
import { describeWorkspace } from '../../api/metrics/workspace.ts';
import type { ServedWorkspace } from '../../api/served-workspace.ts';
import { createOrganizationAudits } from '../../auth/audit.ts';
import type { Identity } from '../../auth/identity.ts';
import { createTenantDirectory } from '../../auth/organizations/directory.ts';
import { createTenantIdentity, createWorkspaceAccess } from '../../auth/organizations/workspace-access.ts';
import { createLoginServiceSignOn } from '../../auth/sso/login-service-sign-on.ts';
import { labelOf, organizationKey, parseLabel, parseTenantHost } from '../../auth/tenant-name.ts';
import type { HostedSettings } from '../../config/settings.ts';
import { AppError, notFound } from '../../lib/errors.ts';
import type { Storage } from '../../storage/storage.ts';
import { ConfigurationInvalid } from '../configuration-invalid.ts';
import { openCredentialExpiry } from '../expiry-facts.ts';
import { createMeters } from '../meters.ts';
import { createRetentionSweep, retentionOf, sweepSessions } from '../sweeps.ts';
import { createTeardown } from '../teardown.ts';
import { type RunningWorkspace, startWorkspace } from '../workspace.ts';
import { openDocumentConfiguration } from '../workspace-configuration.ts';
import type { DeploymentOptions, Serving } from './deployment.ts';
import { createHostedIdentity } from './identity.ts';
import { startLoginService } from './login-service.ts';
import { createRunningWorkspaces } from './running-workspaces.ts';
import { tenantUrlOf } from './user-routes.ts';

const ORGANIZATIONS_AT_ONCE = 500;

/** The workspaces of many organizations, each found by the host that a request was sent to. */
export async function startHosted(
  options: DeploymentOptions & { readonly hosted: HostedSettings },
): Promise<Serving> {
  const { shared, hosted, settings, teardown, tls } = options;
  const { storage, isShared, keyRing, clock, ids, logger } = shared;
  const { http, dial, node, facts, metrics } = options;
  const audits = createOrganizationAudits({ storage, clock, ids, logger });
  teardown.add('audits', audits.stop);
  const parts = { storage, keyRing, http, clock, ids, logger, isShared };
  const identity = await createHostedIdentity({ ...parts, audits, hosted, settings });
  teardown.add('identity', identity.stop);
  identity.keys.start();
  teardown.add('sessions', sweepSessions(identity.sessions, { clock, logger }));
  const sweep = createRetentionSweep({
    workspaces: () => keysOfOrganizations(storage),
    kinds: ['audit'],
    ...{ storage, clock, logger: logger.child({ component: 'retention' }) },
    retention: () => retentionOf(settings().retention),
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
    const teardownOne = createTeardown(logger);
    // Snapshots, beats and logs of one are none of another's.
    const dataFolder = join(shared.dataFolder, 'workspaces', workspace);
    await mkdir(dataFolder, { recursive: true, mode: 0o700 });
    const externalUrl = tenantUrlOf(workspace, hosted, instance.externalUrl);
    const tenant = {
      delivery: { ...delivery, privateAddresses: 'refuse' as const },
      externalUrl,
      quotas: hosted.quotas,
    };
    const workspaceConfiguration = await openDocumentConfiguration(shared, { workspace, tenant });
    const workspaceMetrics = metrics.withLabels({ ...parseLabel(workspace) });
    teardownOne.add('metrics', async () => workspaceMetrics.end());
    teardownOne.add('configuration', workspaceConfiguration.configuration.stop);
    teardownOne.add('audit', workspaceConfiguration.audit.stop);
    try {
      const loaded = workspaceConfiguration.configuration.load();
      if (!loaded.ok) throw new ConfigurationInvalid(loaded.problems);
      const credentialExpiry = await openCredentialExpiry({ storage, workspace, clock, logger });
      teardownOne.add('credentials', credentialExpiry.stop);
      const running = await startWorkspace(
        { ...shared, dataFolder, logger: logger.child({ workspace }) },
        {
          ...{ workspaceConfiguration, node, http, dial, meters: createMeters(workspaceMetrics, clock) },
          facts: now => [...facts(now), ...credentialExpiry.facts()],
          authenticate: access.authenticateIn(workspace),
          quotas: hosted.quotas,
          common: { users: identity.users, keys: identity.keys },
        },
      );
      teardownOne.add('workspace', running.stop);
      running.follow();
      describeConfiguration(workspaceMetrics, running.served.context);
      describeWorkspace(workspaceMetrics, running.served.context);
      return { ...running, stop: teardownOne.run };
    } catch (error) {
      await teardownOne.run();
      throw error;
    }
  }

  const tenants = createRunningWorkspaces({
    names: async () =>
      (await storage.organizations.allWorkspaces())
        .filter(({ state }) => state === 'Active')
        .map(({ id, organization }) => labelOf({ workspace: id, organization })),
    start,
    subscribe: listener =>
      storage.subscribe(({ resource: noun }) => {
        if (noun === 'organizations') listener();
      }),
    clock,
    logger: logger.child({ component: 'tenants' }),
  });
  teardown.add('workspaces', tenants.stop);
  await tenants.start();

  function labelOfHost(host: string): string {
    const tenant = parseTenantHost(host, hosted.cloudDomain);
    if (tenant === undefined) throw new AppError('not-found', `There is no workspace at the host '${host}'`);
    return labelOf(tenant);
  }

  function isMisdirected(serverName: string, host: string): boolean {
    const [meant, asked] = [
      parseTenantHost(serverName, hosted.cloudDomain),
      parseTenantHost(host, hosted.cloudDomain),
    ];
    return meant !== undefined && asked !== undefined && labelOf(meant) !== labelOf(asked);
  }

  function workspaceAt(host: string): ServedWorkspace {
    const label = labelOfHost(host);
    const running = tenants.find(label);
    if (running === undefined) throw notFound('workspace', label);
    return running.served;
  }

  return {
    identity,
    signInOf: ({ host }) =>
      signInTo(identity, { workspace: labelOfHost(host), house: workspaceAt(host).context, options }),
    tenantOf: ({ host }) => workspaceAt(host),
    isWorkspaceHost: ({ host }) => parseTenantHost(host, hosted.cloudDomain) !== undefined,
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
    readonly house: ServedWorkspace['context'];
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
    sso: createLoginServiceSignOn({
      ...{ storage, sessions, keyRing, clock, workspace, audit: house.audit },
      authUrl: () => options.hosted.authUrl,
    }),
  };
}
