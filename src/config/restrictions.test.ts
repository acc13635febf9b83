import { expect, test } from 'vitest';
import { refusedTargetSettings } from './restrictions.ts';

test('a workspace is refused files of the machine, but not those that stay in its own folder', () => {
  const files = [{ path: ['caPath'] }, { path: ['logsDir'], isConfined: true }] as const;
  expect(refusedTargetSettings({ files, usesProcessIdentity: false })).toEqual([['caPath']]);
  expect(refusedTargetSettings({ files: [], usesProcessIdentity: true })).toEqual([]);
});
