/**
 * Watches the configured pipelines: scrapes the ones with a url, takes what the others push, and keeps
 * the state of every input and output. Counters and silence survive a restart by a snapshot.
 */
import { digestOf, isSameDigest } from '../lib/digest.ts';
import { AppError, notFound, reasonOf } from '../lib/errors.ts';
import type { HttpClient } from '../lib/http/client.ts';
import type { Logger } from '../lib/logger.ts';
import type { ObservedClock } from '../lib/observed-clock.ts';
import { createRepeat, type Repeat } from '../lib/repeat.ts';
import { inSlices, type Slices } from '../lib/slices.ts';
import type { Component, Components } from './components/component.ts';
import type { ComponentIds } from './components/component-ids.ts';
import { createComponentRegistry } from './components/registry.ts';
import { type ComponentState, dropUnusedWindows } from './components/state.ts';
import { describeComponents } from './components/status.ts';
import type { PipelineContext, PipelineMeter } from './context.ts';
import { createIngester } from './ingest/ingester.ts';
import { pushedValuesOf, type ReadPoints } from './ingest/pushed.ts';
import { FORGET_MS, SWEEP_MS } from './ingest/source.ts';
import { readImpstats } from './parsers/impstats.ts';
import { readSamples } from './parsers/samples.ts';
import { createPipeline, type Pipeline } from './pipeline.ts';
import { createSeriesStore } from './series/series-store.ts';
import {
  MOST_COMPONENTS,
  MOST_SERIES,
  type OperatorFiles,
  type PipelineSettings,
  type PushSettings,
} from './settings.ts';
import type { PipelineRecord, PipelineSnapshot } from './snapshot/record.ts';
import { createSnapshots, type SnapshotPlace, type Snapshots } from './snapshot/snapshots.ts';

export interface MonitorOptions {
  readonly http: HttpClient;
  readonly clock: ObservedClock;
  readonly logger: Logger;
  /** Where the snapshot is kept. */
  readonly snapshot: SnapshotPlace;
  /** Files that settings refer to. */
  readonly files: OperatorFiles;
  readonly meter: PipelineMeter;
  /** Is stopped with it. */
  readonly ids: ComponentIds;
  /** What all pipelines may have together; what is there stays, however much. Left out, there is no bound. */
  readonly quotas?: PipelineContext['quotas'];
  /** Left out, rules of users may take any time. */
  readonly matching?: PipelineContext['matching'];
  /** Left out, nothing is known of what is usual. */
  readonly usual?: Components['usual'];
  /** 0 to 1; spreads first readings. */
  readonly random?: () => number;
}

export interface Monitor {
  readonly components: Components;
  /** Components for which the predicate is true are never forgotten, however long they are gone. */
  retain(predicate: (component: Component) => boolean): void;
  /**
   * Forgets a component that is gone, or of a pipeline that pushes one that may be. Throws `not-found`, and `conflict` when
   * it is there, or when the next page shows whether it is.
   */
  remove(component: Component): void;
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
  /**
   * Throws `invalid-request` naming each bad place; then nothing was taken. What is small is taken at once, as by the two
   * below; what is large in slices, and what comes for the same pipeline meanwhile after it.
   */
  ingestSamples(pipelineId: string, body: unknown): Soon<IngestedSamples>;
  /** Takes points of remote write or OTLP as they are read; `ignored` belong to no input or output. */
  ingestPoints(pipelineId: string, instance: string | undefined, read: ReadPoints): Soon<IngestedPoints>;
  /** Takes lines of rsyslog's impstats; `ignored` are lines and objects that belong to no input or output. */
  ingestImpstats(pipelineId: string, instance: string | undefined, text: string): Soon<Ingested>;
}

type Soon<Result> = Result | Promise<Result>;

interface Ingested {
  readonly accepted: number;
  readonly ignored: number;
}

