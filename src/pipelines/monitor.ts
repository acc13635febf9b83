/**
 * Watches the configured pipelines: reads the ones with a url, takes what the others push, and keeps
 * how every input and output is. It knows counters and silence over a restart by a snapshot.
 */
import { join } from 'node:path';
import type { Clock } from '../lib/clock.ts';
import { digestOf, isSameDigest } from '../lib/digest.ts';
import { notFound, reasonOf } from '../lib/errors.ts';
import type { HttpClient } from '../lib/http/client.ts';
import type { Logger } from '../lib/logger.ts';
import { createRepeat, type Repeat } from '../lib/repeat.ts';
import type { Component, Components } from './components/component.ts';
import { createComponentRegistry } from './components/registry.ts';
import { type ComponentState, dropUnusedWindows } from './components/state.ts';
import { describeComponents } from './components/status.ts';
import type { PipelineContext, PipelineMeter } from './context.ts';
import { createIngester } from './ingest/ingester.ts';
import { pushedValuesOf } from './ingest/pushed.ts';
import { FORGET_MS, SWEEP_MS } from './ingest/source.ts';
import { parseImpstats } from './parsers/impstats.ts';
import type { Point } from './parsers/point.ts';
import { parseSamples } from './parsers/samples.ts';
import { createPipeline, type Pipeline } from './pipeline.ts';
import { createSeriesStore } from './series/series-store.ts';
import {
  MOST_COMPONENTS,
  MOST_SERIES,
  type OperatorFiles,
  type PipelineSettings,
  type PushSettings,
} from './settings.ts';
import { readSnapshot, writeSnapshot } from './snapshot/file.ts';

export interface MonitorOptions {
  readonly http: HttpClient;
  readonly clock: Clock;
  readonly logger: Logger;
  /** The snapshot is kept in its file `snapshot`. */
  readonly dataFolder: string;
  /** What settings refer to on disk. */
  readonly files: OperatorFiles;
  readonly meter: PipelineMeter;
  /** Components that all pipelines may have together; those that are there stay, however many. Left out, nobody bounds them. */
  readonly componentQuota?: number | undefined;
  /** 0 to 1; spreads first readings. */
  readonly random?: () => number;
}

export interface Monitor {
  readonly components: Components;
  /** Components for which the predicate says true are never forgotten, however long they are gone. */
  retain(predicate: (component: Component) => boolean): void;
  /** Adds, keeps, restarts and removes pipelines as the settings say; a removed one's components go with it. */
  configure(pipelines: readonly PipelineSettings[]): void;
  /** Restores the snapshot, then begins to read. */
  start(): Promise<void>;
  /** Stops reading and writes the snapshot. */
  stop(): Promise<void>;
  /** The pipeline whose token in the configuration that is. */
  pipelineOfToken(presented: string): PushSettings | undefined;
  /** Settings of a pipeline that sends by itself; undefined when there is none of that id. */
  pushSettingsOf(id: string): PushSettings | undefined;
  /** Throws `invalid-request` naming each bad place; then nothing was taken. */
  ingestSamples(pipelineId: string, body: unknown): { readonly accepted: number };
  /**
   * Points of a pipeline that pushes by remote write or OTLP; `ignored` tell nothing of an input or output.
   */
  ingestPoints(
    pipelineId: string,
    instance: string | undefined,
    points: readonly Point[],
  ): { readonly accepted: number; readonly ignored: number };
  /** Lines of rsyslog's impstats; `ignored` are lines and objects that tell nothing of an input or output. */
  ingestImpstats(
    pipelineId: string,
    instance: string | undefined,
    text: string,
  ): { readonly accepted: number; readonly ignored: number };
}

/** Below the data folder. */
export const SNAPSHOT_FILE = 'snapshot';

const SNAPSHOT_MS = 30_000;
/** The pause after a snapshot is at least that many times as long as writing it took. */
const SNAPSHOT_PAUSE = 20;

