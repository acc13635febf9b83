import type { ConfigDocument } from './document.ts';
import { unknownKeyText } from './issues.ts';
import { type ConfigProblem, formatPath } from './problems.ts';

/** Top keys of a file that are none of its sections. */
export function unknownSections(document: ConfigDocument, sections: readonly string[]): ConfigProblem[] {
  return Object.keys(document.value)
    .filter(key => !sections.includes(key))
    .map(key => ({
      file: document.file,
      path: formatPath([key]),
      ...document.places.ofKey([key]),
      message: unknownKeyText(key, sections),
    }));
}
