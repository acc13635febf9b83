import type { Declared } from '../configuration.ts';
import { declaredSchema } from '../declared-schema.ts';
import type { Finding } from '../problems.ts';
import { fileOrigin, problemsOf } from '../schema-problems.ts';
import { type ConfigDocument, type ConfigItem, readItems, unknownSections } from '../yaml/document.ts';

export interface DeclaredReading {
  readonly declared: readonly Declared[];
  readonly items: readonly ConfigItem[];
  readonly problems: readonly Finding[];
}

/** Reads a file of declared components, whose one key is its section. */
export function readDeclared(document: ConfigDocument, kind: Declared['kind']): DeclaredReading {
  const section = `${kind}s`;
  const { items, problems } = readItems(document, section);
  const readings = items.map(item => readItem(document, item, kind));
  return {
    declared: readings.flatMap(({ declared }) => declared ?? []),
    items,
    problems: [
      ...document.problems,
      ...unknownSections(document, [section]),
      ...problems,
      ...readings.flatMap(reading => reading.problems),
    ],
  };
}

function readItem(
  document: ConfigDocument,
  { path, value }: ConfigItem,
  kind: Declared['kind'],
): { readonly declared?: Declared; readonly problems: readonly Finding[] } {
  const { success, data, error } = declaredSchema.safeParse(value);
  if (!success) {
    const origin = fileOrigin({ ...document, base: path });
    return { problems: problemsOf(error, { schema: declaredSchema, value, origin }) };
  }
  const { id, type, disabled, group } = data;
  return { declared: { kind, id, type, disabled, group, value: { ...value } }, problems: [] };
}
