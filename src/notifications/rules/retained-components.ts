import type { Clock } from '../../lib/clock.ts';
import type { Component } from '../../pipelines/components/component.ts';
import type { ActiveRule } from '../active-rule.ts';
import { createComponentMatcher, isExact, namesOf, subjectAmongEither, subjectOf } from '../subjects.ts';

/** Asked about many components in a row, so what it looks at is gathered once for all of them. */
const CACHE_MS = 1000;

/** Whether a component must not be forgotten: an incident on it is open, or a notification names it exactly. */
export function createRetention({
  clock,
  watches,
}: {
  readonly clock: Pick<Clock, 'monotonic'>;
  readonly watches: () => Iterable<ActiveRule>;
}): (component: Component) => boolean {
  let cachedAt = Number.NEGATIVE_INFINITY;
  const subjects = new Set<string>();
  const matchersByName = new Map<string, ((component: Component) => boolean)[]>();

  function refresh(): void {
    cachedAt = clock.monotonic();
    subjects.clear();
    matchersByName.clear();
    for (const active of watches()) {
      if (active.source !== 'component') continue;
      for (const key of active.incidents.keys()) subjects.add(key);
      const { conf, kind } = active.rule;
      if (isExact(conf))
        matchersByName.set(conf.name, [
          ...(matchersByName.get(conf.name) ?? []),
          createComponentMatcher(conf, kind),
        ]);
    }
  }

  return component => {
    if (clock.monotonic() - cachedAt >= CACHE_MS) refresh();
    const subject = subjectOf(component);
    if (subjects.has(subject.key) || subjects.has(subjectAmongEither(subject).key)) return true;
    return namesOf(component).some(name => matchersByName.get(name)?.some(matches => matches(component)));
  };
}
