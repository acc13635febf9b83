import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { settle } from '../../test/helpers/clock.ts';
import { systemClock } from '../lib/clock.ts';
import { monotonicIds } from '../lib/ids.ts';
import { type Logger, silentLogger } from '../lib/logger.ts';
import { startApp } from './app.ts';

it('takes over no configuration once it has stopped', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'headgate-app-'));
  const configFolder = join(folder, 'config');
  const logged: string[] = [];
  const logger: Logger = {
    ...silentLogger,
    error: (_, message) => void logged.push(message),
    child: () => logger,
  };
  try {
    const app = await startApp({
      configFolder,
      dataFolder: join(folder, 'data'),
      flags: { 'api.port': '0' },
      environment: { HEADGATE_ADMIN_PASSWORD: 'a password of the test' },
      clock: systemClock,
      ids: monotonicIds(systemClock),
      random: Math.random,
      logger,
    });
    await app.stop();
    await writeFile(
      join(configFolder, 'notifications.yml'),
      'targets: [{ id: late, type: notifications_log }]\n',
    );
    await app.reload();
    await settle();
    expect(logged).toEqual([]);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});
