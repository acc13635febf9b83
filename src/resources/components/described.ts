import type { PlainMap } from '../../config/plain.ts';
import { matcher } from '../../notifications/subjects.ts';
import type { Component, ComponentStatus } from '../../pipelines/component.ts';
import { type KnownComponent, type Sight, settingsOf } from './known.ts';

/** A component with how it is now and the notifications that watch it. */
export interface DescribedComponent {
  readonly settings: PlainMap;
  /** As it was seen; undefined when it never was. */
  readonly component: Component | undefined;
  readonly isDeclared: boolean;
  readonly status: ComponentStatus;
  /** Settings of the notifications whose conf means this component. */
  readonly notifications: readonly object[];
}

/** Made once per answer: reads the configuration once for all components of a page. */
export function describer({ components, now }: Sight): (known: KnownComponent) => DescribedComponent {
  const watching = now.notifications.flatMap(({ rule, settings }) =>
    rule.source === 'component' ? { settings, matches: matcher(rule.conf, rule.kind) } : [],
  );
  return known => {
    const component = known.component ?? asNeverSeen(known);
    return {
      settings: settingsOf(known),
      component: known.component,
      isDeclared: known.declared !== undefined,
      status: components.status(component),
      notifications: watching.filter(one => one.matches(component)).map(one => one.settings),
    };
  };
}

/** No pipeline has it, so that its status is unknown. */
const asNeverSeen = ({ kind, id, type, group }: KnownComponent): Component => ({
  group,
  pipeline: '',
  engine: '',
  kind,
  type,
  engineId: id,
  id,
});
