import type { Clock } from '../../lib/clock.ts';
import { copyText } from '../../lib/text.ts';
import type { RuleGauge } from '../engines/profile.ts';
import { type ComponentKind, type Counter, METRICS, type Metric, WINDOWED } from '../metric.ts';
import type { Component } from './component.ts';
import type { ComponentIdentity, ComponentIds, Unnamed } from './component-ids.ts';
import type { ComponentState, ScrapeSourceState } from './state.ts';

/** Every component there is, over all pipelines. One whose id is not recorded yet is counted and found, and not shown. */
export interface ComponentRegistry {
  /** Changes whenever a component appears or goes. */
  readonly revision: number;
  readonly size: number;
  /** Those that have their id. */
  all(): readonly Component[];
  /** Sources whose last reading is being committed: it is there for whoever reads a state, though not in every state yet. */
  readonly unsettled: Set<ScrapeSourceState>;
  /** Undefined for one that has no id yet. */
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
  /** Undefined when there are as many as allowed. `former` is the id it had before, if any. */
  add(identity: ComponentIdentity, former?: string): ComponentState | undefined;
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

interface Options {
  readonly clock: Pick<Clock, 'monotonic'>;
  readonly limit: number;
  readonly ids: Pick<ComponentIds, 'record'>;
}

export const createComponentRegistry = (options: Options): ComponentRegistry => new IndexedRegistry(options);

/** The components of one pipeline. */
interface PipelineIndex {
  readonly byName: Map<string, ComponentState>;
  readonly byEngineId: Readonly<Record<ComponentKind, Map<string, ComponentState>>>;
}

class IndexedRegistry implements ComponentRegistry {
  revision = 0;
  readonly unsettled = new Set<ScrapeSourceState>();
  readonly #clock: Options['clock'];
  readonly #limit: number;
  readonly #recorder: Options['ids'];
  /** Those that wait for their id. */
  readonly #unnamed = new Map<Unnamed, ComponentState>();
  readonly #states = new Map<Component, ComponentState>();
  readonly #pipelines = new Map<string, PipelineIndex>();
  #listed: { revision: number; components: readonly Component[] } = { revision: 0, components: [] };

  constructor({ clock, limit, ids }: Options) {
    this.#clock = clock;
    this.#limit = limit;
    this.#recorder = ids;
  }

  get size(): number {
    return this.#states.size + this.#unnamed.size;
  }

  all(): readonly Component[] {
    if (this.#listed.revision !== this.revision)
      this.#listed = { revision: this.revision, components: [...this.#states.keys()] };
    return this.#listed.components;
  }

  stateOf(component: Component): ComponentState | undefined {
    const state = this.#states.get(component);
    if (this.unsettled.size > 0)
      for (const replica of state?.replicas ?? []) replica.instance.source.settle?.(replica);
    return state;
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

  add(
    { group, pipeline, engine, kind, ...found }: ComponentIdentity,
    former?: string,
  ): ComponentState | undefined {
    if (this.size >= this.#limit) return undefined;
    const [type, engineId] = [copyText(found.type), copyText(found.engineId)];
    const component: Unnamed = { group, pipeline, engine, kind, type, engineId, id: '' };
    const state = newState(component, this.#clock.monotonic());
    this.#unnamed.set(component, state);
    const index = this.#indexOf(pipeline);
    index.byName.set(copyText(nameKey(component)), state);
    const byId = index.byEngineId[kind];
    if (!byId.has(engineId)) byId.set(engineId, state);
    this.#recorder.record(component, former, this.#show);
    return state;
  }

  remove(state: ComponentState): void {
    const { component } = state;
    if (!this.#unnamed.delete(component) && !this.#states.delete(component)) return;
    const index = this.#indexOf(component.pipeline);
    index.byName.delete(nameKey(component));
    const byId = index.byEngineId[component.kind];
    if (byId.get(component.engineId) === state) byId.delete(component.engineId);
    if (index.byName.size === 0) this.#pipelines.delete(component.pipeline);
    this.revision++;
  }

  /** One for all, as many may wait at a time. */
  readonly #show = (component: Unnamed, id: string): void => {
    const state = this.#unnamed.get(component);
    if (state === undefined) return;
    this.#unnamed.delete(component);
    component.id = id;
    this.#states.set(component, state);
    this.revision++;
  };

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
  totals: WINDOWED.map(() => 0),
  unobserved: undefined,
  endedSilence: undefined,
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
