import { createHash } from 'node:crypto';
import type { Clock } from '../lib/clock.ts';
import { unsliced } from '../lib/unsliced.ts';
import type { Component, ComponentKind } from './component.ts';
import type { RuleGauge } from './engines/profile.ts';
import { COUNTERS, type Counter, METRICS, type Metric } from './metric.ts';
import type { Row } from './state.ts';

export type Identity = Omit<Component, 'id'>;

/** Every component there is, over all pipelines. */
export interface Rows {
  readonly revision: number;
  readonly size: number;
  all(): readonly Component[];
  of(component: Component): Row | undefined;
  /** All rows of a pipeline. */
  in(pipeline: string): Iterable<Row>;
  countIn(pipeline: string): number;
  /** Without a type, whichever component of the pipeline has this kind and engine id. */
  find(pipeline: string, kind: ComponentKind, type: string | undefined, engineId: string): Row | undefined;
  /** Undefined when there are as many as allowed. `id` is the one it had before, if any. */
  add(identity: Identity, id?: string): Row | undefined;
  remove(row: Row): void;
}

const BITS = new Map<string, number>(METRICS.map((metric, at) => [metric, 1 << at]));

/** The bit of `known` for a metric; the queue in bytes counts as the queue. */
export function bitOf(metric: Counter | RuleGauge): number {
  if (metric === 'queue_bytes') return BITS.get('queue_size') ?? 0;
  if (metric === 'queue_capacity_bytes') return BITS.get('queue_capacity') ?? 0;
  return BITS.get(metric) ?? 0;
}

export const knows = (row: Row, metric: Metric): boolean => (row.known & bitOf(metric)) !== 0;

interface Index {
  readonly byName: Map<string, Row>;
  readonly byEngineId: Readonly<Record<ComponentKind, Map<string, Row>>>;
}

const nameKey = ({ kind, type, engineId }: Pick<Identity, 'kind' | 'type' | 'engineId'>): string =>
  `${kind}\n${type}\n${engineId}`;

export function createRows(clock: Clock, limit: number): Rows {
  const pipelines = new Map<string, Index>();
  const rows = new Map<Component, Row>();
  const ids = { input: new Set<string>(), output: new Set<string>() };
  let revision = 0;
  let listed: { revision: number; components: readonly Component[] } = { revision: 0, components: [] };

  function indexOf(pipeline: string): Index {
    let index = pipelines.get(pipeline);
    if (index === undefined) {
      index = { byName: new Map(), byEngineId: { input: new Map(), output: new Map() } };
      pipelines.set(pipeline, index);
    }
    return index;
  }

  return {
    get revision() {
      return revision;
    },
    get size() {
      return rows.size;
    },
    all() {
      if (listed.revision !== revision) listed = { revision, components: [...rows.keys()] };
      return listed.components;
    },
    of: component => rows.get(component),
    in: pipeline => pipelines.get(pipeline)?.byName.values() ?? [],
    countIn: pipeline => pipelines.get(pipeline)?.byName.size ?? 0,
    find(pipeline, kind, type, engineId) {
      const index = pipelines.get(pipeline);
      return type === undefined
        ? index?.byEngineId[kind].get(engineId)
        : index?.byName.get(nameKey({ kind, type, engineId }));
    },
    add(found, id) {
      if (rows.size >= limit) return undefined;
      const identity = { ...found, type: unsliced(found.type), engineId: unsliced(found.engineId) };
      const taken = ids[identity.kind];
      const component = {
        ...identity,
        id: id !== undefined && !taken.has(id) ? id : freeId(identity, taken),
      };
      taken.add(component.id);
      const monotonic = clock.monotonic();
      const row: Row = {
        component,
        totals: COUNTERS.map(() => 0),
        known: 0,
        silentSince: monotonic,
        lastDataAt: null,
        timestamp: null,
        lifeAt: monotonic,
        replicas: [],
        windows: [],
      };
      rows.set(component, row);
      const index = indexOf(identity.pipeline);
      index.byName.set(unsliced(nameKey(identity)), row);
      const byId = index.byEngineId[identity.kind];
      if (!byId.has(identity.engineId)) byId.set(identity.engineId, row);
      revision++;
      return row;
    },
    remove(row) {
      const { component } = row;
      if (!rows.delete(component)) return;
      ids[component.kind].delete(component.id);
      const index = indexOf(component.pipeline);
      index.byName.delete(nameKey(component));
      const byId = index.byEngineId[component.kind];
      if (byId.get(component.engineId) === row) byId.delete(component.engineId);
      if (index.byName.size === 0) pipelines.delete(component.pipeline);
      revision++;
    },
  };
}

const LONGEST_ID = 512;

/** The engine's id with other characters as `_`; when that is taken, with the first hex digits of a hash of all that tells it apart. */
function freeId(identity: Identity, taken: ReadonlySet<string>): string {
  const slug = identity.engineId.replace(/[^a-zA-Z0-9_-]/g, '_').slice(0, LONGEST_ID);
  const { group, pipeline, type, engineId } = identity;
  let id = slug;
  for (let attempt = 0; taken.has(id); attempt++) {
    const hash = createHash('sha256')
      .update([group, pipeline, type, engineId, attempt].join('\n'))
      .digest('hex');
    id = `${slug.slice(0, LONGEST_ID - 7)}_${hash.slice(0, 6)}`;
  }
  return id;
}
