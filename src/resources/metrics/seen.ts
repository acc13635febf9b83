import { matcher } from '../../notifications/subjects.ts';
import type { Component, ComponentKind } from '../../pipelines/component.ts';
import { knownComponents, sightOf } from '../components/known.ts';
import type { Call } from '../verb.ts';

const KINDS = ['input', 'output'] as const satisfies readonly ComponentKind[];

/** A component that a pipeline has, in the group it counts to. */
export interface SeenComponent {
  readonly component: Component;
  readonly group: string;
  readonly isDisabled: boolean;
}

/** Those of the call's group that one of the names means, as in the `conf` of a notification; without names all. */
export function seenComponents(
  { house, group }: Pick<Call, 'house' | 'group'>,
  {
    kind,
    names,
  }: { readonly kind?: ComponentKind | undefined; readonly names?: readonly string[] | undefined },
): readonly SeenComponent[] {
  const sight = sightOf(house);
  return KINDS.filter(one => kind === undefined || one === kind).flatMap(one => {
    const matches = names?.map(name => matcher({ name }, one));
    return knownComponents(sight, one).flatMap(({ component, declared, group: own }) =>
      component !== undefined &&
      (group === undefined || own === group) &&
      (matches === undefined || matches.some(isMeant => isMeant(component)))
        ? [{ component, group: own, isDisabled: declared?.disabled ?? false }]
        : [],
    );
  });
}
