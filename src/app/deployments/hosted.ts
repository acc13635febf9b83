import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { describeConfiguration } from '../../api/metrics/installation.ts';
import { describeWorkspace } from '../../api/metrics/workspace.ts';
import type { ServedWorkspace } from '../../api/served-workspace.ts';
import { createOrganizationAudits } from '../../auth/audit.ts';
import type { Identity } from '../../auth/identity.ts';
import { createTenantDirectory } from '../../auth/organizations/directory.ts';
import {
  createTenantIdentity,
  createWorkspaceAccess,
  type WorkspaceAccess,
} from '../../auth/organizations/workspace-access.ts';
import { createLoginServiceSignOn } from '../../auth/sso/login-service-sign-on.ts';
import { labelOf, organizationKey, parseLabel, parseTenantHost } from '../../auth/tenant-name.ts';
import { workspacePolicy } from '../../config/restrictions.ts';
import type { HostedSettings, Settings } from '../../config/settings.ts';
import { AppError, notFound } from '../../lib/errors.ts';
import type { Storage } from '../../storage/storage.ts';
import { ConfigurationInvalid } from '../configuration-invalid.ts';
import { openCredentialExpiry } from '../expiries.ts';
import { createMeters } from '../meters.ts';
import { workspaceOutgoing } from '../outgoing.ts';
import { createRetentionSweep, createWorkspaceRemoval, retentionOf, sweepSessions } from '../sweeps.ts';
import { createTeardown } from '../teardown.ts';
import { leaderLeaseOf, type RunningWorkspace, startWorkspace } from '../workspace.ts';
import { openDocumentConfiguration } from '../workspace-configuration.ts';
import type { DeploymentOptions, Serving } from './deployment.ts';
import { createHostedIdentity } from './identity.ts';
import { type LoginService, startLoginService } from './login-service.ts';
import { createRunningWorkspaces, type RunningWorkspaces } from './running-workspaces.ts';
import { tenantUrlOf } from './user-routes.ts';

const ORGANIZATIONS_AT_ONCE = 500;

interface HostedOptions extends DeploymentOptions {
  readonly hosted: HostedSettings;
}

/** Identifies the callers of all workspaces. */
interface HostedAccess {
  readonly identity: Identity;
  readonly access: WorkspaceAccess;
}

interface TenantOptions extends HostedOptions, HostedAccess {
  /** Later changes count after a restart, also for workspaces that are new. */
  readonly settingsAtStart: Settings;
  /** True for a port that this process listens on. */
  readonly isOwnPort: (port: number) => boolean;
}

/** The workspaces of many organizations, each found by the host that a request was sent to. */
export async function startHosted(options: HostedOptions): Promise<Serving> {
  const { shared, hosted, teardown } = options;
  const { identity, access } = await startAccess(options);
  const settingsAtStart = options.settings();
  const ownPorts = new Set(ownPortsOf(settingsAtStart.api.port, options.shared));
  const isOwnPort = (port: number): boolean => ownPorts.has(port);
  const workspaces = await startWorkspaces({ ...options, identity, access, settingsAtStart, isOwnPort });

  const labelAt = (host: string): string | undefined => {
    const tenant = parseTenantHost(host, hosted.cloudDomain);
    return tenant && labelOf(tenant);
  };

  function workspaceAt(host: string): ServedWorkspace {
    const label = labelAt(host);
    if (label === undefined) throw new AppError('not-found', `There is no workspace at the host '${host}'`);
    const running = workspaces.find(label);
    if (running === undefined) throw notFound('workspace', label);
    return running.served;
  }

  return {
    identity,
    signInOf: ({ host }) => {
      const { context } = workspaceAt(host);
      return signInTo(identity, { workspace: labelAt(host) ?? '', context, options });
    },
    tenantOf: ({ host }) => workspaceAt(host),
    isWorkspaceHost: ({ host }) => labelAt(host) !== undefined,
    isHosted: true,
    isMisdirected(serverName, host) {
      const [meant, requested] = [labelAt(serverName), labelAt(host)];
      return meant !== undefined && requested !== undefined && meant !== requested;
    },
    generatedPassword: undefined,
    assertMayBecome: async () => {},
    follow() {},
    async listening(port) {
      for (const own of ownPortsOf(port, shared)) ownPorts.add(own);
      // The login service in a process of its own cannot share a file.
      if (shared.isShared) return;
      const login = await startLoginServiceBeside(options, identity, port + 1);
      teardown.add('login service', login.stop);
      shared.logger.info({ url: login.url }, 'the login service listens');
    },
    checkSettings: async () => {
      // Nobody signs in here while the login service is a process of its own.
      if (!shared.isShared) await identity.checkSettings();
    },
  };
}

/** Of the API, and of the login service where it runs beside it. */
function ownPortsOf(port: number, { isShared }: DeploymentOptions['shared']): number[] {
  if (port === 0) return [];
  return isShared ? [port] : [port, port + 1];
}

async function startAccess({
  shared,
  hosted,
  settings,
  teardown,
  outgoing: { http },
}: HostedOptions): Promise<HostedAccess> {
  const { storage, isShared, keyRing, clock, ids, logger } = shared;
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
    authUrl: hosted.authUrl,
  });
  return { identity, access };
}

