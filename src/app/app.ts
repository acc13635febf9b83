import { resolve } from 'node:path';
import { describeConfiguration } from '../api/metrics/installation.ts';
import { createServer } from '../api/server.ts';
import { openPepper } from '../auth/tokens/issued-secrets.ts';
import type { GeneratedPassword } from '../auth/users/first-admin.ts';
import { createCheckThread } from '../config/check-thread.ts';
import type { Configuration } from '../config/configuration.ts';
import type { ConfigurationHolder } from '../config/holder.ts';
import { type LoadResult, loadConfiguration } from '../config/load.ts';
import type { Sources } from '../config/read/configuration.ts';
import type { Settings } from '../config/settings.ts';
import { writeFirstFiles } from '../config/write/first-start.ts';
import type { Clock } from '../lib/clock.ts';
import { createHttpForward } from '../lib/http/forward.ts';
import { proxiesFrom } from '../lib/http/proxy.ts';
import type { MonotonicIds } from '../lib/ids.ts';
import { openKeyRing } from '../lib/keyring.ts';
import type { Logger } from '../lib/logger.ts';
import { createMetrics, type ProcessMetrics } from '../lib/metrics.ts';
import { createObservedClock } from '../lib/observed-clock.ts';
import { Secret } from '../lib/secret.ts';
import { VERSION } from '../lib/version.ts';
import { createBacktests } from '../notifications/backtest/backtests.ts';
import { openStorage } from '../storage/open.ts';
import { ConfigurationInvalid } from './configuration-invalid.ts';
import { DEFAULT_WORKSPACE } from './default-workspace.ts';
import type { DeploymentOptions, Serving } from './deployments/deployment.ts';
import { startHosted } from './deployments/hosted.ts';
import { startSelfManaged } from './deployments/self-managed.ts';
import { seenCertificates, serverCertificate } from './expiries.ts';
import { continueIds } from './leader/takeover.ts';
import { announceNode, closeServer, listen, nodeUrlOf } from './listen.ts';
import { createBatchMeter, meteredStorage } from './meters.ts';
import { type InstallationOutgoing, installationOutgoing } from './outgoing.ts';
import { createTeardown, type Teardown } from './teardown.ts';
import { startTls, type Tls } from './tls.ts';
import { openFileConfiguration, type SharedServices } from './workspace-configuration.ts';

export interface AppOptions {
  readonly configFolder: string;
  readonly dataFolder: string;
  /** Flags of the command line, by path of the setting they stand for. */
  readonly flags: Readonly<Record<string, string>>;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly clock: Clock;
  readonly ids: MonotonicIds;
  readonly random: () => number;
  readonly logger: Logger;
}

export interface App {
  /** `http://host:port`, the real port; `https` with `api.tls`. */
  readonly url: string;
  /** The first admin's password, when this start generated it. */
  readonly generatedPassword: GeneratedPassword | undefined;
  /** Reads the configuration files again. */
  readonly reload: () => Promise<void>;
  /** Stops in the reverse order of the start, within seconds; a second call waits for the first. */
  readonly stop: () => Promise<void>;
}

/**
 * Builds and starts everything: each part is torn down in reverse, also when a later one fails. Throws
 * `ConfigurationInvalid` with every problem of the files, or an `AppError` that names the obstacle.
 */
export async function startApp(options: AppOptions): Promise<App> {
  const teardown = createTeardown(options.logger);
  try {
    return await startParts({ ...options, teardown, metrics: createMetrics() });
  } catch (error) {
    await teardown.run();
    throw error;
  }
}

interface PartsOptions extends AppOptions {
  readonly teardown: Teardown;
  readonly metrics: ProcessMetrics;
}

async function startParts(options: PartsOptions): Promise<App> {
  const { clock, ids, metrics, teardown } = options;
  const sources = await firstSources(options);
  const atStart = loadConfiguration(sources, clock);
  if (!atStart.ok)
    options.logger.error({ count: atStart.problems.length }, 'configuration refused, nothing started');
  const { settings: settingsAtStart } = assertValid(atStart);
  const shared = await openShared(options, settingsAtStart);
  let deployment: Serving | undefined;
  const workspaceConfiguration = await openFileConfiguration(shared, {
    workspace: DEFAULT_WORKSPACE,
    sources,
    assertMayBecome: async (next, now) => deployment?.assertMayBecome(next, now),
  });
  const { configuration, audit } = workspaceConfiguration;
  teardown.add('configuration', configuration.stop);
  assertValid(configuration.load());
  const settings = () => configuration.get().settings;
  describeConfiguration(metrics, {
    configuration: configuration.get,
    configurationStatus: configuration.status,
  });
  const outgoing = openOutgoing(options, settings());
  teardown.add('audit', audit.stop);
  const { folder } = sources;
  const tls = startTls({ ...options, folder, settings: () => settings().api.tls });
  if (tls !== undefined) teardown.add('certificate', tls.stop);
  const node = ids.next();
  const parts: DeploymentOptions = {
    ...{ shared, tls, node, outgoing, audit, metrics, settings, teardown },
    expiriesBy: certificateEnd => now => [
      ...serverCertificate(tls),
      ...seenCertificates(now, certificateEnd),
    ],
    firstPassword: firstPassword(options),
  };
  const { hosted } = settings();
  const running =
    hosted === undefined
      ? await startSelfManaged({ ...parts, workspaceConfiguration })
      : await startHosted({ ...parts, hosted });
  deployment = running;
  return serve(parts, { running, tls, configuration });
}

