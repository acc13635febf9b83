import { createHash } from 'node:crypto';
import type { Clock } from '../../lib/clock.ts';
import { copyText } from '../../lib/text.ts';
import type { RuleGauge } from '../engines/profile.ts';
import { COUNTERS, type ComponentKind, type Counter, METRICS, type Metric } from '../metric.ts';
import type { Component } from './component.ts';
import type { ComponentState } from './state.ts';

export type ComponentIdentity = Omit<Component, 'id'>;

/** Every component there is, over all pipelines. */
export interface ComponentRegistry {
  /** Changes whenever a component appears or goes. */
  readonly revision: number;
  readonly size: number;
  all(): readonly Component[];
  stateOf(component: Component): ComponentState | undefined;
  inPipeline(pipeline: string): Iterable<ComponentState>;
  countIn(pipeline: string): number;
  /** Without a type, whichever component of the pipeline has this kind and engine id. */
  find(
    pipeline: string,
    kind: ComponentKind,
    type: string | undefined,
    engineId: string,
  ): ComponentState | undefined;
  /** Undefined when there are as many as allowed. `id` is the one it had before, if any. */
  add(identity: ComponentIdentity, id?: string): ComponentState | undefined;
  remove(state: ComponentState): void;
}

const BITS = new Map<string, number>(METRICS.map((metric, at) => [metric, 1 << at]));

/** The bit of `knownMetrics` for a metric; the queue in bytes counts as the queue. */
export function bitOf(metric: Counter | RuleGauge): number {
  if (metric === 'queue_bytes') return BITS.get('queue_size') ?? 0;
  if (metric === 'queue_capacity_bytes') return BITS.get('queue_capacity') ?? 0;
  return BITS.get(metric) ?? 0;
}

export const hasMetric = (state: ComponentState, metric: Metric): boolean =>
  (state.knownMetrics & bitOf(metric)) !== 0;

export const createComponentRegistry = (clock: Clock, limit: number): ComponentRegistry =>
  new IndexedRegistry(clock, limit);

/** The components of one pipeline. */
interface PipelineIndex {
  readonly byName: Map<string, ComponentState>;
  readonly byEngineId: Readonly<Record<ComponentKind, Map<string, ComponentState>>>;
}

class IndexedRegistry implements ComponentRegistry {
  revision = 0;
  readonly #clock: Clock;
  readonly #limit: number;
  readonly #states = new Map<Component, ComponentState>();
  readonly #pipelines = new Map<string, PipelineIndex>();
  /** Ids in use; they are unique per kind. */
  readonly #ids = { input: new Set<string>(), output: new Set<string>() };
  #listed: { revision: number; components: readonly Component[] } = { revision: 0, components: [] };

  constructor(clock: Clock, limit: number) {
    this.#clock = clock;
    this.#limit = limit;
  }

  get size(): number {
    return this.#states.size;
  }

  all(): readonly Component[] {
    if (this.#listed.revision !== this.revision)
      this.#listed = { revision: this.revision, components: [...this.#states.keys()] };
    return this.#listed.components;
  }

  stateOf(component: Component): ComponentState | undefined {
    return this.#states.get(component);
  }

  inPipeline(pipeline: string): Iterable<ComponentState> {
    return this.#pipelines.get(pipeline)?.byName.values() ?? [];
  }

  countIn(pipeline: string): number {
    return this.#pipelines.get(pipeline)?.byName.size ?? 0;
  }

  find(
    pipeline: string,
    kind: ComponentKind,
    type: string | undefined,
    engineId: string,
  ): ComponentState | undefined {
    const index = this.#pipelines.get(pipeline);
    return type === undefined
      ? index?.byEngineId[kind].get(engineId)
      : index?.byName.get(nameKey({ kind, type, engineId }));
  }

  add(found: ComponentIdentity, id?: string): ComponentState | undefined {
    if (this.#states.size >= this.#limit) return undefined;
    const identity = { ...found, type: copyText(found.type), engineId: copyText(found.engineId) };
    const taken = this.#ids[identity.kind];
    const component = {
      ...identity,
      id: id !== undefined && !taken.has(id) ? id : freeId(identity, taken),
    };
    taken.add(component.id);
    const state = newState(component, this.#clock.monotonic());
    this.#states.set(component, state);
    const index = this.#indexOf(identity.pipeline);
    index.byName.set(copyText(nameKey(identity)), state);
    const byId = index.byEngineId[identity.kind];
    if (!byId.has(identity.engineId)) byId.set(identity.engineId, state);
    this.revision++;
    return state;
  }

  remove(state: ComponentState): void {
    const { component } = state;
    if (!this.#states.delete(component)) return;
    this.#ids[component.kind].delete(component.id);
    const index = this.#indexOf(component.pipeline);
    index.byName.delete(nameKey(component));
    const byId = index.byEngineId[component.kind];
    if (byId.get(component.engineId) === state) byId.delete(component.engineId);
    if (index.byName.size === 0) this.#pipelines.delete(component.pipeline);
    this.revision++;
  }

  #indexOf(pipeline: string): PipelineIndex {
    let index = this.#pipelines.get(pipeline);
    if (index === undefined) {
      index = { byName: new Map(), byEngineId: { input: new Map(), output: new Map() } };
      this.#pipelines.set(pipeline, index);
    }
    return index;
  }
}

const newState = (component: Component, monotonic: number): ComponentState => ({
  component,
  totals: COUNTERS.map(() => 0),
  knownMetrics: 0,
  silentSince: monotonic,
  lastDataAt: null,
  timestamp: null,
  lastSeenAt: monotonic,
  replicas: [],
  windows: [],
});

const nameKey = ({ kind, type, engineId }: Pick<ComponentIdentity, 'kind' | 'type' | 'engineId'>): string =>
  `${kind}\n${type}\n${engineId}`;

const LONGEST_ID = 512;

/**
 * The engine's id with other characters as `_`; when that is taken, with the first hex digits of a hash of all that
 * makes it different.
 */
function freeId(identity: ComponentIdentity, taken: ReadonlySet<string>): string {
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
