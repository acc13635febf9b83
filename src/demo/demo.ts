import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Clock } from '../lib/clock.ts';
import { AppError, codeOf } from '../lib/errors.ts';
import { headgateYml, notificationsYml } from './configuration.ts';
import type { Notice } from './notice.ts';
import { startSimulatedPipeline } from './simulated-pipeline.ts';
import { startViewer } from './viewer.ts';

/** What stands around a Headgate on trial. */
export interface Demo {
  readonly configFolder: string;
  readonly dataFolder: string;
  readonly viewerUrl: string;
  /** Starts the script, once Headgate listens at `pageUrl`. */
  begin(pageUrl: string): void;
  /** Ends all of it and removes the folders. */
  stop(): Promise<void>;
}

/**
 * Starts the simulated pipeline and the webhook viewer, and writes a configuration that knows both. Throws `unavailable`
 * when the system's temporary folder cannot be written.
 */
export async function startDemo(options: {
  readonly clock: Clock;
  readonly received: (notice: Notice) => void;
}): Promise<Demo> {
  const folder = await temporaryFolder();
  const pipeline = await startSimulatedPipeline(options.clock);
  const viewer = await startViewer(options);
  const configFolder = join(folder, 'config');
  const addresses = { pipeline: pipeline.url, viewer: viewer.url };
  await mkdir(configFolder);
  await writeFile(join(configFolder, 'headgate.yml'), headgateYml(addresses));
  await writeFile(join(configFolder, 'notifications.yml'), notificationsYml(addresses));
  return {
    configFolder,
    dataFolder: join(folder, 'data'),
    viewerUrl: viewer.url,
    begin(pageUrl) {
      viewer.linkTo(pageUrl);
      pipeline.begin();
    },
    async stop() {
      await Promise.all([pipeline.close(), viewer.close()]);
      await rm(folder, { recursive: true, force: true });
    },
  };
}

async function temporaryFolder(): Promise<string> {
  try {
    return await mkdtemp(join(tmpdir(), 'headgate-demo-'));
  } catch (cause) {
    const message = `The demo cannot write to ${tmpdir()} (${codeOf(cause)}); set TMPDIR to a folder where it can`;
    throw new AppError('unavailable', message, { cause });
  }
}
