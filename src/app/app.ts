import { join, resolve } from 'node:path';
import { createServer } from '../api/server.ts';
import type { GeneratedPassword } from '../auth/first-admin.ts';
import { createIdentity } from '../auth/identity.ts';
import { checkTexts } from '../config/apart.ts';
import { createConfiguration } from '../config/current.ts';
import { writeFirstFiles } from '../config/first-start.ts';
import { type Configuration, type LoadResult, loadConfiguration, type Sources } from '../config/load.ts';
import { openSecretStore } from '../config/secret-store.ts';
import { createVersions } from '../config/versions.ts';
import { createLanes } from '../delivery/lanes.ts';
import type { Clock } from '../lib/clock.ts';
import { createHttpClient } from '../lib/http-client.ts';
import type { MonotonicIds } from '../lib/ids.ts';
import { openKeyRing } from '../lib/keyring.ts';
import type { Logger } from '../lib/logger.ts';
import { Secret } from '../lib/secret.ts';
import { createEngine } from '../notifications/engine.ts';
import { createMonitor } from '../pipelines/monitor.ts';
import { openStorage } from '../storage/open.ts';
import { continueIds } from './continue-ids.ts';
import { disabledIn } from './disabled.ts';
import { ConfigurationInvalid } from './invalid.ts';
import { hangUp, listen } from './listen.ts';
import { createSweep, keepingOf } from './sweep.ts';
import { createTeardown } from './teardown.ts';

/** The one workspace of a customer-managed installation. */
export const WORKSPACE = 'default';

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
  /** `http://host:port`, the real port. */
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
    const { storage: storageSettings, delivery } = checked(atStart).settings;
    const storage = await openStorage({ url: storageSettings.url, dataFolder, logger, clock });
    teardown.add('storage', () => storage.close());
    await continueIds(ids, storage.in(WORKSPACE));
    const keyRing = await openKeyRing({
      path: resolve(dataFolder, storageSettings.keyRing),
      mayCreate: !(await storage.holdsSealed()),
    });
    const secrets = await openSecretStore({ storage, workspace: WORKSPACE, keyRing, clock, logger });
    const configuration = createConfiguration({
      ...sources,
      secretOf: secrets.get,
      secrets,
      versions: createVersions({ storage, workspace: WORKSPACE, ids, clock, logger }),
      clock,
      logger,
    });
    teardown.add('configuration', configuration.stop);
    checked(configuration.load());
    const settings = () => configuration.get().settings;
    const identity = await createIdentity({
      storage,
      keyRing,
      clock,
      ids,
      logger,
      settings: () => settings().api,
    });
    const generatedPassword = await identity.ensureFirstAdmin({
      dataFolder,
      password: firstPassword(options),
    });
    const http = createHttpClient({ ...delivery, clock });
    teardown.add('http', () => http.close());
    const monitor = createMonitor({ http, clock, logger, dataFolder, random });
    teardown.add('pipelines', () => monitor.stop());
    const lanes = createLanes({
      workspace: WORKSPACE,
      storage,
      http,
      clock,
      random,
      logger: logger.child({ component: 'delivery' }),
      logFolder: join(dataFolder, 'log'),
      settings: () => ({
        retrySchedule: settings().delivery.retrySchedule.map(delay => delay.ms),
        instanceName: settings().instance.name,
      }),
    });
    teardown.add('delivery', () => lanes.stop());
    let isDisabled = disabledIn(configuration.get());
    const engine = createEngine({
      workspace: WORKSPACE,
      storage,
      components: monitor.components,
      clock,
      ids,
      logger: logger.child({ component: 'notifications' }),
      enqueue: lanes.enqueue,
      externalUrl: () => settings().instance.externalUrl,
      isDisabled: (kind, subject) => isDisabled(kind, subject),
    });
    teardown.add('notifications', () => engine.stop());
    monitor.pin(engine.holds);
    const sweep = createSweep({
      workspace: WORKSPACE,
      storage,
      clock,
      logger: logger.child({ component: 'retention' }),
      keeping: () => keepingOf(settings().retention),
      removed: () => {},
    });
    teardown.add('retention', () => sweep.stop());

    function apply(now: Configuration): void {
      const { settings, targets, notifications } = now;
      isDisabled = disabledIn(now);
      monitor.configure(settings.pipelines);
      lanes.configure(engine.configure(notifications, targets));
    }
    apply(configuration.get());
    await monitor.start();
    await engine.start();
    sweep.start();
    let stopping = false;
    const startTime = clock.now();
    const server = await createServer({
      house: {
        stores: storage.in(WORKSPACE),
        components: monitor.components,
        configuration: configuration.get,
        configurationStatus: configuration.status,
        save: configuration.save,
        checkTexts: texts => checkTexts(sources, texts, clock),
        secrets,
        transaction: work => storage.transaction(tx => work(tx.in(WORKSPACE))),
        clock,
      },
      identity,
      monitor,
      metricsToken: () => settings().metrics.token,
      clock,
      health: () => ({ status: stopping ? 'shutting down' : 'healthy', startTime }),
      ids,
      logger: logger.child({ component: 'api' }),
    });
    teardown.add('api', () => hangUp(server, clock));
    const url = await listen(server, settings().api);
    teardown.add('reload', configuration.subscribe(apply));
    teardown.add(
      'secrets',
      secrets.subscribe(name => void configuration.secretsChanged(name)),
    );
    configuration.watch();
    return {
      url,
      generatedPassword,
      reload: async () => void (await configuration.reload()),
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

function checked(loaded: LoadResult): Configuration {
  if (!loaded.ok) throw new ConfigurationInvalid(loaded.problems);
  return loaded.configuration;
}

function firstPassword({ environment }: AppOptions): Secret | undefined {
  const password = environment.HEADGATE_ADMIN_PASSWORD;
  return password === undefined ? undefined : new Secret(password);
}
