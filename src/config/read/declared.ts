import type { Declared } from '../configuration.ts';
import { declaredSchema } from '../declared-schema.ts';
import { type Finding, type FindingList, findingList } from '../problems.ts';
import { fileOrigin, problemsOf } from '../schema-problems.ts';
import { type ConfigDocument, type ConfigItem, readItems, unknownSections } from '../yaml/document.ts';

export interface DeclaredReading {
  readonly declared: readonly Declared[];
  readonly items: readonly ConfigItem[];
  readonly problems: FindingList;
}

/** Reads a file of declared components, whose one key is its section. */
export function readDeclared(document: ConfigDocument, kind: Declared['kind']): DeclaredReading {
  const section = `${kind}s`;
  const { items, problems } = readItems(document, section);
  const found = findingList(document.problems, unknownSections(document, [section]), problems);
  const declared: Declared[] = [];
  for (const item of items) {
    if (found.isFull) break;
    const reading = readItem(document, item, kind);
    if (reading.declared !== undefined) declared.push(reading.declared);
    found.addAll(reading.problems);
  }
  return { declared, items, problems: found };
}

function readItem(
  document: ConfigDocument,
  { path, value }: ConfigItem,
  kind: Declared['kind'],
): { readonly declared?: Declared; readonly problems: FindingList | readonly Finding[] } {
  const { success, data, error } = declaredSchema.safeParse(value);
  if (!success) {
    const origin = fileOrigin({ ...document, base: path });
    return { problems: problemsOf(error, { schema: declaredSchema, value, origin }) };
  }
  const { id, type, disabled, group } = data;
  return { declared: { kind, id, type, disabled, group, value: { ...value } }, problems: [] };
}
