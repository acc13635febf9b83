import { chmodSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { configFolder, problemLines } from '../../test/helpers/config-folder.ts';
import { MAX_FILE_BYTES } from './file-text.ts';
import { loadConfiguration } from './load.ts';

const NOBODY = 65_534;

/** The superuser may read everything, so as one the work is done as somebody who may not. */
function asNobody<Result>(work: () => Result): Result {
  const user = process.geteuid?.();
  if (user === 0) process.seteuid?.(NOBODY);
  try {
    return work();
  } finally {
    if (user === 0) process.seteuid?.(user);
  }
}

describe('files that cannot be read', () => {
  const problems = (folder: string) => {
    const result = loadConfiguration({ folder, environment: {}, flags: {} }, { now: () => 0 });
    return result.ok ? [] : problemLines(result.problems);
  };

  it('may be a folder in the place of a file', () => {
    const folder = configFolder();
    mkdirSync(join(folder, 'notifications.yml'));
    expect(problems(folder)).toEqual([expect.stringMatching(/^notifications.yml:1:1: is a folder/)]);
  });

  it('may be too large', () => {
    const folder = configFolder({ 'notifications.yml': `# ${'x'.repeat(50 * 1024 * 1024)}` });
    expect(problems(folder)).toEqual([
      'notifications.yml:1:1: is too large: 50.0 MiB, at most 16 MiB are read',
    ]);
    writeFileSync(join(folder, 'notifications.yml'), '#'.repeat(MAX_FILE_BYTES));
    expect(problems(folder)).toEqual([]);
  });

  it('may not be UTF-8', () => {
    const folder = configFolder();
    writeFileSync(
      join(folder, 'headgate.yml'),
      Buffer.from('# ok\ninstance:\n  name: \xe9t\xe9\n', 'latin1'),
    );
    expect(problems(folder)).toEqual([expect.stringMatching(/^headgate.yml:3:1: is not UTF-8/)]);
  });

  it('may be links that form a cycle', () => {
    const folder = configFolder();
    symlinkSync('headgate.yml', join(folder, 'headgate.yml'));
    expect(problems(folder)).toEqual([
      expect.stringMatching(/^headgate.yml:1:1: cannot be read: its symbolic/),
    ]);
  });

  it('may be forbidden', () => {
    const folder = configFolder({ 'headgate.yml': '' });
    chmodSync(folder, 0o755);
    chmodSync(join(folder, 'headgate.yml'), 0);
    const found = asNobody(() => problems(folder));
    expect(found).toEqual([expect.stringMatching(/^headgate.yml:1:1: .*permission denied/)]);
  });

  it('may have no folder at all, or a file in its place', () => {
    const folder = configFolder({ file: '' });
    expect(problems(join(folder, 'gone'))).toEqual([expect.stringMatching(/^gone:1:1: .*does not exist/)]);
    expect(problems(join(folder, 'file'))).toEqual([expect.stringMatching(/^file:1:1: is not a folder/)]);
  });

  it('do not keep the other file from being checked', () => {
    const folder = configFolder({ 'headgate.yml': 'api: [', 'notifications.yml': 'target: 1' });
    expect(problems(folder)).toHaveLength(2);
  });
});
