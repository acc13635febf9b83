import { join } from 'node:path';
import type { Subject } from '../../conditions/condition.ts';
import type { Expiry } from '../../conditions/expiration.ts';
import { WHOLE_EVENT_FIELDS } from '../../conditions/index.ts';
import type { Configuration, Declared } from '../../config/configuration.ts';
import { createOperatorFiles, NO_OPERATOR_FILES } from '../../config/operator-files.ts';
import type { Quotas } from '../../config/quotas.ts';
import {
  createDispatcher,
  type Dispatcher,
  type DispatcherOptions,
  Sending,
} from '../../delivery/dispatcher.ts';
import { createResultBus, type ResultBus } from '../../delivery/results.ts';
import { createRetry, type Retry } from '../../delivery/retry.ts';
import type { Clock } from '../../lib/clock.ts';
import type { MonotonicIds } from '../../lib/ids.ts';
import type { KeyRing } from '../../lib/keyring.ts';
import type { Logger } from '../../lib/logger.ts';
import type { ObservedClock } from '../../lib/observed-clock.ts';
import { createRepeat } from '../../lib/repeat.ts';
import { createEngine, type Engine, type EngineOptions } from '../../notifications/engine.ts';
import type { ReceiveEvents } from '../../notifications/external-events.ts';
import { failingTargets } from '../../notifications/incidents/target-health.ts';
import { HEARTBEATS_FILE } from '../../notifications/rules/heartbeats-file.ts';
import { openSecondsOf } from '../../notifications/subjects.ts';
import type { Component } from '../../pipelines/components/component.ts';
import { createComponentIds } from '../../pipelines/components/component-ids.ts';
import { createMatchingLimit } from '../../pipelines/engines/matching-limit.ts';
import {
  createHourKeeper,
  createMinuteRecorder,
  type HourKeeper,
  type MinuteRecorder,
} from '../../pipelines/history/recorder.ts';
import { componentHash, HOUR_MS } from '../../pipelines/history/row-ids.ts';
import { createUsualRates } from '../../pipelines/history/usual-rate.ts';
import { createUsualVolumes, type UsualVolumes } from '../../pipelines/history/usual-volumes.ts';
import type { ComponentKind } from '../../pipelines/metric.ts';
import { createMonitor, type Monitor } from '../../pipelines/monitor.ts';
import { snapshotFile } from '../../pipelines/snapshot/file.ts';
import { snapshotInStore } from '../../pipelines/snapshot/stored.ts';
import type { KeptSettingsAccess } from '../../resources/context.ts';
import type { Storage } from '../../storage/storage.ts';
import type { Meters } from '../meters.ts';
import type { Outgoing } from '../outgoing.ts';
import { createRetentionSweep, type RetentionSweep, retentionOf } from '../sweeps.ts';
import { createTeardown, type Teardown } from '../teardown.ts';
import { sendHeartbeats, whyStalled } from './heartbeat.ts';
import { fencedStorage, type LeaderTask, type LeaderTerm } from './lease.ts';
import { openRemovedTargets, type RemovedTargets } from './removed-targets.ts';
import { continueIds, dropStaleFiles, SNAPSHOT_FILE } from './takeover.ts';

export interface LeaderOptions {
  readonly workspace: string;
  readonly storage: Storage;
  /** True when several processes may have the store. */
  readonly isShared: boolean;
  readonly keyRing: KeyRing;
  readonly outgoing: Outgoing;
  readonly secretOf: (name: string) => string | undefined;
  readonly clock: Clock;
  /** `clock` without the time in which this process did not run. */
  readonly observedClock: ObservedClock;
  readonly ids: MonotonicIds;
  readonly random: () => number;
  readonly logger: Logger;
  readonly dataFolder: string;
  /** Paths in settings are relative to it; undefined where they may name no file. */
  readonly configFolder: string | undefined;
  readonly configuration: () => Configuration;
  readonly expiries: () => readonly Expiry[];
  readonly meters: Meters;
  /** Undefined where nothing bounds the workspace. */
  readonly quotas: Quotas | undefined;
}

