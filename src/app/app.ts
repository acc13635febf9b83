import { resolve } from 'node:path';
import { describeConfiguration } from '../api/metrics/installation.ts';
import { createServer } from '../api/server.ts';
import { openPepper } from '../auth/tokens/issued-secrets.ts';
import type { GeneratedPassword } from '../auth/users/first-admin.ts';
import type { Configuration } from '../config/configuration.ts';
import { type LoadResult, loadConfiguration } from '../config/load.ts';
import type { Sources } from '../config/read/configuration.ts';
import { writeFirstFiles } from '../config/write/first-start.ts';
import type { Clock } from '../lib/clock.ts';
import { createDial } from '../lib/dial.ts';
import { createHttpClient } from '../lib/http/client.ts';
import { createHttpForward } from '../lib/http/forward.ts';
import { proxiesFrom } from '../lib/http/proxy.ts';
import type { MonotonicIds } from '../lib/ids.ts';
import { openKeyRing } from '../lib/keyring.ts';
import type { Logger } from '../lib/logger.ts';
import { createLru } from '../lib/lru.ts';
import { createMetrics } from '../lib/metrics.ts';
import { Secret } from '../lib/secret.ts';
import { VERSION } from '../lib/version.ts';
import { openStorage } from '../storage/open.ts';
import { ConfigurationInvalid } from './configuration-invalid.ts';
import { DEFAULT_WORKSPACE } from './default-workspace.ts';
import type { DeploymentOptions, Serving } from './deployments/deployment.ts';
import { startHosted } from './deployments/hosted.ts';
import { startSelfManaged } from './deployments/self-managed.ts';
import { seenCertificates, serverCertificate } from './expiry-facts.ts';
import { continueIds } from './leader/takeover.ts';
import { announceNode, closeServer, listen, nodeUrlOf } from './listen.ts';
import { createBatchMeter, meteredStorage } from './meters.ts';
import { createTeardown } from './teardown.ts';
import { startTls } from './tls.ts';
import { openFileConfiguration } from './workspace-configuration.ts';

/** Of so many receivers it is remembered until when their certificates hold. */
const MOST_CERTIFICATES = 10_000;

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
  /** The first admin's password, when this start had to invent one. */
  readonly generatedPassword: GeneratedPassword | undefined;
  /** Reads the configuration files again. */
  reload(): Promise<void>;
  /** Stops in the reverse order of the start, within seconds; a second call waits for the first. */
  stop(): Promise<void>;
}

/**
 * Builds and starts everything, in one straight line: each part is torn down in reverse, also when a later one fails.
 * Throws `ConfigurationInvalid` with every problem of the files, or an `AppError` that names what stands in the way.
 */
export async function startApp(options: AppOptions): Promise<App> {
  const { clock, ids, logger, random } = options;
  const dataFolder = resolve(options.dataFolder);
  const teardown = createTeardown(logger);
  try {
    const sources = await firstSources(options);
    const atStart = loadConfiguration(sources, clock);
    if (!atStart.ok)
      logger.error({ count: atStart.problems.length }, 'configuration refused, nothing started');
    const { storage: storageSettings, delivery } = assertValid(atStart).settings;
    const metrics = createMetrics();
    const { url } = storageSettings;
    const isShared = typeof url !== 'string';
    const batched = createBatchMeter(metrics);
    const opened = await openStorage({ url, dataFolder, logger, clock, onBatch: batched });
    const storage = meteredStorage(opened, metrics, clock);
    teardown.add('storage', () => storage.close());
    await continueIds(ids, storage.in(DEFAULT_WORKSPACE));
    const keyRing = await openKeyRing({
      path: resolve(dataFolder, storageSettings.keyRing),
      mayCreate: !(await storage.hasSealedValues()),
    });
    const pepper = await openPepper({ storage, keyRing });
    const shared = { storage, isShared, keyRing, pepper, dataFolder, clock, ids, random, logger };
    let serving: Serving | undefined;
    const workspaceConfiguration = await openFileConfiguration(shared, {
      workspace: DEFAULT_WORKSPACE,
      sources,
      assertMayBecome: async (next, now) => serving?.assertMayBecome(next, now),
    });
    const { configuration, audit } = workspaceConfiguration;
    teardown.add('configuration', configuration.stop);
    assertValid(configuration.load());
    const settings = () => configuration.get().settings;
    describeConfiguration(metrics, {
      configuration: configuration.get,
      configurationStatus: configuration.status,
    });
    const certificates = createLru<string, number>(MOST_CERTIFICATES);
    const proxies = proxiesFrom(options.environment);
    if (Object.keys(proxies.configured).length > 0)
      logger.info({ proxies: proxies.configured }, 'targets are sent to through a proxy');
    const http = createHttpClient({
      ...delivery,
      clock,
      proxies,
      onCertificate: (origin, notAfter) => void certificates.set(origin, notAfter),
    });
    const dial = createDial(delivery);
    teardown.add('http', () => http.close());
    teardown.add('audit', audit.stop);
    const tls = startTls({
      folder: sources.folder,
      settings: () => settings().api.tls,
      clock,
      logger,
      metrics,
    });
    if (tls !== undefined) teardown.add('certificate', tls.stop);
    const forward = createHttpForward(() => tls?.identity());
    teardown.add('forwarding', forward.close);
    const node = ids.next();
    const parts: DeploymentOptions = {
      ...{ shared, tls, node, http, dial, audit, metrics, settings, teardown },
      facts: now => [...serverCertificate(tls), ...seenCertificates(now, certificates.get)],
      firstPassword: firstPassword(options),
    };
    const { hosted } = settings();
    const running =
      hosted === undefined
        ? await startSelfManaged({ ...parts, workspaceConfiguration })
        : await startHosted({ ...parts, hosted });
    serving = running;
    let stopping = false;
    const startTime = clock.now();
    const server = await createServer({
      ...running,
      forwarding: { node, http: forward },
      settings,
      createListener: tls?.create,
      externalUrl: () => settings().instance.externalUrl,
      metrics,
      clock,
      health: () => ({ status: stopping ? 'shutting down' : 'healthy', startTime }),
      ids,
      logger: logger.child({ component: 'api' }),
    });
    teardown.add('api', () => closeServer(server, clock));
    const { host, port } = settings().api;
    const listening = await listen(server, { host, port, isEncrypted: tls !== undefined });
    if (isShared) {
      const url = settings().instance.nodeUrl ?? nodeUrlOf(listening);
      const row = { id: node, url, version: VERSION, started_at: startTime };
      teardown.add('node', announceNode(row, { storage, clock, logger }));
    }
    await running.listening?.(Number(new URL(listening).port));
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
      url: listening,
      generatedPassword: running.generatedPassword,
      async reload() {
        if (!stopping) await configuration.reload();
      },
      stop() {
        stopping = true;
        return teardown.run();
      },
    };
  } catch (error) {
    await teardown.run();
    throw error;
  }
}

/** What is read before the store is open: where the store is stands in it, and files with errors leave no trace. */
async function firstSources({ configFolder, environment, flags }: AppOptions): Promise<Sources> {
  const folder = resolve(configFolder);
  await writeFirstFiles(folder);
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
