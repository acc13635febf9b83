import * as fc from 'fast-check';
import { dump } from 'js-yaml';

/** Draws from a choice; handed in, so that a failing text can be found again. */
export type Draw = <Value>(arbitrary: fc.Arbitrary<Value>) => Value;

type Json = unknown;

/** Writes plain data as a person might: block or flow, in any quotes, with comments wherever one may stand. */
export interface Writer {
  /** The lines of a block map at a column. */
  mapLines(map: object, column: number): string[];
  /** A whole section with its items, its own comments and those of each item. */
  section(name: string, items: readonly (readonly [string, object])[]): string[];
}

export function yamlWriter(draw: Draw, comment: (owner: string | undefined) => string): Writer {
  const often = (): boolean => draw(fc.nat(2)) === 0;
  const pad = (column: number): string => ' '.repeat(column);
  let owner: string | undefined;

  function scalar(value: Json, inFlow: boolean): string {
    if (typeof value !== 'string') return JSON.stringify(value);
    const plain = dump([value], inFlow ? { flowLevel: 0, lineWidth: -1 } : { lineWidth: -1 }).slice(
      inFlow ? 1 : 2,
      inFlow ? -2 : -1,
    );
    const isLine = !/[\n\p{C}]/u.test(value);
    switch (draw(fc.nat(3))) {
      case 0:
        return JSON.stringify(value);
      case 1:
        return isLine ? `'${value.replaceAll("'", "''")}'` : JSON.stringify(value);
      default:
        return isLine && !plain.includes('\n') ? plain : JSON.stringify(value);
    }
  }

  function flow(value: Json): string {
    if (Array.isArray(value)) return `[${value.map(flow).join(draw(fc.constantFrom(', ', ',  ')))}]`;
    if (typeof value !== 'object' || value === null) return scalar(value, true);
    const entries = Object.entries(value).map(([key, entry]) => `${scalar(key, true)}: ${flow(entry)}`);
    const space = often() ? '' : ' ';
    return entries.length === 0 ? '{}' : `{${space}${entries.join(', ')}${often() ? ',' : ''}${space}}`;
  }

  /** What follows a key's colon or a dash: the rest of the line, and lines below. */
  function after(value: Json, column: number): string[] {
    const isEmpty = typeof value === 'object' && value !== null && Object.keys(value).length === 0;
    if (typeof value === 'string' && /^\S[^\p{C}]*(?:\n[^\s\p{C}][^\p{C}]*)*\n?$/u.test(value) && often())
      return literal(value, column);
    if (typeof value !== 'object' || value === null || isEmpty || often())
      return [` ${flow(value)}${trailing()}`];
    const lines = Array.isArray(value) ? listLines(value, column + 2) : mapLines(value, column + 2);
    return [trailing(), ...lines];
  }

  function literal(value: string, column: number): string[] {
    const ends = value.endsWith('\n');
    const lines = (ends ? value.slice(0, -1) : value).split('\n');
    return [` |${ends ? '' : '-'}${trailing()}`, ...lines.map(line => `${pad(column + 4)}${line}`)];
  }

  const trailing = (): string => (often() && often() ? ` ${comment(owner)}` : '');

  /** Lines of comments and empty ones. */
  function between(column: number): string[] {
    const lines: string[] = [];
    while (often() && lines.length < 3)
      lines.push(often() ? '' : `${pad(draw(fc.constantFrom(0, column)))}${comment(owner)}`);
    return lines;
  }

  function mapLines(map: object, column: number): string[] {
    return Object.entries(map).flatMap(([key, value], index) => {
      const [first = '', ...rest] = after(value, column);
      return [
        ...(index === 0 ? [] : between(column)),
        `${pad(column)}${scalar(key, false)}${draw(fc.constantFrom(':', ': '))}${first}`,
        ...rest,
      ];
    });
  }

  function listLines(list: readonly Json[], column: number): string[] {
    return list.flatMap((value, index) => [...(index === 0 ? [] : between(column)), ...item(value, column)]);
  }

  function item(value: Json, column: number): string[] {
    const isMap = typeof value === 'object' && value !== null && !Array.isArray(value);
    if (!isMap || Object.keys(value).length === 0 || often())
      return [`${pad(column)}- ${flow(value)}${trailing()}`];
    const [first = '', ...rest] = mapLines(value, column + 2);
    return [`${pad(column)}- ${first.trimStart()}`, ...rest];
  }

  function section(name: string, items: readonly (readonly [string, object])[]): string[] {
    const isMap = often();
    const column = draw(fc.constantFrom(isMap ? 1 : 0, 2, 4));
    if (items.length === 0) return [`${name}:${draw(fc.constantFrom('', ' []', ' {}', ' ~'))}${trailing()}`];
    if (often() && often()) return flowSection(name, items, isMap);
    const blocks = items.map(([id, value]) => {
      const above = between(column);
      owner = id;
      const lines = isMap ? mapLines({ [id]: value }, column) : item({ id, ...value }, column);
      owner = undefined;
      return [...above, ...lines];
    });
    return [`${name}:${trailing()}`, ...blocks.flat(), ...between(0)];
  }

  function flowSection(
    name: string,
    items: readonly (readonly [string, object])[],
    isMap: boolean,
  ): string[] {
    const texts = items.map(([id, value]) => (isMap ? `${id}: ${flow(value)}` : flow({ id, ...value })));
    const [open, close] = isMap ? ['{', '}'] : ['[', ']'];
    if (often()) return [`${name}: ${open}${texts.join(', ')}${close}${trailing()}`];
    const lines = texts.flatMap(text => [...between(4), `    ${text},${trailing()}`]);
    return [`${name}: ${open}${trailing()}`, ...lines, `  ${close}${trailing()}`];
  }

  return { mapLines, section };
}