/** The work that only one process does for a workspace: it reads pipelines, evaluates, sends and removes what is old. */
export interface Leader extends LeaderTask {
  readonly monitor: Monitor;
  readonly minutes: MinuteRecorder;
  /** Takes external events. */
  readonly receive: ReceiveEvents;
  /** Takes over another configuration. */
  apply(now: Configuration): void;
  readonly requeue: Retry;
  readonly explainer: Engine['explainer'];
  readonly refreshSilences: Engine['refreshSilences'];
  readonly refreshAcknowledgement: Engine['refreshAcknowledgement'];
  readonly warningOf: Dispatcher['warningOf'];
  readonly hold: Dispatcher['hold'];
  readonly markWell: Dispatcher['markWell'];
  /** Settings of before that are kept for the ends of alarms. */
  readonly keptSettings: KeptSettingsAccess;
  /** Forgets an input or output that is gone, and closes its incidents. Throws `conflict` when it may be there. */
  removeComponent(component: Component): Promise<void>;
  /** For how long, in milliseconds, not every notification has been evaluated. */
  incompleteMs(): number;
  /** What evaluation takes; undefined where nothing bounds it. */
  evaluationCosts: Engine['evaluationCosts'];
}

/** How often settings of before that nothing needs any more are looked for: they hold secrets. */
const FORGETTING_MS = 600_000;

export async function startLeader(options: LeaderOptions, term: LeaderTerm): Promise<Leader> {
  const { workspace, keyRing, ids, logger, clock } = options;
  const storage = fencedStorage(options.storage, term);
  const stores = storage.in(workspace);
  // The clock of the last leader may have been ahead of ours.
  await continueIds(ids, stores);
  const leader = new WorkspaceLeader({
    ...options,
    ...{ storage, term },
    removedTargets: await openRemovedTargets({ workspace, storage, keyRing, logger, clock, ids }),
    failing: failingTargets(await stores.incidents.open()),
  });
  try {
    await leader.start();
  } catch (error) {
    await leader.stop(false);
    throw error;
  }
  return leader;
}

interface WorkspaceLeaderOptions extends LeaderOptions {
  readonly term: LeaderTerm;
  readonly removedTargets: RemovedTargets;
  readonly failing: DispatcherOptions['failing'];
}

class WorkspaceLeader implements Leader {
  readonly monitor: Monitor;
  readonly minutes: MinuteRecorder;
  readonly requeue: Retry;
  readonly keptSettings: Leader['keptSettings'];
  readonly #options: WorkspaceLeaderOptions;
  readonly #teardown: Teardown;
  readonly #sending: Sending;
  readonly #dispatcher: Dispatcher;
  readonly #engine: Engine;
  readonly #sweep: RetentionSweep;
  readonly #hours: HourKeeper;
  #isDisabled: IsDisabled;
  #stopsInTime = true;

