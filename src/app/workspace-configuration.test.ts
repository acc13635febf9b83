import { beforeEach, expect, test } from 'vitest';
import { leaderVersions } from './workspace-configuration.ts';

let written: string[];
beforeEach(() => {
  written = [];
});

const versions = () => leaderVersions({ record: async ({ author }) => void written.push(author) });
const by = (author: string) => ({ author, source: 'file', masked: {} }) as const;

test('a process that does not lead writes no version, and when it leads the last one it saw', async () => {
  const own = versions();
  await own.record(by('one'));
  await own.record(by('two'));
  expect(written).toEqual([]);
  await own.lead();
  expect(written).toEqual(['two']);
  await own.record(by('three'));
  expect(written).toEqual(['two', 'three']);
});

test('who leads no more writes none, and nothing twice when it leads again', async () => {
  const own = versions();
  await own.lead();
  await own.record(by('one'));
  own.follow();
  await own.lead();
  expect(written).toEqual(['one']);
});
