import { join } from 'node:path';
import type { ConfigProblem } from './problems.ts';
import { quote } from './quote.ts';
import { asFileText, readFileText, withoutMark } from './text.ts';
import { readYaml } from './yaml.ts';
import { createPlaces, type Places } from './yaml-places.ts';

/** A file of the configuration as it was found. */
export interface ConfigDocument {
  readonly file: string;
  /** As it was read; undefined for a file that is missing or cannot be read. */
  readonly text: string | undefined;
  /** A map; empty for a file that is missing or holds comments only. */
  readonly value: object;
  readonly places: Places;
  readonly problems: readonly ConfigProblem[];
  /** False when nothing can be said about what the file holds. */
  readonly readable: boolean;
}

/** Reads one file of the folder, or a text that counts in its place. A file that is missing counts as empty. */
export function readDocument(folder: string, name: string, given?: string): ConfigDocument {
  const file = join(folder, name);
  const nowhere = createPlaces('', () => []);
  const unreadable = (
    problems: readonly Omit<ConfigProblem, 'file' | 'path'>[],
    text?: string,
  ): ConfigDocument => ({
    file,
    text,
    value: {},
    places: nowhere,
    problems: problems.map(problem => ({ ...problem, file, path: '' })),
    readable: false,
  });

  const read = given === undefined ? readFileText(file) : asFileText(given);
  if (read.kind === 'missing')
    return { file, text: undefined, value: {}, places: nowhere, problems: [], readable: true };
  if (read.kind === 'unreadable') return unreadable([{ line: read.line, column: 1, message: read.message }]);
  const { document, problems } = readYaml(withoutMark(read.text));
  if (document === undefined) return unreadable(problems, read.text);
  const { value, places } = document;
  const content = value ?? {};
  if (typeof content !== 'object' || Array.isArray(content))
    return unreadable(
      [{ ...places.of([]), message: `must be a map of settings, not ${quote(content)}` }],
      read.text,
    );
  return {
    file,
    text: read.text,
    value: content,
    places,
    problems: problems.map(problem => ({ ...problem, file, path: '' })),
    readable: true,
  };
}
