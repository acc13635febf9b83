import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Clock } from '../lib/clock.ts';
import { AppError, codeOf } from '../lib/errors.ts';
import { startSimulatedPipeline } from './simulated-pipeline.ts';
import { type Notice, startViewer } from './viewer.ts';

/** The demo's files, written as a first example for people. */

export interface Addresses {
  /** Of the simulated pipeline and of the webhook viewer, without a slash at the end. */
  readonly pipeline: string;
  readonly viewer: string;
}

export const headgateYml = ({
  pipeline,
}: Addresses): string => `# What Headgate is and what it reads. Every key has a default. A saved change is taken over at once.

instance:
  name: demo

pipelines:
  - id: shop
    engine: vector
    url: ${pipeline}/metrics
    interval: 1s          # short for the demo; 10s is the default
`;

export const notificationsYml = ({
  viewer,
}: Addresses): string => `# Who is notified, and when. A saved change takes effect at once.

targets:
  - id: viewer            # any HTTP address; here the demo's own webhook viewer
    type: webhook
    url: ${viewer}/hook

  - id: bulletin          # the messages on Headgate's page
    type: bulletin_message

  - id: log               # notifications.log, below the data folder
    type: notifications_log

notifications:
  # One input by its name: notified when it goes silent, and when it is back.
  - id: app_silent
    condition: no-data
    targets: [viewer, bulletin, log]
    severity: error
    description: The fraud checks are blind without the log of the application.
    runbookUrl: https://wiki.example/runbooks/app-silent
    conf:
      name: syslog:app
      timeWindow: 5s      # short for the demo; 60s is the default

  # Every input that fits a pattern, each with its own incident.
  - id: http_silent
    condition: no-data
    targets: [viewer, bulletin]
    conf:
      name: http_server:*
      timeWindow: 5s

  # Repeated while it lasts.
  - id: orders_silent
    condition: no-data
    targets: [viewer, log]
    repeatInterval: 10s
    conf:
      name: kafka:orders
      timeWindow: 5s
`;

/** The parts of the demo besides Headgate. */
export interface Demo {
  readonly configFolder: string;
  readonly dataFolder: string;
  readonly viewerUrl: string;
  /** Starts the script, once Headgate listens at `pageUrl`. */
  begin(pageUrl: string): void;
  /** Ends all of it and removes the folders. */
  readonly stop: () => Promise<void>;
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
