import { expect, it } from 'vitest';
import { conformanceTests, namePattern } from './helpers/conformance.ts';
import { readText } from './helpers/markdown.ts';

/** Texts in quotes of a line that begins a test, or ends the table of one. */
const NAMES = /(?:^|[^\w.])(?:it|test)(?:\.each)?\(\s*(['"`])(.+?)\1,|\]?\)\(\s*(['"`])(.+?)\3,/gms;

const namesIn = (file: string): string[] =>
  [...readText(file).matchAll(NAMES)].map(match => match[2] ?? match[4] ?? '');

it('names tests that exist', () => {
  const missing = conformanceTests().filter(
    ({ file, name }) => !namesIn(file).some(one => one === name || namePattern(one).test(name)),
  );
  expect(missing).toEqual([]);
});