/** `rejected`: increases whose time may have been counted already; left out when there are none. */
interface IngestedSamples {
  readonly accepted: number;
  readonly rejected?: number;
}

export interface IngestedPoints extends Ingested, IngestedSamples {}

const SNAPSHOT_MS = 30_000;
/** When a component has come or gone since: without a trace of it, another process could not judge its silence. */
const SNAPSHOT_OF_NEW_MS = 5000;
/** How often is recorded what is there. */
const TOUCH_MS = 6 * 3_600_000;
/** The pause after a snapshot is at least that many times as long as writing it took. */
const SNAPSHOT_PAUSE = 20;

export const createMonitor = (options: MonitorOptions): Monitor => new PipelineMonitor(options);

class PipelineMonitor implements Monitor {
  readonly components: Components;
  readonly #context: PipelineContext;
  readonly #pipelines = new Map<string, Pipeline>();
  readonly #snapshots: Snapshots;
  readonly #ids: ComponentIds;
  #findByToken = createTokenLookup([]);
  #isRetained: (component: Component) => boolean = () => false;
  #started = false;
  #upkeep: readonly Repeat[] = [];
  /** When the last snapshot was written on the monotonic clock, how long that took, and the revision that it holds. */
  #saved = { at: 0, tookMs: 0, revision: 0 };

