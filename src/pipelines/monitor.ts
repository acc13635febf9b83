/**
 * Watches the configured pipelines: reads the ones with a url, takes what the others push, and keeps
 * how every input and output is. It knows counters and silence over a restart by a snapshot.
 */
import { join } from 'node:path';
import type { Clock } from '../lib/clock.ts';
import { notFound, reasonOf } from '../lib/errors.ts';
import type { HttpClient } from '../lib/http.ts';
import type { Logger } from '../lib/logger.ts';
import { createRepeat, type Repeat } from '../lib/repeat.ts';
import type { Component, Components } from './component.ts';
import { describeComponents } from './components.ts';
import { FORGET_MS, SWEEP_MS } from './feed.ts';
import { parseImpstats } from './formats/impstats.ts';
import type { Point } from './formats/point.ts';
import { parseSamples } from './formats/samples.ts';
import { createIntake } from './intake.ts';
import type { OperatorFiles } from './operator-files.ts';
import { createPipeline, type Pipeline } from './pipeline.ts';
import { createTokenLookup } from './push-tokens.ts';
import { valuesOf } from './pushed.ts';
import { createRows } from './rows.ts';
import { MOST_COMPONENTS, MOST_SERIES, type PipelineSettings, type PushSettings } from './settings.ts';
import type { PipelineMeter, Shared } from './shared.ts';
import { createSlots } from './slots.ts';
import { readSnapshot, writeSnapshot } from './snapshot.ts';
import type { Row } from './state.ts';
import { forgetUnasked } from './windows.ts';

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
  pin(predicate: (component: Component) => boolean): void;
  /** Adds, keeps, restarts and removes pipelines as the settings say; a removed one's components go with it. */
  configure(pipelines: readonly PipelineSettings[]): void;
  /** Restores the snapshot, then begins to read. */
  start(): Promise<void>;
  /** Stops reading and writes the snapshot. */
  stop(): Promise<void>;
  /** The pipeline whose token in the configuration that is. */
  pipelineOfToken(presented: string): PushSettings | undefined;
  /** Settings of a pipeline that sends by itself; undefined when there is none of that id. */
  pushing(id: string): PushSettings | undefined;
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
  const rows = createRows(clock, MOST_COMPONENTS);
  const slots = createSlots(MOST_SERIES);
  const pipelines = new Map<string, Pipeline>();
  let tokens = createTokenLookup([]);
  let isPinned: (component: Component) => boolean = () => false;
  let started = false;
  let upkeep: readonly Repeat[] = [];

  const shared: Shared = {
    http,
    clock,
    logger,
    rows,
    slots,
    random: options.random ?? Math.random,
    intake: createIntake({ clock, rows, slots }),
    files: options.files,
    meter: options.meter,
    componentQuota: options.componentQuota,
  };

  let snapshotFault: string | undefined;

  /** A fault is logged once until it changes, and the file of before stays. */
  async function saveSnapshot(): Promise<void> {
    const fault = await writeSnapshot(path, records()).then(() => undefined, reasonOf);
    if (fault !== undefined && fault !== snapshotFault)
      logger.error(
        { path, reason: fault },
        'The snapshot cannot be written; a restart would begin with the one before',
      );
    snapshotFault = fault;
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
    const forgotten = new Set<Row>();
    for (const component of rows.all()) {
      const row = rows.of(component);
      if (row === undefined) continue;
      forgetUnasked(row, monotonic);
      if (monotonic - row.lifeAt >= FORGET_MS && !isPinned(component)) forgotten.add(row);
    }
    for (const pipeline of pipelines.values()) pipeline.sweep(forgotten);
    for (const row of forgotten) rows.remove(row);
  }

  function required(id: string): Pipeline {
    const pipeline = pipelines.get(id);
    if (pipeline === undefined) throw notFound('pipeline', id);
    return pipeline;
  }

  function replace(before: Pipeline | undefined, settings: PipelineSettings): void {
    if (before !== undefined && fingerprint(before.settings) === fingerprint(settings)) return;
    const kept = before && readsOn(before.settings, settings) ? before.release() : undefined;
    if (kept === undefined) before?.drop(sameIdentity(before.settings, settings) ? 'counters' : 'components');
    const pipeline = createPipeline(settings, shared, kept);
    pipelines.set(settings.id, pipeline);
    if (started) pipeline.start();
  }

  return {
    components: {
      ...describeComponents(rows, clock),
      get revision() {
        return rows.revision;
      },
      pipeline: id => pipelines.get(id)?.state(),
      pipelines: () => [...pipelines.values()].map(pipeline => pipeline.state()),
    },
    pin(predicate) {
      isPinned = predicate;
    },
    configure(all) {
      const wanted = new Set(all.map(settings => settings.id));
      for (const [id, pipeline] of pipelines) {
        if (wanted.has(id)) continue;
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
    pushing(id) {
      const settings = pipelines.get(id)?.settings;
      return settings?.push ? settings : undefined;
    },
    ingestSamples(pipelineId, body) {
      const pipeline = required(pipelineId);
      const pushed = parseSamples(body);
      return { accepted: pipeline.push(pushed.instance, [valuesOf(pushed, pipeline.settings.engine)]) };
    },
    ingestPoints(pipelineId, instance, points) {
      const accepted = required(pipelineId).pushPoints(instance, points);
      return { accepted, ignored: points.length - accepted };
    },
    ingestImpstats(pipelineId, instance, text) {
      const pipeline = required(pipelineId);
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
const readsOn = (a: PipelineSettings, b: PipelineSettings): boolean =>
  sameIdentity(a, b) && JSON.stringify(sourceOf(a)) === JSON.stringify(sourceOf(b));

const sourceOf = (settings: PipelineSettings): unknown =>
  settings.push ? [] : [settings.url, settings.files, 'rules' in settings ? settings.rules : []];

const sameIdentity = (a: PipelineSettings, b: PipelineSettings): boolean =>
  a.engine === b.engine && a.group === b.group && Boolean(a.push) === Boolean(b.push);
