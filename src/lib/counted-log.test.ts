import { expect, it } from 'vitest';
import { createCountedLog } from './counted-log.ts';
import { type Logger, silentLogger } from './logger.ts';

it('logs a fault once until it changes, and once that it is over', () => {
  const lines: string[] = [];
  const logger: Logger = {
    ...silentLogger,
    error: (fields, message) =>
      void lines.push(`${message}: ${fields.reason} at ${fields.target}${fields.subject ?? ''}`),
    info: (fields, message) => void lines.push(`${message} at ${fields.target}`),
  };
  const faults = createCountedLog(logger, { fields: { target: 'hook' }, message: 'cannot', over: 'can' });
  faults.recovered();
  faults.failed(new Error('full: 7 wait'));
  faults.failed(new Error('full: 12 wait'));
  faults.failed(new Error('gone'), { subject: '/a' });
  faults.recovered();
  faults.recovered();
  faults.failed('full');
  expect(lines).toEqual([
    'cannot: full: 7 wait at hook',
    'cannot: gone at hook/a',
    'can at hook',
    'cannot: full at hook',
  ]);
});
