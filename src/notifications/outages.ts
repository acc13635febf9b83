import type { IncidentRow } from '../storage/storage.ts';
import type { PipelineWatch, Watch } from './watch.ts';

/** Notifications on pipelines that are in force, and which of them say that a pipeline is unreachable. */
export interface Outages {
  /** Looks anew which notifications are in force. */
  configure(): void;
  watches(): readonly PipelineWatch[];
  /** The open incidents on a pipeline. */
  of(pipeline: string): readonly IncidentRow[];
}

export function createOutages(all: ReadonlyMap<string, Watch>): Outages {
  let watches: readonly PipelineWatch[] = [];
  return {
    configure() {
      watches = [...all.values()].filter(watch => watch.source === 'pipeline');
    },
    watches: () => watches,
    of: pipeline => watches.flatMap(({ incidents }) => incidents.get(pipeline)?.row ?? []),
  };
}
