import type { Fact } from './storage.ts';

/** With more ids of one noun than this, listeners read anew rather than one by one. */
const MOST_IDS = 20;
export const MANY = '*';

/** Notes the fact of what is written for the whole installation, if that goes well. */
export type OfInstallation = <Result>(
  noun: Fact['noun'],
  id: string,
  written: Promise<Result>,
) => Promise<Result>;

/** Each fact once; more than 20 ids of one noun in one workspace become one fact of many. */
export function coalesce(facts: readonly Fact[]): readonly Fact[] {
  const first = new Map<string, Map<Fact['noun'], Map<string, Fact>>>();
  for (const fact of facts) {
    const nouns = first.get(fact.workspace) ?? new Map<Fact['noun'], Map<string, Fact>>();
    first.set(fact.workspace, nouns);
    const ids = nouns.get(fact.noun) ?? new Map<string, Fact>();
    nouns.set(fact.noun, ids);
    if (ids.size <= MOST_IDS) ids.set(fact.id, fact);
  }
  return [...first].flatMap(([workspace, nouns]) =>
    [...nouns].flatMap(([noun, ids]) =>
      ids.size > MOST_IDS || ids.has(MANY) ? [{ workspace, noun, id: MANY }] : [...ids.values()],
    ),
  );
}