export function createMonitor(options: MonitorOptions): Monitor {
  const { clock, http } = options;
  const logger = options.logger.child({ component: 'pipelines' });
  const path = join(options.dataFolder, SNAPSHOT_FILE);
  const registry = createComponentRegistry(clock, MOST_COMPONENTS);
  const store = createSeriesStore(MOST_SERIES);
  const pipelines = new Map<string, Pipeline>();
  let tokens = createTokenLookup([]);
  let isRetained: (component: Component) => boolean = () => false;
  let started = false;
  let upkeep: readonly Repeat[] = [];

  const context: PipelineContext = {
    http,
    clock,
    logger,
    registry,
    store,
    random: options.random ?? Math.random,
    ingester: createIngester({ clock, registry, store }),
    files: options.files,
    meter: options.meter,
    componentQuota: options.componentQuota,
  };

  let snapshotError: string | undefined;

  /** A fault is logged once until it changes, and the file of before stays. */
  async function saveSnapshot(): Promise<void> {
    const fault = await writeSnapshot(path, records()).then(() => undefined, reasonOf);
    if (fault !== undefined && fault !== snapshotError)
      logger.error(
        { path, reason: fault },
        'The snapshot cannot be written; a restart would begin with the one before',
      );
    snapshotError = fault;
  }

  function* records() {
    for (const pipeline of pipelines.values()) yield pipeline.record;
  }

  async function restore(): Promise<void> {
    try {
      for (const record of await readSnapshot(path)) {
        const pipeline = pipelines.get(record.pipeline);
        if (pipeline?.settings.engine === record.engine && pipeline.settings.group === record.group)
          pipeline.restore(record);
      }
    } catch (error) {
      logger.error(
        { path, reason: reasonOf(error) },
        'The snapshot cannot be read and is ignored; counting begins anew',
      );
    }
  }

  function sweep(): void {
    const monotonic = clock.monotonic();
    const forgotten = new Set<ComponentState>();
    for (const component of registry.all()) {
      const state = registry.stateOf(component);
      if (state === undefined) continue;
      dropUnusedWindows(state, monotonic);
      if (monotonic - state.lastSeenAt >= FORGET_MS && !isRetained(component)) forgotten.add(state);
    }
    for (const pipeline of pipelines.values()) pipeline.sweep(forgotten);
    for (const state of forgotten) registry.remove(state);
  }

  function requirePipeline(id: string): Pipeline {
    const pipeline = pipelines.get(id);
    if (pipeline === undefined) throw notFound('pipeline', id);
    return pipeline;
  }

  function replace(before: Pipeline | undefined, settings: PipelineSettings): void {
    if (before !== undefined && fingerprint(before.settings) === fingerprint(settings)) return;
    const kept = before && keepsCounters(before.settings, settings) ? before.detach() : undefined;
    if (kept === undefined) before?.drop(sameIdentity(before.settings, settings) ? 'counters' : 'components');
    const pipeline = createPipeline(settings, context, kept);
    pipelines.set(settings.id, pipeline);
    if (started) pipeline.start();
  }

  return {
    components: {
      ...describeComponents(registry, clock),
      get revision() {
        return registry.revision;
      },
      pipeline: id => pipelines.get(id)?.state(),
      pipelines: () => [...pipelines.values()].map(pipeline => pipeline.state()),
    },
    retain(predicate) {
      isRetained = predicate;
    },
    configure(all) {
      const wantedIds = new Set(all.map(settings => settings.id));
      for (const [id, pipeline] of pipelines) {
        if (wantedIds.has(id)) continue;
        pipeline.drop('components');
        pipelines.delete(id);
      }
      for (const settings of all) replace(pipelines.get(settings.id), settings);
      tokens = createTokenLookup(all);
    },
    async start() {
      await restore();
      started = true;
      for (const pipeline of pipelines.values()) pipeline.start();
      const faults = {
        failed: (error: unknown) =>
          logger.error({ reason: reasonOf(error) }, 'the upkeep of pipelines failed; it is tried again'),
      };
      upkeep = [
        createRepeat({
          clock,
          interval: tookMs => Math.max(SNAPSHOT_MS, SNAPSHOT_PAUSE * tookMs),
          work: saveSnapshot,
          faults,
        }),
        createRepeat({ clock, interval: SWEEP_MS, work: sweep, faults }),
      ];
      for (const one of upkeep) one.start();
    },
    async stop() {
      if (!started) return;
      started = false;
      const stopping = upkeep.map(one => one.stop());
      for (const pipeline of pipelines.values()) pipeline.stop();
      await Promise.all(stopping);
      await saveSnapshot();
    },
    pipelineOfToken: presented => tokens(presented),
    pushSettingsOf(id) {
      const settings = pipelines.get(id)?.settings;
      return settings?.push ? settings : undefined;
    },
    ingestSamples(pipelineId, body) {
      const pipeline = requirePipeline(pipelineId);
      const pushed = parseSamples(body);
      return { accepted: pipeline.push(pushed.instance, [pushedValuesOf(pushed, pipeline.settings.engine)]) };
    },
    ingestPoints(pipelineId, instance, points) {
      const accepted = requirePipeline(pipelineId).pushPoints(instance, points);
      return { accepted, ignored: points.length - accepted };
    },
    ingestImpstats(pipelineId, instance, text) {
      const pipeline = requirePipeline(pipelineId);
      const { rounds, ignored } = parseImpstats(text);
      const objects = rounds.reduce((count, round) => count + round.length, 0);
      const accepted = pipeline.pushStats(instance, rounds);
      return { accepted, ignored: ignored + objects - accepted };
    },
  };
}

/** Differs whenever anything a pipeline works with does, its secrets included. */
function fingerprint(settings: PipelineSettings): string {
  const { token, password, tls } = { password: undefined, tls: undefined, ...settings };
  return JSON.stringify([settings, token?.reveal(), password?.reveal(), tls?.passphrase?.reveal()]);
}

/** True when the counters of before go on: only when, how long or as whom it is read has changed. */
const keepsCounters = (a: PipelineSettings, b: PipelineSettings): boolean =>
  sameIdentity(a, b) && JSON.stringify(locationOf(a)) === JSON.stringify(locationOf(b));

const locationOf = (settings: PipelineSettings): unknown =>
  settings.push ? [] : [settings.url, settings.files, 'rules' in settings ? settings.rules : []];

const sameIdentity = (a: PipelineSettings, b: PipelineSettings): boolean =>
  a.engine === b.engine && a.group === b.group && Boolean(a.push) === Boolean(b.push);

/** Finds the pipeline whose token in the configuration was presented. Every token is compared, each in the same time, so that timing tells nothing. */
function createTokenLookup(
  pipelines: readonly PipelineSettings[],
): (presented: string) => PushSettings | undefined {
  const tokens = pipelines.flatMap(settings =>
    settings.push && settings.token !== undefined
      ? [{ settings, hash: digestOf(settings.token.reveal()) }]
      : [],
  );
  return presented => {
    const hash = digestOf(presented);
    let found: PushSettings | undefined;
    for (const token of tokens) if (isSameDigest(token.hash, hash)) found = token.settings;
    return found;
  };
}
