import type { Declared } from '../../config/declared.ts';
import type { Configuration } from '../../config/load.ts';
import type { PlainMap } from '../../config/plain.ts';
import type { Component, ComponentKind } from '../../pipelines/component.ts';
import { writable } from '../config/item-body.ts';
import type { House } from '../verb.ts';

/** An input or output that a file declares, that was seen in a pipeline, or both: then it is one. */
export interface KnownComponent {
  readonly kind: ComponentKind;
  readonly id: string;
  readonly type: string;
  readonly group: string;
  readonly declared: Declared | undefined;
  readonly component: Component | undefined;
}

/** Where the house's components and a configuration's declarations come together. */
export type Sight = Pick<House, 'components'> & { readonly now: Configuration };

export const sightOf = (house: House): Sight => ({
  components: house.components,
  now: house.configuration(),
});

/** All of a kind: the declared ones in the order of their file, then those that were only seen. */
export function knownComponents({ components, now }: Sight, kind: ComponentKind): KnownComponent[] {
  const declared = now[`${kind}s`];
  const ids = new Set(declared.map(({ id }) => id));
  const seen = components.all().filter(component => component.kind === kind);
  const named = new Map(ids.size === 0 ? [] : seen.map(component => [component.id, component]));
  return [
    ...declared.map(one => fromFile(one, named.get(one.id))),
    ...seen.filter(({ id }) => !ids.has(id)).map(fromPipeline),
  ];
}

export function findComponent(
  { components, now }: Sight,
  kind: ComponentKind,
  id: string,
): KnownComponent | undefined {
  const declared = now[`${kind}s`].find(one => one.id === id);
  const component = components.all().find(one => one.kind === kind && one.id === id);
  if (declared !== undefined) return fromFile(declared, component);
  return component && fromPipeline(component);
}

/** A file that names no group leaves it to the pipeline. */
function fromFile(declared: Declared, component: Component | undefined): KnownComponent {
  const { kind, id, type } = declared;
  const isGrouped = declared.value.group !== undefined;
  const group = isGrouped || component === undefined ? declared.group : component.group;
  return { kind, id, type, group, declared, component };
}

function fromPipeline(component: Component): KnownComponent {
  const { kind, id, type, group } = component;
  return { kind, id, type, group, declared: undefined, component };
}

/** What the configuration says of it, defaults included. */
export function settingsOf({ id, type, group, declared }: KnownComponent): PlainMap {
  const own = { id, type, disabled: declared?.disabled ?? false, group };
  return declared === undefined ? own : { ...writable(declared.value), ...own };
}
