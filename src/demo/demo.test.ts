import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { testClock } from '../../test/helpers/clock.ts';
import { loadConfiguration } from '../config/load.ts';
import { headgateYml, notificationsYml } from './demo.ts';
import { COMPONENTS } from './script.ts';

const ADDRESSES = { pipeline: 'http://127.0.0.1:1001', viewer: 'http://127.0.0.1:1002' };

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'headgate-test-'));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

it('is valid, and what it names is what the simulated pipeline has', async () => {
  await writeFile(join(folder, 'headgate.yml'), headgateYml(ADDRESSES));
  await writeFile(join(folder, 'notifications.yml'), notificationsYml(ADDRESSES));
  const loaded = loadConfiguration({ folder, environment: {}, flags: {} }, testClock());
  if (!loaded.ok) throw new Error(JSON.stringify(loaded.problems));
  const { settings, targets, notifications } = loaded.configuration;
  expect(settings.pipelines).toMatchObject([{ engine: 'vector', url: `${ADDRESSES.pipeline}/metrics` }]);
  expect(targets.map(target => target.settings.type)).toEqual([
    'webhook',
    'bulletin_message',
    'notifications_log',
  ]);
  const inputs = COMPONENTS.filter(part => part.kind === 'input').map(part => `${part.type}:${part.id}`);
  const watched = notifications.flatMap(({ rule }) =>
    rule.source === 'component' ? rule.conf.name.replace('*', '') : [],
  );
  for (const input of inputs) expect(watched.some(name => input.startsWith(name))).toBe(true);
});
