import { compileNode, type Scope } from './compile.ts';
import type { Run } from './frame.ts';
import { parseAt, Refusal } from './syntax.ts';
import { isJsonAround, templateLiteral } from './template-literal.ts';

/** A text taken apart: `values[i]` stands between `texts[i]` and `texts[i + 1]`. */
export interface Places {
  readonly texts: readonly string[];
  readonly values: readonly Run[];
  /** Of each of `values`, the fields it reads by their names. */
  readonly namesOf: readonly (readonly string[])[];
}

/** Finds the `${…}` places of a text; all else in it is itself. Throws `Refusal`. */
export function placesOf(text: string, scope: Scope): Places {
  const texts: string[] = [];
  const values: Run[] = [];
  const namesOf: (readonly string[])[] = [];
  let at = 0;
  for (let open = text.indexOf('${'); open !== -1; open = text.indexOf('${', at)) {
    if (/^\$\{\s*\}/.test(text.slice(open))) throw new Refusal(open, 'nothing stands in ${}');
    if (!text.includes('}', open)) throw new Refusal(open, "'${' is not closed by '}'");
    const node = parseAt(text, open + 2);
    const close = node.end + (text.slice(node.end).length - text.slice(node.end).trimStart().length);
    if (text[close] !== '}') throw new Refusal(open, "'${' is not closed by '}'");
    texts.push(text.slice(at, open));
    const names = new Set<string>();
    values.push(compileNode(node, { ...scope, names }));
    namesOf.push([...names]);
    for (const name of names) scope.names.add(name);
    at = close + 1;
  }
  return { texts: [...texts, text.slice(at)], values, namesOf };
}

export function templateRun(text: string, scope: Scope): Run {
  const { texts, values } = placesOf(text, scope);
  return templateLiteral(texts, values);
}

/** The same of a text that is JSON around its places; throws `Refusal` for any other. */
export function jsonTextRun(text: string, scope: Scope): Run {
  const { texts, values } = placesOf(text, scope);
  if (!isJsonAround(texts)) throw new Refusal(0, 'is no JSON around its places');
  return templateLiteral(texts, values);
}