  constructor(options: WorkspaceLeaderOptions) {
    const { workspace, storage, clock, meters, configuration } = options;
    this.#options = options;
    this.#teardown = createTeardown(options.logger);
    this.#isDisabled = disabledIn(configuration());
    const usual = usualOf(options);
    this.#teardown.add('baselines', () => usual.stop());
    this.monitor = monitorOf(options, usual);
    const results = meteredResults(meters);
    const delivery = deliveryOptions(options);
    this.#sending = new Sending({ ...delivery, results });
    this.#dispatcher = createDispatcher({
      ...delivery,
      results,
      sendsUntil: () => this.#sending.until(),
      replacements: row => this.#engine.replacementsFor(row),
    });
    this.#engine = createEngine({
      ...evaluationOptions(options),
      components: this.monitor.components,
      usualRates: createUsualRates({ clock, read: ids => storage.in(workspace).minutes.byIds(ids) }),
      results,
      outbox: {
        enqueue: (rows, event) => {
          meters.eventWritten(event);
          this.#dispatcher.enqueue(rows, event);
        },
        readFrom: (targets, first) => this.#dispatcher.readFrom(targets, first),
      },
      isDisabled: (kind, subject) => this.#isDisabled(kind, subject),
    });
    this.monitor.retain(component => this.#engine.retains(component));
    this.#sweep = sweepOf(options);
    this.minutes = minutesOf(options, this.monitor);
    this.#hours = hoursOf(options, this.monitor);
    this.requeue = createRetry({ workspace, storage, dispatcher: this.#dispatcher });
    this.keptSettings = {
      list: () => options.removedTargets.list(),
      remove: async id => {
        const removed = await options.removedTargets.remove(id);
        this.apply(configuration());
        return removed;
      },
    };
  }

  async start(): Promise<void> {
    const { term, configuration, dataFolder } = this.#options;
    this.#registerTeardown();
    // At once, whatever else is still being stopped by then.
    term.signal.addEventListener('abort', () => void this.#dispatcher.stop(false), { once: true });
    await this.#sending.start();
    this.apply(configuration());
    await dropStaleFiles(dataFolder, term.lease.epoch);
    await this.monitor.start();
    await this.#engine.start();
    this.minutes.start();
    this.#hours.start();
    this.#sweep.start();
  }

  apply(now: Configuration): void {
    const { removedTargets } = this.#options;
    this.#isDisabled = disabledIn(now);
    this.monitor.configure(now.settings.pipelines);
    const removed = removedTargets.removed(now.targets);
    this.#engine.configure(now.notifications, now.targets, removed, now.inhibitions);
    this.#dispatcher.configure(removedTargets.withEarlier(now.targets), removedTargets.withEarlier(removed));
    void removedTargets.save(now.targets);
  }

  receive(...events: Parameters<ReceiveEvents>): ReturnType<ReceiveEvents> {
    return this.#engine.receive(...events);
  }

  async removeComponent(component: Component): Promise<void> {
    this.monitor.remove(component);
    await this.#engine.componentRemoved(component);
  }

  markWell(target: string): void {
    this.#dispatcher.markWell(target);
  }

  hold(...delivery: Parameters<Dispatcher['hold']>): ReturnType<Dispatcher['hold']> {
    return this.#dispatcher.hold(...delivery);
  }

  get explainer(): Engine['explainer'] {
    return this.#engine.explainer;
  }

  refreshAcknowledgement(incident: string): Promise<void> {
    return this.#engine.refreshAcknowledgement(incident);
  }

  refreshSilences(): Promise<void> {
    return this.#engine.refreshSilences();
  }

  warningOf(target: string): string | undefined {
    return this.#dispatcher.warningOf(target);
  }

  incompleteMs(): number {
    return this.#engine.incompleteMs();
  }

  evaluationCosts(): ReturnType<Engine['evaluationCosts']> {
    return this.#engine.evaluationCosts();
  }

  async stop(inTime: boolean): Promise<void> {
    this.#stopsInTime = inTime;
    await this.#teardown.run();
  }

  /** In the order of the start, as parts are stopped in reverse. The heartbeat has nothing else to start. */
  #registerTeardown(): void {
    const { removedTargets, configuration, outgoing, observedClock: clock, logger } = this.#options;
    const engine = this.#engine;
    const dispatcher = this.#dispatcher;
    this.#teardown.add('pipelines', () => this.monitor.stop());
    const forgetting = createRepeat({
      ...{ clock: this.#options.clock, interval: FORGETTING_MS },
      work: () => removedTargets.sweep(),
      // It reports them itself.
      faults: { failed: () => {} },
    });
    forgetting.start();
    this.#teardown.add('removed targets', async () => {
      await forgetting.stop();
      await removedTargets.idle();
    });
    this.#teardown.add('delivery', async () => {
      await dispatcher.stop(this.#stopsInTime);
      await this.#sending.stop();
    });
    this.#teardown.add('notifications', () => engine.stop());
    this.#teardown.add(
      'heartbeat',
      sendHeartbeats({
        url: () => configuration().settings.instance.heartbeatUrl?.reveal(),
        stalled: () => whyStalled({ engine, dispatcher, clock }),
        ...{ http: outgoing.http, clock, logger },
      }),
    );
    this.#teardown.add('retention', () => this.#sweep.stop());
    this.#teardown.add('history', async () => {
      await Promise.all([this.minutes.stop(), this.#hours.stop()]);
    });
  }
}

function meteredResults(meters: Meters): ResultBus {
  const results = createResultBus();
  results.subscribe(result => {
    if (result.kind === 'settled') meters.attemptSettled(result.row, result.operation, result.durationMs);
    else if (result.kind === 'dropped') meters.dropped(result.row);
  });
  return results;
}

function monitorOf(options: WorkspaceLeaderOptions, usual: UsualVolumes): Monitor {
  const { outgoing, clock, observedClock, logger, dataFolder, random, meters, quotas } = options;
  const { configFolder: folder, workspace, storage, isShared } = options;
  return createMonitor({
    ...{ http: outgoing.http, clock: observedClock, logger, random },
    snapshot: isShared
      ? snapshotInStore({ workspace, storage })
      : snapshotFile(join(dataFolder, SNAPSHOT_FILE)),
    files: folder === undefined ? NO_OPERATOR_FILES : createOperatorFiles({ folder, clock }),
    meter: meters.pipelines,
    usual: (...asked) => usual.usual(...asked),
    ids: createComponentIds({ workspace, storage, clock, logger, mostComponents: quotas?.components }),
    quotas,
    matching:
      quotas &&
      createMatchingLimit({
        msPerSecond: quotas.evaluationMsPerSecond,
        onReached: meters.evaluationCarriedOver,
        ...{ clock, logger },
      }),
  });
}

