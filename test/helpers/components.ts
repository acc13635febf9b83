import type { Clock } from '../../src/lib/clock.ts';
import type {
  Component,
  ComponentStatus,
  Components,
  PipelineState,
  PresenceFinding,
} from '../../src/pipelines/components/component.ts';

/** A table of components whose silence follows the clock: what the pipelines room would say, without a pipeline. */
export interface TestComponents extends Components {
  /** A component of pipeline `edge` (or another) appears; it is silent from now on. */
  add(engineId: string, options?: { readonly pipeline?: string; readonly group?: string }): Component;
  /** Data arrives. */
  data(component: Component): void;
  /** The pipeline cannot be read from now on. */
  lose(pipeline: string, error: string): void;
  /** It can be read again; `readings` is how often it was tried since it is watched. */
  regain(pipeline: string, readings?: number): void;
  /** The pipeline and its components are gone from the configuration. */
  remove(pipeline: string): void;
}

export function testComponents(clock: Pick<Clock, 'now' | 'monotonic'>): TestComponents {
  /** On the monotonic clock: when data came last, or when it was first seen. */
  const silentSince = new Map<Component, number>();
  const hadData = new Set<Component>();
  const pipelines = new Map<string, PipelineState>();
  /** On the monotonic clock: since when a pipeline is not read any more. */
  const lostAt = new Map<string, number>();
  let revision = 0;

  const presenceOf = ({ pipeline }: Component): PresenceFinding => {
    if (lostAt.has(pipeline))
      return {
        presence: 'unknown',
        reason: `pipeline unreachable: ${pipelines.get(pipeline)?.error ?? 'no reason'}`,
      };
    return { presence: 'present', reason: null };
  };

  const status = (component: Component): ComponentStatus => ({
    health: 'Green',
    presence: presenceOf(component).presence,
    healthCounts: { Green: 1, Yellow: 0, Red: 0, Unknown: 0 },
    timestamp: clock.now(),
    metrics: {},
    error: null,
    replicas: 1,
    lastDataAt: hadData.has(component) ? clock.now() : null,
    silentMs: clock.monotonic() - (silentSince.get(component) ?? 0),
  });

  function stateOf(id: string): PipelineState | undefined {
    const state = pipelines.get(id);
    const since = lostAt.get(id);
    return state && { ...state, unreachedMs: since === undefined ? 0 : clock.monotonic() - since };
  }

  return {
    get revision() {
      return revision;
    },
    all: () => [...silentSince.keys()],
    status,
    silentMs: component => status(component).silentMs,
    lastDataAt: component => status(component).lastDataAt,
    hosts: () => [],
    presence: presenceOf,
    unreadMs: () => 0,
    hasMetric: () => false,
    measure: () => undefined,
    queueUsage: () => undefined,
    usual: () => undefined,
    observed: () => undefined,
    pipeline: stateOf,
    pipelines: () => [...pipelines.keys()].flatMap(id => stateOf(id) ?? []),
    add(engineId, { pipeline = 'edge', group = 'default' } = {}) {
      const component: Component = {
        group,
        pipeline,
        engine: 'vector',
        kind: 'input',
        type: 'syslog',
        engineId,
        id: engineId,
      };
      silentSince.set(component, clock.monotonic());
      pipelines.set(pipeline, {
        id: pipeline,
        engine: 'vector',
        group,
        mode: 'pull',
        url: 'http://127.0.0.1:1/metrics',
        state: 'reachable',
        lastAt: clock.now(),
        unreachableSince: null,
        error: null,
        unrecognised: null,
        uncounted: null,
        readings: 10,
        unreachedMs: 0,
        instances: 1,
        components: 1,
        bytesPerEvent: null,
      });
      revision += 1;
      return component;
    },
    data(component) {
      silentSince.set(component, clock.monotonic());
      hadData.add(component);
    },
    lose(id, error) {
      const state = pipelines.get(id);
      if (state !== undefined)
        pipelines.set(id, { ...state, state: 'unreachable', unreachableSince: clock.now(), error });
      lostAt.set(id, clock.monotonic());
    },
    regain(id, readings = 10) {
      const state = pipelines.get(id);
      if (state !== undefined)
        pipelines.set(id, { ...state, state: 'reachable', unreachableSince: null, error: null, readings });
      lostAt.delete(id);
    },
    remove(id) {
      pipelines.delete(id);
      for (const component of silentSince.keys())
        if (component.pipeline === id) silentSince.delete(component);
      revision += 1;
    },
  };
}
