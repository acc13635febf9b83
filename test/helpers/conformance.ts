import { readText, tableRows } from './markdown.ts';

/** A test that docs/conformance.md names. `name` is as its file has it, places such as `%s` included. */
export interface NamedTest {
  readonly file: string;
  readonly name: string;
}

/** What each row of docs/conformance.md is proved by. Throws where one names nothing. */
export function conformanceTests(): readonly NamedTest[] {
  return tableRows(readText('docs/conformance.md')).flatMap(([says, proof = '']) =>
    proof.split('<br>').map(text => {
      const [, file, name] = /^(\S+\.test\.ts): (.+)$/.exec(text.trim()) ?? [];
      if (file === undefined || name === undefined) throw new Error(`nothing proves "${says}": ${text}`);
      return { file, name };
    }),
  );
}

/** Matches the names of tests that a name with places, `%s` or `${…}`, stands for. */
export function namePattern(name: string): RegExp {
  const parts = name.split(/%[sjiof]|\$\{[^}]*\}/).map(part => part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'));
  return new RegExp(`^${parts.join('.*')}$`, 's');
}
