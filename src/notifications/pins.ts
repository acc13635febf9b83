import type { Clock } from '../lib/clock.ts';
import type { Component } from '../pipelines/component.ts';
import { amongEither, isExact, matcher, namesOf, subjectOf } from './subjects.ts';
import type { Watch } from './watch.ts';

/** Asked about many components in a row, so what it looks at is gathered once for all of them. */
const GATHERED_FOR_MS = 1000;

/** Whether a component must not be forgotten: an incident on it is open, or a notification names it exactly. */
export function createPins({
  clock,
  watches,
}: {
  readonly clock: Pick<Clock, 'monotonic'>;
  readonly watches: () => Iterable<Watch>;
}): (component: Component) => boolean {
  let gatheredAt = Number.NEGATIVE_INFINITY;
  const subjects = new Set<string>();
  const meant = new Map<string, ((component: Component) => boolean)[]>();

  function gather(): void {
    gatheredAt = clock.monotonic();
    subjects.clear();
    meant.clear();
    for (const watch of watches()) {
      if (watch.source !== 'component') continue;
      for (const key of watch.incidents.keys()) subjects.add(key);
      const { conf, kind } = watch.rule;
      if (isExact(conf)) meant.set(conf.name, [...(meant.get(conf.name) ?? []), matcher(conf, kind)]);
    }
  }

  return component => {
    if (clock.monotonic() - gatheredAt >= GATHERED_FOR_MS) gather();
    const subject = subjectOf(component);
    if (subjects.has(subject.key) || subjects.has(amongEither(subject).key)) return true;
    return namesOf(component).some(name => meant.get(name)?.some(matches => matches(component)));
  };
}
