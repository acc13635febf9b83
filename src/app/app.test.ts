import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { listenLocally } from '../../test/acceptance/listen-locally.ts';
import { settle } from '../../test/helpers/clock.ts';
import { until } from '../../test/helpers/until.ts';
import { systemClock } from '../lib/clock.ts';
import { monotonicIds } from '../lib/ids.ts';
import { type Logger, silentLogger } from '../lib/logger.ts';
import { type App, startApp } from './app.ts';

interface Product {
  readonly app: App;
  /** Messages of its errors. */
  readonly logged: readonly string[];
  /** What else it tells, as text. */
  readonly informed: readonly string[];
  notifications(text: string): Promise<void>;
}

/** The product on a folder of its own, with these notifications.yml. */
async function start(text: string, environment: Readonly<Record<string, string>> = {}): Promise<Product> {
  const folder = await mkdtemp(join(tmpdir(), 'headgate-app-'));
  const configFolder = join(folder, 'config');
  const notifications = (yaml: string) => writeFile(join(configFolder, 'notifications.yml'), yaml);
  await mkdir(configFolder);
  await notifications(text);
  const logged: string[] = [];
  const informed: string[] = [];
  const logger: Logger = {
    ...silentLogger,
    error: (_, message) => void logged.push(message),
    info: (fields, message) => void informed.push(`${message} ${JSON.stringify(fields)}`),
    child: () => logger,
  };
  const app = await startApp({
    configFolder,
    dataFolder: join(folder, 'data'),
    flags: { 'api.port': '0' },
    environment: { HEADGATE_ADMIN_PASSWORD: 'a password of the test', ...environment },
    clock: systemClock,
    ids: monotonicIds(systemClock),
    random: Math.random,
    logger,
  });
  onTestFinished(async () => {
    await app.stop();
    await rm(folder, { recursive: true, force: true });
  });
  return { app, logged, informed, notifications };
}

it('takes over no configuration once it has stopped', async () => {
  const { app, logged, notifications } = await start('');
  await app.stop();
  await notifications('targets: [{ id: late, type: notifications_log }]\n');
  await app.reload();
  await settle();
  expect(logged).toEqual([]);
});

it('tells a target that an incident is over though it was taken out with its notification', async () => {
  const received: string[] = [];
  const sink = createServer((request, response) => {
    request.on('data', chunk => received.push(JSON.parse(String(chunk)).status));
    request.on('end', () => response.end());
  });
  const { url, end } = await listenLocally(sink);
  onTestFinished(end);
  const { app, notifications } = await start(`
targets: [{ id: hook, type: webhook, url: '${url}' }]
notifications: [{ id: silent, condition: no-data, targets: [hook], conf: { name: never, timeWindow: 1s } }]
`);
  await until(() => received.includes('ALARM'));
  await notifications('');
  await app.reload();
  await until(() => received.includes('OK'));
  expect(received).toEqual(['ALARM', 'OK']);
});

it('names at the start the proxy that targets are sent to through, without its password', async () => {
  const { informed } = await start('', { HTTPS_PROXY: 'http://ada:s3cret@proxy.example:3128' });
  const line = informed.filter(text => text.includes('proxy.example'));
  expect(line).toEqual([
    'targets are sent to through a proxy {"proxies":{"HTTPS_PROXY":"http://proxy.example:3128"}}',
  ]);
});
