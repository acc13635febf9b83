import { expect, it } from 'vitest';
import { startConditionBench } from '../../test/helpers/condition-bench.ts';
import { persistentQueueUsage, persistentQueueUsageSource } from './queue-usage.ts';

it.each([persistentQueueUsage, persistentQueueUsageSource])(
  '$id is an alarm from more than usageThreshold, and over from there down',
  async condition => {
    const { push, evaluate: ask } = await startConditionBench(condition, { usageThreshold: 50 });
    await push({ queue_size: 50, queue_capacity: 100 });
    expect(ask()).toMatchObject({ state: 'ok' });
    await push({ queue_size: 51, queue_capacity: 100 });
    expect(ask()).toMatchObject({
      state: 'alarm',
      text: 'Persistent Queue usage of syslog:app has surpassed 50%',
      fields: { _metric: 'system.pq_used', usage: 51, usageThreshold: 50, timeWindow: '60s' },
    });
    await push({ queue_size: 10, queue_capacity: 100 });
    expect(ask({ ms: 60_000 })).toMatchObject({
      state: 'ok',
      text: 'Persistent Queue usage of syslog:app is below 50% again after 1m',
      fields: { usage: 10 },
    });
  },
);

it('evaluates the fullest replica', async () => {
  const { push, evaluate: ask } = await startConditionBench(persistentQueueUsage);
  await push({ queue_size: 10, queue_capacity: 100 }, 'a');
  await push({ queue_size: 95, queue_capacity: 100 }, 'b');
  expect(ask()).toMatchObject({ state: 'alarm', fields: { usage: 95, usageThreshold: 90 } });
});

it('is unknown for an output without a queue', async () => {
  const { push, evaluate: ask } = await startConditionBench(persistentQueueUsage);
  await push({ out_events: 1 });
  expect(ask()).toEqual({ state: 'unknown', reason: 'no queue with a known capacity' });
});

it.each([-1, 100, 50.5, '90'])('refuses the threshold %o', usageThreshold => {
  const { error } = persistentQueueUsage.schema.safeParse({ name: 'app', usageThreshold });
  expect(error?.issues).toMatchObject([{ path: ['usageThreshold'] }]);
});
