import { matcher } from '../../notifications/subjects.ts';
import type { Component, ComponentStatus } from '../../pipelines/component.ts';
import type { House } from '../verb.ts';

/** A component with how it is now and the notifications that watch it. */
export interface DescribedComponent {
  readonly component: Component;
  readonly status: ComponentStatus;
  /** Settings of the notifications whose conf means this component. */
  readonly notifications: readonly object[];
}

/** Made once per answer: reads the configuration once for all components of a page. */
export function describer(house: House): (component: Component) => DescribedComponent {
  const watching = house.configuration().notifications.map(({ rule, settings }) => ({
    settings,
    matches: matcher(rule.conf, rule.condition.kind),
  }));
  return component => ({
    component,
    status: house.components.status(component),
    notifications: watching.filter(one => one.matches(component)).map(one => one.settings),
  });
}
