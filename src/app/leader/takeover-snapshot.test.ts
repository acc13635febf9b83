import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { dropStaleFiles } from './takeover.ts';

test.each([
  ['is kept when the folder is used for the first time', [7], true],
  ['is kept by a process that led last', [7, 8], true],
  ['is kept when the same lease goes on', [7, 7], true],
  ['is dropped when another process has led meanwhile', [7, 9], false],
  ['is dropped when the store is another one', [7, 1], false],
])('a snapshot %s', async (_, epochs, isKept) => {
  const folder = mkdtempSync(join(tmpdir(), 'headgate-stale-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  writeFileSync(join(folder, 'snapshot'), 'counters');
  for (const epoch of epochs) await dropStaleFiles(folder, epoch);
  expect(existsSync(join(folder, 'snapshot'))).toBe(isKept);
});
