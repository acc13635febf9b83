import { readFileSync } from 'node:fs';

export interface CodeBlock {
  readonly language: string;
  readonly text: string;
}

export const readText = (path: string): string => readFileSync(path, 'utf8');

const FENCE = /^```(\w*)\n([\s\S]*?)^```$/gm;

/** The fenced blocks of a text. */
export const codeBlocks = (text: string): CodeBlock[] =>
  [...text.matchAll(FENCE)].map(([, language = '', block = '']) => ({ language, text: block }));

/** The text below a heading, to the next one of any level. */
export function sectionOf(text: string, title: string): string {
  const [, after] = text.split(new RegExp(`^#+ ${title}$`, 'm'));
  if (after === undefined) throw new Error(`there is no heading '${title}'`);
  return after.split(/^#+ /m)[0] ?? '';
}

/** The first example of a section. */
export function exampleOf(text: string, title: string): unknown {
  const block = codeBlocks(sectionOf(text, title)).find(({ language }) => language === 'json');
  if (block === undefined) throw new Error(`the section '${title}' has no example`);
  return JSON.parse(block.text);
}

/** Cells of the rows of every table, headings and rules left out, code marks removed. */
export const tableRows = (text: string): string[][] =>
  text
    .split('\n')
    .filter((line, index, lines) => line.startsWith('|') && lines[index - 1]?.startsWith('|'))
    .filter(line => !/^[|\s-]+$/.test(line))
    .map(line =>
      line
        .slice(1, -1)
        .split('|')
        .map(cell => cell.trim().replaceAll('`', '')),
    );
