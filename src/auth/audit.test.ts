import { beforeEach, expect, test } from 'vitest';
import { type TestClock, testClock } from '../../test/helpers/clock.ts';
import { AppError } from '../lib/errors.ts';
import { monotonicIds } from '../lib/ids.ts';
import type { Logger } from '../lib/logger.ts';
import type { AuditRow } from '../storage/stores/audit.ts';
import { type Audit, createAudit } from './audit.ts';

let clock: TestClock;
let audit: Audit;
let rows: AuditRow[];
let isDown: boolean;
let logged: string[];

beforeEach(() => {
  clock = testClock();
  rows = [];
  logged = [];
  isDown = false;
  const note = (_: object, message: string): void => void logged.push(message);
  const logger: Logger = { debug: note, info: note, warn: note, error: note, child: () => logger };
  audit = createAudit({
    storage: {
      async commit(operation) {
        if (isDown) throw new AppError('unavailable', 'the disk is full');
        if (operation.kind === 'audit') rows.push(operation.row);
      },
    },
    workspace: 'default',
    clock,
    ids: monotonicIds(clock),
    logger,
  });
});

const done = { actor: 'ann', action: 'users.update', target: 'bob', address: '192.0.2.1', requestId: 'r1' };
const refusal = { actor: '', action: 'auth.login', reason: 'failed', address: '192.0.2.1' };

test('what was done is written before it resolves', async () => {
  await audit.record({ ...done, reason: 'roles' });
  expect(rows).toEqual([
    {
      id: expect.any(String),
      created_at: clock.now(),
      actor: 'ann',
      action: 'users.update',
      target: 'bob',
      result: 'ok',
      reason: 'roles',
      address: '192.0.2.1',
      request_id: 'r1',
      count: 1,
    },
  ]);
});

test('a thousand refusals of a kind from an address in a minute are two entries', async () => {
  for (let index = 0; index < 1000; index++) audit.refused(refusal);
  audit.refused({ ...refusal, address: '192.0.2.2' });
  audit.refused({ ...refusal, reason: 'limited' });
  await clock.advance(60_000);
  expect(rows.map(({ address, reason, count }) => [address, reason, count])).toEqual([
    ['192.0.2.1', 'failed', 1],
    ['192.0.2.2', 'failed', 1],
    ['192.0.2.1', 'limited', 1],
    ['192.0.2.1', 'failed', 999],
  ]);
  expect(rows.every(({ result }) => result === 'refused')).toBe(true);
});

test('addresses without end are counted together', async () => {
  for (let index = 0; index < 5000; index++)
    audit.refused({ ...refusal, address: `10.0.${index >> 8}.${index & 255}` });
  await audit.stop();
  expect(rows.length).toBeLessThan(1100);
  expect(rows.reduce((sum, { count }) => sum + count, 0)).toBe(5000);
  expect(rows.at(-1)).toMatchObject({ address: 'other addresses' });
});

test('what is counted at a stop is written', async () => {
  for (let index = 0; index < 3; index++) audit.refused(refusal);
  await audit.stop();
  expect(rows.map(({ count }) => count)).toEqual([1, 2]);
});

test('while the disk refuses nobody is kept from working, and the entries are written when it can again', async () => {
  isDown = true;
  await audit.record(done);
  await audit.record(done);
  expect([rows, logged.length]).toEqual([[], 1]);
  isDown = false;
  await clock.advance(5000);
  expect(rows).toHaveLength(2);
});

test('no text of a caller makes an entry long', async () => {
  await audit.record({ ...done, target: 'x'.repeat(100_000), reason: 'y'.repeat(100_000) });
  expect(JSON.stringify(rows).length).toBeLessThan(2000);
});
