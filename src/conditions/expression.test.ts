import { expect, it } from 'vitest';
import { startConditionBench } from '../../test/helpers/condition-bench.ts';
import { compileExpression } from '../expressions/expression.ts';
import { evaluateOnSample, expression, MEASURE_NAMES } from './expression.ts';

const conf = (text: string, more: object = {}) => ({ name: 'app', expression: text, ...more });
const RATIO = 'errors > 0.01 * in_events && in_events > 1000';

/** Pushes for a whole window, so that its sums are known. */
async function observed(text: string) {
  const asking = await startConditionBench(expression, { ...conf(text), kind: 'input' });
  asking.evaluate();
  return asking;
}

it('is an alarm while the expression over the sums of the window is true, and reports the values', async () => {
  const { push, evaluate: ask } = await observed(RATIO);
  for (let round = 0; round < 7; round++) {
    await push({ in_events: 300, errors: 0 });
    ask();
  }
  expect(ask()).toMatchObject({ state: 'ok' });
  await push({ in_events: 300, errors: 100 });
  expect(ask()).toMatchObject({
    state: 'alarm',
    text: expect.stringMatching(
      /^syslog:app: errors > 0\.01 \* in_events && in_events > 1000 held in 60s \(errors 100, in_events \d+(\.\d+)?\)$/,
    ),
    fields: { expression: RATIO, timeWindow: '60s', values: { errors: 100 } },
  });
  for (let round = 0; round < 7; round++) {
    await push({ in_events: 300, errors: 0 });
    ask();
  }
  expect(ask({ ms: 70_000 })).toMatchObject({
    state: 'ok',
    text: expect.stringContaining('holds no more after 1m 10s (errors 0'),
  });
});

it('sees gauges, replicas, rates and the time without data', async () => {
  const { push, evaluate: ask } = await observed(
    'queue_size / queue_capacity > 0.9 && replicas == 1 && up == 1 && blocked == 0 && silent_seconds < 30',
  );
  await push({ in_events: 1, queue_size: 95, queue_capacity: 100, up: 1, blocked: 0 });
  expect(ask()).toMatchObject({ state: 'alarm' });
  await push({ in_events: 1, queue_size: 5, queue_capacity: 100, up: 1, blocked: 0 });
  expect(ask()).toMatchObject({ state: 'ok' });
});

it('is unknown before a whole window was observed, and for values that are not reported', async () => {
  const { push, evaluate: ask, evaluateUnseen: askUnseen } = await observed('in_events_per_second < 1');
  await push({ in_events: 1 });
  expect(ask()).toEqual({ state: 'unknown', reason: 'it has been watched for less than the window' });
  expect(askUnseen(100_000)).toEqual({ state: 'unknown', reason: 'it was never seen' });
  const gauges = await observed('queue_size > 1');
  expect(gauges.evaluate()).toEqual({ state: 'unknown', reason: 'nothing reports its queue_size' });
});

it('is unknown, and a fault, where the result is neither true nor false', async () => {
  const { evaluate: ask } = await observed('replicas + 1');
  expect(ask()).toEqual({
    state: 'unknown',
    isFault: true,
    reason: 'it gives a number, and must give true or false',
  });
});

it.each([
  ['in_evnts > 1', /does not know 'in_evnts'; the names are in_events, in_bytes/],
  ['in_events >', /./],
  [`in_events > ${'1'.repeat(1024)}`, /at most 1024 characters/],
])('refuses %s when it is read', (text, message) => {
  expect(() => expression.configure(conf(text))).toThrow(message);
});

it('accepts every name it reports, and is tried before any component exists', () => {
  for (const name of MEASURE_NAMES) expect(() => expression.configure(conf(`${name} > 1`))).not.toThrow();
  const { conf: good } = expression.configure(conf('errors > 1'));
  expect(JSON.parse(JSON.stringify(good))).toMatchObject({ expression: 'errors > 1', timeWindow: '60s' });
  expect(evaluateOnSample(compiled('errors > 1'))).toBeUndefined();
  expect(evaluateOnSample(compiled('errors + 1'))).toBe('it gives a number, and must give true or false');
});

function compiled(text: string) {
  const read = compileExpression(text);
  if (!read.ok) throw new Error(read.problem);
  return read.expression;
}