/** Opens the store, and what its values are encrypted with. */
async function openShared(
  { clock, ids, random, logger, metrics, teardown, ...options }: PartsOptions,
  { storage: settings }: Settings,
): Promise<SharedServices> {
  const dataFolder = resolve(options.dataFolder);
  const { url } = settings;
  const onBatch = createBatchMeter(metrics);
  const opened = await openStorage({ url, dataFolder, logger, clock, onBatch });
  const storage = meteredStorage(opened, metrics, clock);
  teardown.add('storage', () => storage.close());
  await continueIds(ids, storage.in(DEFAULT_WORKSPACE));
  const keyRing = await openKeyRing({
    path: resolve(dataFolder, settings.keyRing),
    mayCreate: !(await storage.hasSealedValues()),
  });
  const pepper = await openPepper({ storage, keyRing });
  const isShared = typeof url !== 'string';
  const thread = createCheckThread(clock);
  teardown.add('check thread', thread.stop);
  const backtests = createBacktests({
    ...{ clock, dataFolder },
    storage: typeof url === 'string' ? url : url.reveal(),
  });
  teardown.add('backtests', () => backtests.stop());
  const observedClock = createObservedClock({ clock, logger });
  teardown.add('observed clock', () => observedClock.stop());
  return {
    ...{ storage, isShared, thread, backtests, keyRing, pepper, dataFolder },
    ...{ clock, observedClock, ids, random, logger },
  };
}

/** Opens the ways out of the installation. */
function openOutgoing(
  { environment, clock, logger, teardown }: PartsOptions,
  { delivery }: Settings,
): InstallationOutgoing {
  const proxies = proxiesFrom(environment);
  if (Object.keys(proxies.configured).length > 0)
    logger.info({ proxies: proxies.configured }, 'targets are sent to through a proxy');
  const outgoing = installationOutgoing({ delivery, proxies, clock });
  teardown.add('outgoing connections', outgoing.close);
  return outgoing;
}

interface ServedParts {
  readonly running: Serving;
  readonly tls: Tls | undefined;
  readonly configuration: ConfigurationHolder;
}

/** Opens the API, and from then on follows changes of the settings. */
async function serve(parts: DeploymentOptions, { running, tls, configuration }: ServedParts): Promise<App> {
  const { shared, node, metrics, settings, teardown } = parts;
  const { clock, ids, logger } = shared;
  let isStopping = false;
  const startTime = clock.now();
  const forward = createHttpForward(() => tls?.identity());
  teardown.add('forwarding', forward.close);
  const server = await createServer({
    ...running,
    forwarding: { node, http: forward },
    settings,
    createListener: tls?.create,
    externalUrl: () => settings().instance.externalUrl,
    metrics,
    clock,
    health: () => ({ status: isStopping ? 'shutting down' : 'healthy', startTime }),
    ids,
    logger: logger.child({ component: 'api' }),
  });
  teardown.add('api', () => closeServer(server, clock));
  const { host, port } = settings().api;
  const url = await listen(server, { host, port, isEncrypted: tls !== undefined });
  if (shared.isShared) teardown.add('node', announceNode(nodeRow(parts, { url, startTime }), shared));
  await running.listening?.(Number(new URL(url).port));
  running.follow();
  teardown.add(
    'changed settings',
    configuration.subscribe(() => {
      tls?.reload();
      void running.checkSettings();
    }),
  );
  void running.checkSettings();
  return {
    url,
    generatedPassword: running.generatedPassword,
    async reload() {
      if (!isStopping) await configuration.reload();
    },
    stop() {
      isStopping = true;
      return teardown.run();
    },
  };
}

const nodeRow = (
  { node, settings }: DeploymentOptions,
  { url, startTime }: { readonly url: string; readonly startTime: number },
) => ({
  id: node,
  url: settings().instance.nodeUrl ?? nodeUrlOf(url),
  version: VERSION,
  started_at: startTime,
});

/** Read before the store is open: they say where the store is, and files with errors leave no trace. */
async function firstSources({ configFolder, environment, flags }: AppOptions): Promise<Sources> {
  const folder = resolve(configFolder);
  await writeFirstFiles(folder, { environment, flags });
  return { folder, environment, flags };
}

function assertValid(loaded: LoadResult): Configuration {
  if (!loaded.ok) throw new ConfigurationInvalid(loaded.problems);
  return loaded.configuration;
}

function firstPassword({ environment }: AppOptions): Secret | undefined {
  const password = environment.HEADGATE_ADMIN_PASSWORD;
  return password === undefined ? undefined : new Secret(password);
}
