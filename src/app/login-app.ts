import { resolve } from 'node:path';
import { createAudits } from '../auth/audits.ts';
import { organizationKey } from '../auth/tenant-name.ts';
import { readDocument } from '../config/document.ts';
import { SETTINGS_FILE } from '../config/load.ts';
import { readSettings } from '../config/read-settings.ts';
import { openSecretStore } from '../config/secret-store.ts';
import type { ReferenceSources } from '../config/secrets.ts';
import type { Settings } from '../config/settings.ts';
import type { Clock } from '../lib/clock.ts';
import { AppError } from '../lib/errors.ts';
import { createHttpClient } from '../lib/http-client.ts';
import type { MonotonicIds } from '../lib/ids.ts';
import { openKeyRing } from '../lib/keyring.ts';
import type { Logger } from '../lib/logger.ts';
import { createMetrics } from '../lib/metrics.ts';
import { proxiesOf } from '../lib/proxies.ts';
import { openStorage } from '../storage/open.ts';
import { createHostedIdentity } from './hosted-identity.ts';
import { ConfigurationInvalid } from './invalid.ts';
import { type LoginService, startLoginService } from './login-service.ts';
import { sweepSessions } from './session-sweep.ts';
import { createTeardown } from './teardown.ts';
import { startTls } from './tls.ts';

export interface LoginAppOptions {
  readonly configFolder: string;
  readonly dataFolder: string;
  /** In place of `api.host`. */
  readonly host: string | undefined;
  /** 0 for any free one. */
  readonly port: number;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly clock: Clock;
  readonly ids: MonotonicIds;
  readonly logger: Logger;
}

/**
 * The login service in a process of its own. Of the configuration it reads headgate.yml only, at the start. Throws
 * `ConfigurationInvalid`, or an `AppError` that names what stands in the way.
 */
export async function startLoginApp(options: LoginAppOptions): Promise<LoginService> {
  const { clock, ids, logger, port } = options;
  const folder = resolve(options.configFolder);
  const dataFolder = resolve(options.dataFolder);
  const { environment } = options;
  // Stored secrets are known once the store is open, and where that is stands in there too.
  const atStart = settingsIn(folder, { environment });
  const { hosted } = atStart;
  if (hosted === undefined)
    throw new AppError(
      'invalid-request',
      `the login service is of hosted installations only: set hosted.cloudDomain, authUrl and audience in ${SETTINGS_FILE}`,
    );
  const teardown = createTeardown(logger);
  try {
    const { url } = atStart.storage;
    const isShared = typeof url !== 'string';
    const storage = await openStorage({ url, dataFolder, logger, clock });
    teardown.add('storage', () => storage.close());
    const keyRing = await openKeyRing({
      path: resolve(dataFolder, atStart.storage.keyRing),
      mayCreate: !(await storage.holdsSealed()),
    });
    const audits = createAudits({ storage, clock, ids, logger });
    teardown.add('audit', audits.stop);
    const workspace = organizationKey(undefined);
    const secrets = await openSecretStore({ storage, workspace, keyRing, clock, logger });
    const settings = settingsIn(folder, { environment, secretOf: secrets.get });
    const { api } = settings;
    const http = createHttpClient({ ...settings.delivery, clock, proxies: proxiesOf(environment) });
    teardown.add('http', () => http.close());
    const identity = await createHostedIdentity({
      ...{ storage, keyRing, http, clock, ids, logger, isShared, audits, hosted },
      settings: () => settings,
    });
    teardown.add('identity', identity.stop);
    identity.keys.start();
    teardown.add('sessions', sweepSessions(identity.sessions, { clock, logger }));
    const tls = startTls({ folder, settings: () => api.tls, clock, logger, metrics: createMetrics() });
    if (tls !== undefined) teardown.add('certificate', tls.stop);
    const service = await startLoginService({
      storage,
      keyRing,
      identity,
      externalUrl: settings.instance.externalUrl,
      tls,
      hosted,
      api: () => api,
      host: options.host ?? api.host,
      port,
      clock,
      ids,
      logger,
    });
    teardown.add('login service', service.stop);
    void identity.checkSettings();
    return { url: service.url, stop: teardown.run };
  } catch (error) {
    await teardown.run();
    throw error;
  }
}

function settingsIn(folder: string, references: ReferenceSources): Settings {
  const document = readDocument(folder, SETTINGS_FILE);
  const { settings, problems } = readSettings(document, { ...references, flags: {} });
  const all = [...document.problems, ...problems];
  if (settings === undefined || all.length > 0) throw new ConfigurationInvalid(all);
  return settings;
}
