import { MASK } from '../lib/secret.ts';

const LONGEST = 60;

/** A value as an error quotes it: short, on one line, without the password an address may hold. */
export function quote(value: unknown): string {
  switch (typeof value) {
    case 'string':
      return `'${shorten(oneLine(withoutUser(value)))}'`;
    case 'number':
    case 'boolean':
      return String(value);
    default:
      if (value === null || value === undefined) return 'nothing';
      return Array.isArray(value) ? 'a list' : 'a map';
  }
}

/** Whatever stands between `//` and the last `@` may be a password, however long and odd it is. */
function withoutUser(text: string): string {
  const start = text.indexOf('//');
  const end = text.lastIndexOf('@');
  return start === -1 || end < start ? text : `${text.slice(0, start)}//${MASK}${text.slice(end)}`;
}

const oneLine = (text: string): string =>
  text
    .slice(0, 4 * LONGEST)
    .replace(/[\p{Cc}\u2028\u2029]/gu, character => JSON.stringify(character).slice(1, -1));

function shorten(text: string): string {
  const characters = [...text];
  return characters.length <= LONGEST ? text : `${characters.slice(0, LONGEST).join('')}…`;
}
