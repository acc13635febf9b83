import type { Configuration } from '../config/configuration.ts';

/** A named set of pipelines. */
export interface PipelineGroup {
  readonly id: string;
  /** Ids of the pipelines in it. */
  readonly pipelines: readonly string[];
}

const DEFAULT_GROUP = 'default';

const cache = new WeakMap<Configuration, ReadonlyMap<string, PipelineGroup>>();

/** Every group that something of the configuration is in, the default one first. Kept, as every call may ask. */
export function groupsOf(configuration: Configuration): ReadonlyMap<string, PipelineGroup> {
  const found = cache.get(configuration) ?? readGroups(configuration);
  cache.set(configuration, found);
  return found;
}

function readGroups({ settings, inputs, outputs, notifications }: Configuration): Map<string, PipelineGroup> {
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
