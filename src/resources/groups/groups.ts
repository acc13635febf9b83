import type { Configuration } from '../../config/load.ts';

/** A named set of pipelines. */
export interface Group {
  readonly id: string;
  /** Ids of the pipelines in it. */
  readonly pipelines: readonly string[];
}

const DEFAULT_GROUP = 'default';

const known = new WeakMap<Configuration, ReadonlyMap<string, Group>>();

/** Every group that something of the configuration is in, the default one first. Kept, as every call may ask. */
export function groupsOf(configuration: Configuration): ReadonlyMap<string, Group> {
  const found = known.get(configuration) ?? readGroups(configuration);
  known.set(configuration, found);
  return found;
}

function readGroups({ settings, inputs, outputs, notifications }: Configuration): Map<string, Group> {
  const { pipelines } = settings;
  const named = [...pipelines, ...inputs, ...outputs, ...notifications].map(({ group }) => group);
  const ids = [...new Set(named)].filter(id => id !== DEFAULT_GROUP).sort();
  return new Map(
    [DEFAULT_GROUP, ...ids].map(id => [
      id,
      { id, pipelines: pipelines.filter(({ group }) => group === id).map(pipeline => pipeline.id) },
    ]),
  );
}