async function startWorkspaces(options: TenantOptions): Promise<RunningWorkspaces> {
  const { storage, clock, logger } = options.shared;
  const workspaces = createRunningWorkspaces({
    names: async () =>
      (await storage.organizations.allWorkspaces())
        .filter(({ state }) => state === 'Active')
        .map(({ id, organization }) => labelOf({ workspace: id, organization })),
    start: label => startTenant(label, options),
    subscribe: listener =>
      storage.subscribe(({ resource }) => {
        if (resource === 'organizations') listener();
      }),
    clock,
    logger: logger.child({ component: 'workspaces' }),
  });
  const removal = createWorkspaceRemoval({
    ...{ storage, clock, logger: logger.child({ component: 'workspaces' }) },
    keyOf: ({ id, organization }) => labelOf({ workspace: id, organization }),
    leaseOf: leaderLeaseOf,
    owner: `removal by ${options.node}`,
    removeFiles: label => rm(folderOf(options.shared.dataFolder, label), { recursive: true, force: true }),
  });
  options.teardown.add('removal of workspaces', removal.stop);
  removal.start();
  options.teardown.add('workspaces', workspaces.stop);
  await workspaces.start();
  return workspaces;
}

/** Where a process keeps the files of a workspace. */
const folderOf = (dataFolder: string, label: string): string => join(dataFolder, 'workspaces', label);

async function startTenant(
  workspace: string,
  { shared, hosted, settingsAtStart, identity, access, ...options }: TenantOptions,
): Promise<RunningWorkspace> {
  const { node, expiriesBy, metrics } = options;
  const { storage, clock, logger } = shared;
  const { delivery, instance } = settingsAtStart;
  const teardown = createTeardown(logger);
  // Snapshots, heartbeats and logs are not shared between workspaces.
  const dataFolder = folderOf(shared.dataFolder, workspace);
  await mkdir(dataFolder, { recursive: true, mode: 0o700 });
  const externalUrl = tenantUrlOf(workspace, hosted, instance.externalUrl);
  const policy = workspacePolicy(delivery);
  const tenant = { delivery: policy, externalUrl, quotas: hosted.quotas };
  const { isOwnPort } = options;
  const outgoing = workspaceOutgoing({
    policy: { ...policy, isOwnPort },
    ...{ egressProxy: hosted.egressProxy, externalUrl, clock },
    mostLogFolders: hosted.quotas.logFolders,
  });
  teardown.add('outgoing connections', outgoing.close);
  const workspaceConfiguration = await openDocumentConfiguration(shared, { workspace, tenant });
  const { configuration, audit } = workspaceConfiguration;
  const workspaceMetrics = metrics.withLabels({ ...parseLabel(workspace) });
  teardown.add('metrics', async () => workspaceMetrics.end());
  teardown.add('configuration', configuration.stop);
  teardown.add('audit', audit.stop);
  try {
    const loaded = configuration.load();
    if (!loaded.ok) throw new ConfigurationInvalid(loaded.problems);
    const credentials = await openCredentialExpiry({ storage, workspace, clock, logger });
    teardown.add('credentials', credentials.stop);
    const running = await startWorkspace(
      { ...shared, dataFolder, logger: logger.child({ workspace }) },
      {
        ...{ workspaceConfiguration, node, outgoing, meters: createMeters(workspaceMetrics, clock) },
        expiries: now => [...expiriesBy(outgoing.certificateEnd)(now), ...credentials.expiries()],
        authenticate: access.authenticateIn(workspace),
        quotas: hosted.quotas,
        common: { users: identity.users, keys: identity.keys },
      },
    );
    teardown.add('workspace', () => running.stop());
    running.follow();
    describeConfiguration(workspaceMetrics, running.served.context);
    describeWorkspace(workspaceMetrics, running.served.context);
    return { served: running.served, follow: () => running.follow(), stop: teardown.run };
  } catch (error) {
    await teardown.run();
    throw error;
  }
}

function startLoginServiceBeside(
  { shared, settings, tls, hosted }: HostedOptions,
  identity: Identity,
  port: number,
): Promise<LoginService> {
  const { storage, keyRing, clock, ids, logger } = shared;
  const { api, instance } = settings();
  return startLoginService({
    ...{ storage, keyRing, identity, tls, hosted, clock, ids, logger },
    externalUrl: instance.externalUrl,
    api: () => settings().api,
    ...{ host: api.host, port },
  });
}

/** Keys of the audits of all organizations, and of the one for what concerns none. */
async function keysOfOrganizations({ organizations }: Pick<Storage, 'organizations'>): Promise<string[]> {
  const keys = [organizationKey(undefined)];
  for (let offset = 0; ; offset += ORGANIZATIONS_AT_ONCE) {
    const { rows } = await organizations.list({ offset, limit: ORGANIZATIONS_AT_ONCE });
    keys.push(...rows.map(({ id }) => organizationKey(id)));
    if (rows.length < ORGANIZATIONS_AT_ONCE) return keys;
  }
}

/** The page of a workspace knows no passwords: people sign in at the login service. */
function signInTo(
  identity: Identity,
  {
    workspace,
    context,
    options,
  }: {
    readonly workspace: string;
    readonly context: ServedWorkspace['context'];
    readonly options: HostedOptions;
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
      ...{ storage, sessions, keyRing, clock, workspace, audit: context.audit },
      authUrl: () => options.hosted.authUrl,
    }),
  };
}
