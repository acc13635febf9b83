import { expect, it, onTestFinished } from 'vitest';
import { settle, testClock } from '../../../test/helpers/clock.ts';
import { silentLogger } from '../../lib/logger.ts';
import type { RunningWorkspace } from '../workspace.ts';
import { createRunningWorkspaces } from './running-workspaces.ts';

/** Workspaces that only say whether they run. */
function installation(present: string[]) {
  const clock = testClock();
  const log: string[] = [];
  const tried: string[] = [];
  const broken = new Set<string>();
  let tell = (): void => {};
  const tenants = createRunningWorkspaces({
    names: async () => present,
    async start(name): Promise<RunningWorkspace> {
      tried.push(name);
      if (broken.has(name)) throw new Error('its secrets cannot be read');
      log.push(`start ${name}`);
      return {
        get served(): never {
          throw new Error('not asked for');
        },
        follow() {},
        async stop() {
          log.push(`stop ${name}`);
        },
      };
    },
    subscribe(listener) {
      tell = listener;
      return () => {
        tell = () => {};
      };
    },
    clock,
    logger: silentLogger,
  });
  onTestFinished(() => tenants.stop());
  const tries = (name: string): number => tried.filter(one => one === name).length;
  return { tenants, clock, log, broken, tries, told: () => tell() };
}

it('runs every workspace there is, and stops all of them with the process', async () => {
  const { tenants, log } = installation(['main-acme', 'main-corp']);
  await tenants.start();
  expect([tenants.find('main-acme'), tenants.find('main-corp')]).not.toContain(undefined);
  expect(tenants.find('main-other')).toBeUndefined();
  await tenants.stop();
  expect(log.sort()).toEqual(['start main-acme', 'start main-corp', 'stop main-acme', 'stop main-corp']);
});

it('starts one that comes when it is told, and finds it within seconds when it is not', async () => {
  const present = ['main-acme'];
  const { tenants, clock, told } = installation(present);
  await tenants.start();
  present.push('test-acme');
  told();
  await settle();
  expect(tenants.find('test-acme')).toBeDefined();
  present.push('prod-acme');
  await clock.advance(2000);
  expect(tenants.find('prod-acme')).toBeDefined();
});

it('stops one that is no longer there', async () => {
  const present = ['main-acme', 'test-acme'];
  const { tenants, log, told } = installation(present);
  await tenants.start();
  present.pop();
  told();
  await settle();
  expect(tenants.find('test-acme')).toBeUndefined();
  expect(log.at(-1)).toBe('stop test-acme');
});

it('lets one that cannot be started keep no other from it, and tries it again', async () => {
  const { tenants, clock, broken } = installation(['bad1-acme', 'main-acme']);
  broken.add('bad1-acme');
  await tenants.start();
  expect(tenants.find('main-acme')).toBeDefined();
  expect(tenants.find('bad1-acme')).toBeUndefined();
  broken.clear();
  await clock.advance(2000);
  expect(tenants.find('bad1-acme')).toBeDefined();
});

it('tries one that cannot be started less and less often, and at least once a minute', async () => {
  const { tenants, clock, broken, tries, told } = installation(['bad1-acme', 'main-acme']);
  broken.add('bad1-acme');
  await tenants.start();
  await clock.advance(3_600_000);
  expect(tries('bad1-acme')).toBeGreaterThanOrEqual(60);
  expect(tries('bad1-acme')).toBeLessThan(70);
  // Changes of other workspaces are no reason to try again.
  const before = tries('bad1-acme');
  for (let change = 0; change < 20; change++) {
    told();
    await settle();
  }
  expect(tries('bad1-acme')).toBeLessThanOrEqual(before + 1);
  broken.clear();
  await clock.advance(62_000);
  expect(tenants.find('bad1-acme')).toBeDefined();
});

it('starts nothing once it is stopped', async () => {
  const present = ['main-acme'];
  const { tenants, clock, log } = installation(present);
  await tenants.start();
  await tenants.stop();
  present.push('late-acme');
  await clock.advance(10_000);
  expect(log).not.toContain('start late-acme');
});
