import { expect, it } from 'vitest';
import { type ConditionBench, startConditionBench } from '../../test/helpers/condition-bench.ts';
import type { ComponentCondition } from './condition.ts';
import { highVolume, highVolumeDest, lowVolume, lowVolumeDest } from './volume.ts';

/** Evaluates once, so that the window begins. */
async function evaluated(
  condition: ComponentCondition,
  conf: object,
  pipeline?: object,
): Promise<ConditionBench> {
  const asking = await startConditionBench(condition, conf, pipeline);
  await asking.push(condition.kind === 'input' ? { in_bytes: 0 } : { out_bytes: 0 });
  asking.evaluate();
  return asking;
}

it.each([
  [highVolume, 'in_bytes', 'Source', 'total.in_bytes'],
  [highVolumeDest, 'out_bytes', 'Destination', 'total.out_bytes'],
] as const)(
  '%o is an alarm from more than dataVolume in the window, and over when it is less',
  async (condition, counter, called, metric) => {
    const {
      push,
      evaluate: ask,
      bench,
    } = await evaluated(condition, { dataVolume: '1KB', timeWindow: '1m' });
    await push({ [counter]: 1024 });
    expect(ask()).toMatchObject({ state: 'ok' });
    await push({ [counter]: 1 });
    expect(ask()).toMatchObject({
      state: 'alarm',
      text: `${called} syslog:app traffic volume greater than 1KB in 1m`,
      fields: { _metric: metric, bytes: 1025, dataVolume: '1KB', timeWindow: '1m' },
    });
    await bench.clock.advance(52_000);
    expect(ask({ ms: 125_000 })).toMatchObject({
      state: 'ok',
      text: `${called} syslog:app traffic volume is back within 1KB in 1m after 2m 5s`,
      fields: { bytes: 1 },
    });
  },
);

it.each([
  [lowVolume, 'in_bytes', 'Source'],
  [lowVolumeDest, 'out_bytes', 'Destination'],
] as const)(
  '%o is an alarm from less than dataVolume, once a whole window was watched',
  async (condition, counter, called) => {
    const { push, evaluate: ask } = await evaluated(condition, { dataVolume: '60', timeWindow: '60s' });
    for (let times = 0; times < 5; times++) {
      await push({ [counter]: 1 });
      expect(ask()).toMatchObject({ state: 'unknown' });
    }
    await push({ [counter]: 1 });
    expect(ask()).toMatchObject({
      state: 'alarm',
      text: `${called} syslog:app traffic volume less than 60 in 60s`,
      fields: { bytes: 6, dataVolume: '60' },
    });
    await push({ [counter]: 55 });
    expect(ask({ ms: 1000 })).toMatchObject({
      state: 'ok',
      text: `${called} syslog:app traffic volume is back within 60 in 60s after 1s`,
    });
  },
);

it('counts an input that sends nothing at all as 0', async () => {
  const { bench, evaluate: ask } = await evaluated(lowVolume, { dataVolume: '1' });
  await bench.clock.advance(60_000);
  expect(ask()).toMatchObject({ state: 'alarm', fields: { bytes: 0 } });
});

it('says why data is missing: the pipeline that cannot be read, the name that was never seen', async () => {
  const { evaluateUnseen: askUnseen } = await evaluated(lowVolume, { dataVolume: '1' });
  expect(askUnseen(59_999)).toMatchObject({ state: 'unknown' });
  expect(askUnseen(60_000)).toMatchObject({
    state: 'alarm',
    text: 'Source syslog:app traffic volume less than 1 in 60s: it was never seen',
  });
});

it('adds up all replicas', async () => {
  const { push, evaluate: ask } = await evaluated(highVolume, { dataVolume: '10' });
  await push({ in_bytes: 6 }, 'one');
  await push({ in_bytes: 6 }, 'one');
  await push({ in_bytes: 6 }, 'two');
  await push({ in_bytes: 6 }, 'two');
  expect(ask()).toMatchObject({ state: 'alarm' });
});

it('never treats events as bytes: without a byte metric it is unknown, and says what helps', async () => {
  const { push, evaluate: ask } = await startConditionBench(highVolume, { dataVolume: '10' });
  await push({ in_events: 100 });
  ask();
  await push({ in_events: 100 });
  expect(ask()).toEqual({
    state: 'unknown',
    reason:
      "no byte metric: custom does not report it; set bytesPerEvent of pipeline 'edge', or a dataVolume in events",
  });
});

it('multiplies events by bytesPerEvent of the pipeline where bytes are not reported', async () => {
  const { push, evaluate: ask } = await startConditionBench(
    highVolume,
    { dataVolume: '9999' },
    { bytesPerEvent: 100 },
  );
  await push({ in_events: 0 });
  ask();
  await push({ in_events: 100 });
  expect(ask()).toMatchObject({ state: 'alarm', fields: { bytes: 10_000 } });
});

it('counts events where dataVolume does', async () => {
  const { push, evaluate: ask } = await startConditionBench(highVolume, { dataVolume: '99 events' });
  await push({ in_events: 0 });
  ask();
  await push({ in_events: 100 });
  expect(ask()).toMatchObject({
    state: 'alarm',
    text: 'Source syslog:app traffic volume greater than 99 events in 60s',
    fields: { _metric: 'total.in_events', events: 100 },
  });
});

it('goes on over a restart: data seen before counts, data of its first reading does not', async () => {
  const { push, evaluate: ask, bench } = await evaluated(lowVolume, { dataVolume: '60' });
  for (let times = 0; times < 5; times++) await push({ in_bytes: 10 });
  await bench.restart(3_600_000);
  await push({ in_bytes: 9 });
  expect(ask()).toMatchObject({ state: 'alarm', fields: { bytes: 59 } });
});

it.each(['10TBs', '', 'ten', '-5', '1.5G', '5 eventss'])(
  'refuses the volume %o and says how it is written',
  text => {
    const { error } = highVolume.schema.safeParse({ name: 'app', dataVolume: text });
    expect(error?.issues).toMatchObject([
      { path: ['dataVolume'], message: expect.stringContaining('10MB or 1G') },
    ]);
  },
);

it.each([
  ['500', 500],
  ['500B', 500],
  ['2k', 2048],
  ['10MB', 10 * 1024 ** 2],
  ['1 G', 1024 ** 3],
  ['3tb', 3 * 1024 ** 4],
])('reads %s as %d bytes', async (text, bytes) => {
  const { push, evaluate: ask } = await evaluated(highVolume, { dataVolume: text });
  await push({ in_bytes: bytes });
  expect(ask()).toMatchObject({ state: 'ok' });
  await push({ in_bytes: 1 });
  expect(ask()).toMatchObject({ state: 'alarm' });
});
