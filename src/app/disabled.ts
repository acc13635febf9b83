import type { Subject } from '../conditions/condition.ts';
import type { Declared } from '../config/declared.ts';
import type { Configuration } from '../config/load.ts';
import type { ComponentKind } from '../pipelines/component.ts';

export type IsDisabled = (kind: ComponentKind, subject: Subject) => boolean;

/** Which inputs and outputs a configuration declares as disabled, also those that were never seen. */
export function disabledIn({ inputs, outputs }: Configuration): IsDisabled {
  const names = { input: namesOf(inputs), output: namesOf(outputs) };
  return (kind, { component, name }) => names[kind].has(component?.id ?? name);
}

/** Ids and, as conditions may name one that was never seen, `type:id`. */
const namesOf = (declared: readonly Declared[]): ReadonlySet<string> =>
  new Set(declared.filter(({ disabled }) => disabled).flatMap(({ id, type }) => [id, `${type}:${id}`]));
