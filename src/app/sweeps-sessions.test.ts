import { expect, test } from 'vitest';
import { testClock } from '../../test/helpers/clock.ts';
import type { Logger } from '../lib/logger.ts';
import { sweepSessions } from './sweeps.ts';

test('sessions are swept every ten minutes, a fault is told once, and the end waits for the last', async () => {
  const clock = testClock();
  const said: string[] = [];
  const note = (_fields: object, message: string) => void said.push(message);
  const logger: Logger = { debug: note, info: note, warn: note, error: note, child: () => logger };
  let sweeps = 0;
  const sweep = async (): Promise<number> => {
    sweeps += 1;
    if (sweeps === 2 || sweeps === 3) throw new Error('the disk is full');
    return 0;
  };
  const end = sweepSessions({ sweep }, { clock, logger });
  await clock.advance(599_999);
  expect(sweeps).toBe(0);
  await clock.advance(1);
  expect(sweeps).toBe(1);
  await clock.advance(3 * 600_000);
  expect(sweeps).toBe(4);
  expect(said).toEqual([
    'sessions that are over cannot be removed',
    'sessions that are over are removed again',
  ]);
  await end();
  await clock.advance(600_000);
  expect(sweeps).toBe(4);
});
