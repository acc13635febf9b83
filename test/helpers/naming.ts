import type { HostedAnswer } from './hosted.ts';

/** A row of a table of routes. */
export interface Row {
  readonly id: string;
  readonly method: string;
  /** With `:name` places. */
  readonly path: string;
}

export const nounOf = ({ id }: Row): string => id.slice(0, id.indexOf('.'));

export const placesIn = ({ path }: Row): string[] =>
  path.split('/').flatMap(part => (part.startsWith(':') ? [part.slice(1)] : []));

/** The path of a row with its places filled; throws for one that nothing is known for. */
export const pathOf = (row: Row, known: (name: string) => string | undefined): string =>
  row.path.replace(/:(\w+)/g, (_, name: string) => {
    const value = known(name);
    if (value === undefined) throw new Error(`nothing is known for the place ${name} of ${row.id}`);
    return encodeURIComponent(value);
  });

/** An id of the same form that never was. */
export const strangeTo = (id: string): string => id.slice(0, -1) + (id.endsWith('0') ? '1' : '0');

const TIMES = /"?\b\d{4}-\d\d-\d\dT[\d:.]+Z"?|\b\d{13}\b/g;
/** When something was last used is written some time later. */
const NEVER_YET = /(?<="last\w+":)null/g;
/** How long something took differs each time, and with it what took most. */
const LASTED = /(?<="milliseconds":)[\d.]+|(?<="isHeaviest":)(?:true|false)/g;
const PASSING = ['date', 'content-length', 'keep-alive'];

/** Everything that an answer tells but for what passes by itself, times and the length, in one text. */
export function told({ status, headers, body }: HostedAnswer): string {
  const lasting = Object.entries(headers).filter(([name]) => !PASSING.includes(name));
  return JSON.stringify([status, Object.fromEntries(lasting), body])
    .replace(TIMES, '<time>')
    .replace(LASTED, '<time>')
    .replace(NEVER_YET, '<time>');
}

/** The same of a request that named something, without the name. */
export const toldBut = (named: string, answer: HostedAnswer): string =>
  told(answer).replaceAll(named, '<id>');
