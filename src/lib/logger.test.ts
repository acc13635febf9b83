import { stripVTControlCharacters } from 'node:util';
import { expect, it } from 'vitest';
import { gatherLines, prettyLine } from './logger.ts';

const plain = (line: string): string => stripVTControlCharacters(prettyLine(line));

it('shows time, level, message and fields on one line', () => {
  const line =
    '{"level":"warn","time":"2026-01-02T03:04:05.678Z","target":"hook","reason":"status 503","msg":"not yet"}';
  expect(plain(line)).toBe('03:04:05 WARN  not yet target=hook reason="status 503"');
});

it('keeps a value with a line break on its line', () => {
  expect(plain('{"level":"info","time":"","text":"a\\nb","msg":"m"}')).not.toContain('\n');
});

it('lets no value control the terminal', () => {
  expect(prettyLine('{"level":"info","time":"","id":"\\u001b[2J","msg":"m"}')).not.toContain('\u001b[2J');
});

it('leaves alone what is no log record', () => {
  expect(plain('not json')).toBe('not json');
});

it('writes what one turn logs at once, and a warning right away with what was logged before it', () => {
  const written: string[] = [];
  const later: (() => void)[] = [];
  const lines = gatherLines({ write: text => written.push(text) }, work => later.push(work));
  const [info, warning] = ['{"level":"info","msg":"a"}\n', '{"level":"warn","msg":"b"}\n'];
  lines.write(info);
  lines.write(info);
  expect(written).toEqual([]);
  later.shift()?.();
  expect(written).toEqual([info + info]);
  lines.write(info);
  lines.write(warning);
  expect(written).toEqual([info + info, info + warning]);
  later.shift()?.();
  lines.flush();
  expect(written).toHaveLength(2);
});
