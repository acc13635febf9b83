import { type ComponentIds, candidateIds } from '../../src/pipelines/components/component-ids.ts';

/** Gives ids at once, and keeps them for as long as it lives, where a test is about something else. */
export function idsAtOnce(): ComponentIds {
  const given = new Map<string, string>();
  const taken = new Set<string>();
  return {
    record(component, former, show) {
      const { kind, pipeline, type, engineId } = component;
      const identity = JSON.stringify([kind, pipeline, type, engineId]);
      let id = given.get(identity);
      for (const candidates = candidateIds(component, former); id === undefined; ) {
        const candidate = candidates.next().value;
        if (!taken.has(`${kind} ${candidate}`)) id = candidate;
      }
      given.set(identity, id);
      taken.add(`${kind} ${id}`);
      show(component, id);
    },
    recording: () => undefined,
    touch: async () => {},
    stop: async () => {},
  };
}