  constructor(options: MonitorOptions) {
    const { http, clock, files, meter, quotas, matching, ids } = options;
    const logger = options.logger.child({ component: 'pipelines' });
    const registry = createComponentRegistry({ clock, limit: MOST_COMPONENTS, ids });
    const store = createSeriesStore(MOST_SERIES);
    this.#context = {
      http,
      clock,
      logger,
      registry,
      store,
      random: options.random ?? Math.random,
      ingester: createIngester({ clock, registry, store }),
      files,
      meter,
      quotas,
      matching,
    };
    this.#snapshots = createSnapshots({ place: options.snapshot, logger });
    this.#ids = ids;
    const pipelines = this.#pipelines;
    const pipelineOf = ({ component }: ComponentState) => pipelines.get(component.pipeline);
    this.components = {
      ...describeComponents(registry, clock, {
        whyUnread: state => pipelineOf(state)?.whyUnread(state),
        unreadMs: state => pipelineOf(state)?.unreadMs() ?? 0,
      }),
      get revision() {
        return registry.revision;
      },
      usual: options.usual ?? (() => undefined),
      pipeline: id => pipelines.get(id)?.state(),
      pipelines: () => [...pipelines.values()].map(pipeline => pipeline.state()),
    };
  }

  retain(predicate: (component: Component) => boolean): void {
    this.#isRetained = predicate;
  }

  remove(component: Component): void {
    const { registry } = this.#context;
    const state = registry.stateOf(component);
    const pipeline = this.#pipelines.get(component.pipeline);
    if (state === undefined || pipeline === undefined) throw notFound(component.kind, component.id);
    const { presence, reason } = this.components.presence(component);
    const name = `${component.kind} '${component.id}'`;
    if (presence === 'present')
      throw new AppError('conflict', `${name} is there as long as pipeline '${component.pipeline}' has it`);
    if (presence === 'unknown' && !pipeline.settings.push)
      throw new AppError('conflict', `whether ${name} is gone is not known: ${reason}`);
    pipeline.dropComponent(state);
    registry.remove(state);
  }

  configure(all: readonly PipelineSettings[]): void {
    const wantedIds = new Set(all.map(settings => settings.id));
    for (const [id, pipeline] of this.#pipelines) {
      if (wantedIds.has(id)) continue;
      pipeline.drop('components');
      this.#pipelines.delete(id);
    }
    for (const settings of all) this.#replace(this.#pipelines.get(settings.id), settings);
    this.#findByToken = createTokenLookup(all);
  }

  async start(): Promise<void> {
    await this.#snapshots.restore(record => this.#restore(record));
    await this.#ids.recording();
    this.#started = true;
    this.#saved = { ...this.#saved, at: this.#context.clock.monotonic() };
    for (const pipeline of this.#pipelines.values()) pipeline.start();
    this.#upkeep = this.#createUpkeep();
    for (const one of this.#upkeep) one.start();
  }

  async stop(): Promise<void> {
    if (!this.#started) return this.#ids.stop();
    this.#started = false;
    const stopping = this.#upkeep.map(one => one.stop());
    for (const pipeline of this.#pipelines.values()) pipeline.stop();
    await Promise.all([...stopping, this.#ids.stop()]);
    await this.#saveSnapshot();
  }

  pipelineOfToken(presented: string): PushSettings | undefined {
    return this.#findByToken(presented);
  }

  pushSettingsOf(id: string): PushSettings | undefined {
    const settings = this.#pipelines.get(id)?.settings;
    return settings?.push ? settings : undefined;
  }

  ingestSamples(pipelineId: string, body: unknown): Soon<IngestedSamples> {
    return this.#inOrder(pipelineId, function* (pipeline) {
      const pushed = yield* readSamples(body);
      const values = pushedValuesOf(pushed, pipeline.settings.engine);
      const content = { known: values.length, total: values.length, unit: 'samples' };
      const { taken, rejected } = yield* pipeline.push(pushed.instance, [values], () => content);
      return { accepted: taken, ...(rejected > 0 && { rejected }) };
    });
  }

  ingestPoints(pipelineId: string, instance: string | undefined, read: ReadPoints): Soon<IngestedPoints> {
    return this.#inOrder(pipelineId, function* (pipeline) {
      const { rejected, ...counted } = yield* pipeline.pushPoints(instance, read);
      return { ...counted, ...(rejected > 0 && { rejected }) };
    });
  }

  ingestImpstats(pipelineId: string, instance: string | undefined, text: string): Soon<Ingested> {
    return this.#inOrder(pipelineId, function* (pipeline) {
      const stats = yield* readImpstats(text);
      const objects = stats.rounds.reduce((count, round) => count + round.length, 0);
      const accepted = yield* pipeline.pushStats(instance, stats);
      return { accepted, ignored: stats.ignored + objects - accepted };
    });
  }

  /** Answers a push once what it was the first to name can be shown, or the store has refused its id. */
  #inOrder<Result>(id: string, take: (pipeline: Pipeline) => Slices<Result>): Soon<Result> {
    const result = this.#oneByOne(id, take);
    const shown = (taken: Result): Soon<Result> => this.#ids.recording()?.then(() => taken) ?? taken;
    return result instanceof Promise ? result.then(shown) : shown(result);
  }

  /** A push that comes while another one of its pipeline is under way waits: its counters are those of a later time. */
  #oneByOne<Result>(id: string, take: (pipeline: Pipeline) => Slices<Result>): Soon<Result> {
    const { pushes } = this.#requirePipeline(id);
    const begin = () => inSlices(take(this.#requirePipeline(id)));
    if (!pushes.isFree()) return pushes.run(async () => begin());
    const result = begin();
    return result instanceof Promise ? pushes.run(() => result) : result;
  }

  #requirePipeline(id: string): Pipeline {
    const pipeline = this.#pipelines.get(id);
    if (pipeline === undefined) throw notFound('pipeline', id);
    return pipeline;
  }

  #replace(before: Pipeline | undefined, settings: PipelineSettings): void {
    if (before !== undefined && fingerprint(before.settings) === fingerprint(settings)) return;
    const kept = before && keepsCounters(before.settings, settings) ? before.detach() : undefined;
    if (kept === undefined)
      before?.drop(isSamePipeline(before.settings, settings) ? 'counters' : 'components');
    const pipeline = createPipeline(settings, this.#context, kept);
    this.#pipelines.set(settings.id, pipeline);
    if (this.#started) pipeline.start();
  }

  #restore(record: PipelineRecord): void {
    const pipeline = this.#pipelines.get(record.pipeline);
    if (pipeline?.settings.engine === record.engine && pipeline.settings.group === record.group)
      pipeline.restore(record);
  }

  async #saveSnapshot(): Promise<void> {
    const { registry, clock } = this.#context;
    const { revision } = registry;
    const begunAt = clock.monotonic();
    const waited = { ms: 0 };
    await this.#snapshots.write(this.#records(waited));
    const at = clock.monotonic();
    this.#saved = { at, tookMs: at - begunAt - waited.ms, revision };
  }

  async #saveSnapshotWhenDue(): Promise<void> {
    const { registry, clock } = this.#context;
    const { at, tookMs, revision } = this.#saved;
    const pause = registry.revision === revision ? SNAPSHOT_MS : SNAPSHOT_OF_NEW_MS;
    if (clock.monotonic() - at >= Math.max(pause, SNAPSHOT_PAUSE * tookMs)) await this.#saveSnapshot();
  }

  /** Each pipeline between two of its pages, as one that is under way would be read to its end at once. */
  async *#records(waited: { ms: number }): AsyncIterable<() => PipelineSnapshot> {
    const { clock } = this.#context;
    for (const pipeline of this.#pipelines.values()) {
      const from = clock.monotonic();
      await pipeline.idle();
      waited.ms += clock.monotonic() - from;
      yield () => pipeline.record();
    }
  }

  #createUpkeep(): readonly Repeat[] {
    const { clock, logger } = this.#context;
    const faults = {
      failed: (error: unknown) =>
        logger.error({ reason: reasonOf(error) }, 'the upkeep of pipelines failed; it is tried again'),
    };
    return [
      createRepeat({
        clock,
        interval: SNAPSHOT_OF_NEW_MS,
        work: () => this.#saveSnapshotWhenDue(),
        faults,
      }),
      createRepeat({ clock, interval: SWEEP_MS, work: () => this.#sweep(), faults }),
      createRepeat({
        ...{ clock, faults },
        interval: TOUCH_MS,
        firstAfterMs: SWEEP_MS,
        work: () => this.#ids.touch(this.components.all()),
      }),
    ];
  }

  #sweep(): void {
    const { registry, clock } = this.#context;
    const monotonic = clock.monotonic();
    const forgotten = new Set<ComponentState>();
    for (const component of registry.all()) {
      const state = registry.stateOf(component);
      if (state === undefined) continue;
      dropUnusedWindows(state, monotonic);
      if (monotonic - state.lastSeenAt >= FORGET_MS && !this.#isRetained(component)) forgotten.add(state);
    }
    for (const pipeline of this.#pipelines.values()) pipeline.sweep(forgotten);
    for (const state of forgotten) registry.remove(state);
  }
}

/** Differs whenever anything a pipeline works with does, its secrets included. */
function fingerprint(settings: PipelineSettings): string {
  const { token, password, tls } = { password: undefined, tls: undefined, ...settings };
  return JSON.stringify([settings, token?.reveal(), password?.reveal(), tls?.passphrase?.reveal()]);
}

/** True when the counters of before go on: only when, how long or as whom it is read has changed. */
const keepsCounters = (a: PipelineSettings, b: PipelineSettings): boolean =>
  isSamePipeline(a, b) && JSON.stringify(locationOf(a)) === JSON.stringify(locationOf(b));

const locationOf = (settings: PipelineSettings): unknown => {
  const { url, files, namespace, rules, resetCounters }: Readonly<Record<string, unknown>> = { ...settings };
  return settings.push ? [namespace, resetCounters] : [url, files, namespace, rules];
};

const isSamePipeline = (a: PipelineSettings, b: PipelineSettings): boolean =>
  a.engine === b.engine && a.group === b.group && Boolean(a.push) === Boolean(b.push);

/**
 * Finds the pipeline whose token in the configuration was presented. Every token is compared, each in the same time, so
 * that timing gives nothing away.
 */
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
