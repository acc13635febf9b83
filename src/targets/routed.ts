import type { HeadgateEvent } from '../events/event.ts';
import type { Target } from './target.ts';

/** Ids with each target that routes exchanged for where it leads, as far as that goes; nobody is named twice. */
export function routedTo(
  ids: readonly string[],
  event: HeadgateEvent,
  targets: ReadonlyMap<string, Target>,
): readonly string[] {
  const reached = new Set<string>();
  /** Circles are refused in a configuration; former targets may make one with those of today. */
  const passed = new Set<string>();
  function follow(id: string): void {
    const target = targets.get(id);
    if (target?.routes === undefined) {
      if (target !== undefined) reached.add(id);
      return;
    }
    if (passed.has(id)) return;
    passed.add(id);
    for (const next of target.routes(event)) follow(next);
  }
  for (const id of ids) follow(id);
  return [...reached];
}
