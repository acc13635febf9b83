import { expect, test } from 'vitest';
import { testClock } from '../../../test/helpers/clock.ts';
import { type Logger, silentLogger } from '../../lib/logger.ts';
import { createLoginLog } from './login.ts';

function setup() {
  const lines: unknown[] = [];
  const logger: Logger = { ...silentLogger, warn: (fields, message) => lines.push({ message, ...fields }) };
  const clock = testClock();
  return { lines, clock, log: createLoginLog({ clock, logger }) };
}

test('the first failure is logged at once, the rest of the minute in one line with its count and known users', async () => {
  const { lines, clock, log } = setup();
  log.refused('failed', '192.0.2.1', 'ann');
  expect(lines).toEqual([{ message: 'login failed', address: '192.0.2.1', count: 1, users: ['ann'] }]);
  for (let more = 0; more < 500; more++) log.refused('failed', '192.0.2.1', more % 2 ? 'bob' : undefined);
  expect(lines).toHaveLength(1);
  await clock.advance(60_000);
  expect(lines[1]).toEqual({ message: 'login failed', address: '192.0.2.1', count: 500, users: ['bob'] });
});

test('a flood that goes on is one line a minute', async () => {
  const { lines, clock, log } = setup();
  for (let second = 0; second < 600; second++) {
    log.refused('failed', '192.0.2.1');
    await clock.advance(1000);
  }
  expect(lines.length).toBeLessThanOrEqual(11);
});

test('after a quiet minute the next failure is logged at once', async () => {
  const { lines, clock, log } = setup();
  log.refused('failed', '192.0.2.1');
  await clock.advance(60_000);
  log.refused('failed', '192.0.2.1');
  expect(lines).toHaveLength(2);
});

test('failures and refusals by the limit are logged separately, and so are addresses', () => {
  const { lines, log } = setup();
  log.refused('failed', '192.0.2.1');
  log.refused('limited', '192.0.2.1');
  log.refused('failed', '192.0.2.2');
  log.refused('failed', '2001:db8::1');
  log.refused('failed', '2001:db8::2');
  expect(lines).toMatchObject([
    { message: 'login failed', address: '192.0.2.1' },
    { message: 'login refused by the rate limit', address: '192.0.2.1' },
    { message: 'login failed', address: '192.0.2.2' },
    { message: 'login failed', address: '2001:db8::/56' },
  ]);
});

test('very many addresses are a bounded number of lines that lose no count', async () => {
  const { lines, clock, log } = setup();
  for (let n = 0; n < 70_000; n++) log.refused('failed', `10.${n >> 16}.${(n >> 8) & 255}.${n & 255}`);
  await clock.advance(60_000);
  expect(lines.length).toBeLessThanOrEqual(1003);
  const total = lines.reduce((sum: number, line) => sum + Object(line).count, 0);
  expect(total).toBe(70_000);
});