function deliveryOptions(options: WorkspaceLeaderOptions) {
  const { workspace, storage, secretOf, clock, ids, random, meters, quotas, term } = options;
  const { http, dial, sender } = options.outgoing;
  const { removedTargets, failing, configuration } = options;
  return {
    ...{ workspace, storage, http, dial, sender, secretOf, clock, ids, random, failing },
    logger: options.logger.child({ component: 'delivery' }),
    logFolder: join(options.dataFolder, 'log'),
    knownFields: WHOLE_EVENT_FIELDS,
    maySend: () => term.isCurrent(),
    expressionFailed: meters.expressionFailed,
    quota: quotas && { perMinute: quotas.deliveriesPerMinute, onReached: meters.quotaReached },
    paused: removedTargets.paused(configuration().targets),
    settings: () => {
      const { delivery, instance } = configuration().settings;
      return {
        concurrency: delivery.concurrency,
        mostWaiting: delivery.mostWaiting,
        retrySchedule: delivery.retrySchedule.map(delay => delay.ms),
        instanceName: instance.name,
      };
    },
  } satisfies Partial<DispatcherOptions>;
}

function evaluationOptions({
  workspace,
  storage,
  clock,
  observedClock,
  ids,
  logger,
  dataFolder,
  configuration,
  expiries,
  meters,
  quotas,
  removedTargets,
}: WorkspaceLeaderOptions) {
  return {
    ...{ workspace, storage, clock, observedClock, ids, expiries },
    changedTargets: removedTargets.changed(configuration().targets),
    logger: logger.child({ component: 'notifications' }),
    expressionFailed: meters.expressionFailed,
    externalUrl: () => configuration().settings.instance.externalUrl,
    instanceName: () => configuration().settings.instance.name,
    operationalTarget: () => configuration().settings.delivery.operationalTarget,
    heartbeatsFile: join(dataFolder, HEARTBEATS_FILE),
    evaluationQuota: quotas && {
      msPerSecond: quotas.evaluationMsPerSecond,
      onCarriedOver: meters.evaluationCarriedOver,
    },
  } satisfies Partial<EngineOptions>;
}

const sweepOf = ({ workspace, storage, clock, logger, configuration, meters }: LeaderOptions) =>
  createRetentionSweep({
    workspaces: async () => [workspace],
    storage,
    clock,
    logger: logger.child({ component: 'retention' }),
    retention: () => retentionOf(configuration().settings.retention),
    removed: meters.removed,
  });

const minutesOf = (
  { workspace, storage, clock, logger, configuration }: LeaderOptions,
  { components }: Monitor,
) =>
  createMinuteRecorder({
    components,
    clock,
    logger: logger.child({ component: 'history' }),
    maxComponents: () => configuration().settings.history.components,
    append: rows => storage.transaction(tx => tx.in(workspace).appendMinutes(rows)),
  });

const usualOf = ({ workspace, storage, clock, logger }: LeaderOptions): UsualVolumes =>
  createUsualVolumes({
    hours: storage.in(workspace).hours,
    clock,
    logger: logger.child({ component: 'history' }),
  });

const hoursOf = (
  { workspace, storage, clock, logger }: LeaderOptions,
  { components }: Monitor,
): HourKeeper => {
  const { minutes, incidents } = storage.in(workspace);
  return createHourKeeper({
    ...{ minutes, clock },
    logger: logger.child({ component: 'history' }),
    transaction: work => storage.transaction(tx => work(tx.in(workspace))),
    async openSeconds(hour) {
      const span = { from: hour, until: hour + HOUR_MS };
      const open = openSecondsOf(await incidents.openBetween(span.from, span.until), components.all(), span);
      return new Map([...open].map(([component, seconds]) => [componentHash(component), seconds]));
    },
  });
};

type IsDisabled = (kind: ComponentKind, subject: Subject) => boolean;

/** Inputs and outputs that a configuration declares as disabled, also those that were never seen. */
function disabledIn({ inputs, outputs }: Configuration): IsDisabled {
  const names = { input: namesOf(inputs), output: namesOf(outputs) };
  return (kind, { component, name }) => names[kind].has(component?.id ?? name);
}

/** Ids and `type:id`, as conditions may name a component that was never seen. */
const namesOf = (declared: readonly Declared[]): ReadonlySet<string> =>
  new Set(declared.filter(({ disabled }) => disabled).flatMap(({ id, type }) => [id, `${type}:${id}`]));
