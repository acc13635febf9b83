import { expect, it } from 'vitest';
import { durabilityProblem } from './sqlite.ts';

it('accepts only a connection whose commits reach the disk', () => {
  expect(durabilityProblem('wal', 2)).toBeUndefined();
  expect(durabilityProblem('delete', 2)).toMatch(/journal_mode is 'delete'/);
  expect(durabilityProblem('wal', 1)).toMatch(/synchronous is 1 instead of 2/);
  expect(durabilityProblem(undefined, undefined)).toBeDefined();
});
