import { expect, it } from 'vitest';
import { systemClock } from '../../src/lib/clock.ts';
import { startHostedApp } from '../helpers/hosted-app.ts';
import { until } from '../helpers/until.ts';

const YEARS_MS = 3 * 365 * 86_400_000;

it('keeps the audit of an organization no longer than retention says', async () => {
  const hosted = await startHostedApp({
    clock: {
      ...systemClock,
      now: () => systemClock.now() + YEARS_MS,
      // Nobody waits a minute for the first sweep.
      sleep: (ms, signal) => systemClock.sleep(ms === 60_000 ? 0 : ms, signal),
    },
  });
  try {
    const actions = async (): Promise<string[]> => {
      const { body } = await hosted.plane('acme', '/audit?limit=100');
      return body.items.map((entry: { action: string }) => entry.action);
    };
    await until(async () => !(await actions()).includes('credentials.create'));
    expect(await actions()).toContain('tokens.issue');
  } finally {
    await hosted.stop();
  }
});
