import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type DiffBlock, lineDiff, unifiedText } from './line-diff.ts';

const text = (lines: readonly string[]): string => lines.map(line => `${line}\n`).join('');

/** The lines with the blocks worked in, each at the place it names. */
function patched(before: readonly string[], blocks: readonly DiffBlock[]): string[] {
  const after: string[] = [];
  let at = 0;
  for (const { oldStart, lines } of blocks) {
    const isInsertion = lines.every(({ kind }) => kind === 'insert');
    const start = isInsertion ? oldStart : oldStart - 1;
    after.push(...before.slice(at, start));
    at = start;
    for (const line of lines) {
      if (line.kind !== 'insert') expect(before[at++]).toBe(line.text);
      if (line.kind !== 'delete') after.push(line.text);
      if (line.kind !== 'delete') expect(line.new).toBe(after.length);
    }
  }
  return [...after, ...before.slice(at)];
}

describe('a difference of texts', () => {
  it('shows changed lines with those around them', () => {
    const before = text(['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i', 'j', 'k', 'l']);
    const after = text(['a', 'B', 'c', 'd', 'e', 'f', 'g', 'h', 'i', 'j', 'k', 'l', 'm']);
    expect(unifiedText(lineDiff(before, after))).toBe(
      '@@ -1,5 +1,5 @@\n a\n-b\n+B\n c\n d\n e\n@@ -10,3 +10,4 @@\n j\n k\n l\n+m',
    );
  });

  it('is empty between equal texts, and whole against an empty one', () => {
    expect(lineDiff('a\n', 'a\n')).toEqual([]);
    expect(unifiedText(lineDiff('', 'a\nb\n'))).toBe('@@ -0,0 +1,2 @@\n+a\n+b');
    expect(unifiedText(lineDiff('a\n', ''))).toBe('@@ -1,1 +0,0 @@\n-a');
  });

  it('counts line breaks of either kind as the same', () => {
    expect(lineDiff('a\r\nb\r\n', 'a\nb\n')).toEqual([]);
  });

  it('is as short as can be', () => {
    const changes = lineDiff(text([...'abcabba']), text([...'cbabac']))
      .flatMap(({ lines }) => lines)
      .filter(({ kind }) => kind !== 'context');
    expect(changes).toHaveLength(5);
  });

  it('stays quick where texts have nothing in common', () => {
    const lines = (prefix: string) => text(Array.from({ length: 20_000 }, (_, index) => `${prefix}${index}`));
    const [block] = lineDiff(lines('a'), lines('b'));
    expect(block?.lines).toHaveLength(40_000);
  });

  it('leads from the one to the other', () => {
    const some = fc.array(fc.constantFrom('a', 'b', 'c', ''), { maxLength: 30 });
    fc.assert(
      fc.property(some, some, (one, other) => {
        expect(patched(one, lineDiff(text(one), text(other)))).toEqual(other);
      }),
    );
  });
});
