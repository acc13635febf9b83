import { join } from 'node:path';
import type { Subject } from '../../conditions/condition.ts';
import type { Expiry } from '../../conditions/expiration.ts';
import type { Configuration, Declared } from '../../config/configuration.ts';
import { createOperatorFiles, NO_OPERATOR_FILES } from '../../config/operator-files.ts';
import { createDispatcher, type Dispatcher } from '../../delivery/dispatcher.ts';
import { createResultBus } from '../../delivery/results.ts';
import { createRetry, type Retry } from '../../delivery/retry.ts';
import type { Clock } from '../../lib/clock.ts';
import type { Dial } from '../../lib/dial.ts';
import type { HttpClient } from '../../lib/http/client.ts';
import type { MonotonicIds } from '../../lib/ids.ts';
import type { KeyRing } from '../../lib/keyring.ts';
import type { Logger } from '../../lib/logger.ts';
import { createEngine } from '../../notifications/engine.ts';
import type { ReceiveEvents } from '../../notifications/external-events.ts';
import { failingTargets } from '../../notifications/incidents/target-health.ts';
import { HEARTBEATS_FILE } from '../../notifications/rules/heartbeat.ts';
import { createMinuteRecorder, type MinuteRecorder } from '../../pipelines/history/recorder.ts';
import type { ComponentKind } from '../../pipelines/metric.ts';
import { createMonitor, type Monitor } from '../../pipelines/monitor.ts';
import type { Storage } from '../../storage/storage.ts';
import type { Meters } from '../meters.ts';
import { createRetentionSweep, retentionOf } from '../sweeps.ts';
import { createTeardown } from '../teardown.ts';
import { sendHeartbeats, whyStalled } from './heartbeat.ts';
import { fencedStorage, type LeaderTask, type LeaderTerm } from './lease.ts';
import { openRemovedTargets } from './removed-targets.ts';
import { continueIds, dropStaleSnapshot } from './takeover.ts';

export interface LeaderOptions {
  readonly workspace: string;
  readonly storage: Storage;
  readonly keyRing: KeyRing;
  readonly http: HttpClient;
  readonly dial: Dial;
  readonly secretOf: (name: string) => string | undefined;
  readonly clock: Clock;
  readonly ids: MonotonicIds;
  readonly random: () => number;
  readonly logger: Logger;
  readonly dataFolder: string;
  /** What paths in settings are relative to; undefined where they may name no file. */
  readonly configFolder: string | undefined;
  readonly configuration: () => Configuration;
  /** What is known to expire. */
  readonly facts: () => readonly Expiry[];
  readonly meters: Meters;
  /** Undefined where nobody bounds the workspace. */
  readonly quotas: RunningQuotas | undefined;
}

/** How much of what comes and goes a workspace may have. */
export interface RunningQuotas {
  /** Inputs and outputs over all pipelines. */
  readonly components: number;
  readonly deliveriesPerMinute: number;
}

/** What only one process does for a workspace: it reads pipelines, evaluates, sends and forgets. */
export interface Leader extends LeaderTask {
  readonly monitor: Monitor;
  readonly minutes: MinuteRecorder;
  /** Takes external events. */
  readonly receive: ReceiveEvents;
  /** Takes over another configuration. */
  apply(now: Configuration): void;
  readonly requeue: Retry;
  readonly heldBecause: Dispatcher['waitReason'];
}

export async function startLeader(options: LeaderOptions, term: LeaderTerm): Promise<Leader> {
  const { workspace, http, clock, ids, random, logger, dataFolder, configFolder, meters, quotas } = options;
  const settings = () => options.configuration().settings;
  const storage = fencedStorage(options.storage, term);
  const teardown = createTeardown(logger);
  // Whoever led before may have had a clock that is ahead of ours.
  await continueIds(ids, storage.in(workspace));
  const monitor = createMonitor({
    http,
    clock,
    logger,
    dataFolder,
    random,
    files:
      configFolder === undefined ? NO_OPERATOR_FILES : createOperatorFiles({ folder: configFolder, clock }),
    meter: meters.pipelines,
    componentQuota: quotas?.components,
  });
  teardown.add('pipelines', () => monitor.stop());
  let isInTime = true;
  const removedTargets = await openRemovedTargets({ workspace, storage, keyRing: options.keyRing, logger });
  teardown.add('kept targets', removedTargets.idle);
  const results = createResultBus();
  results.subscribe(result => {
    if (result.kind === 'settled') meters.attemptSettled(result.row, result.operation, result.durationMs);
    else if (result.kind === 'dropped') meters.dropped(result.row);
  });
  const dispatcher = createDispatcher({
    workspace,
    storage,
    http,
    dial: options.dial,
    secretOf: options.secretOf,
    clock,
    ids,
    random,
    logger: logger.child({ component: 'delivery' }),
    logFolder: join(dataFolder, 'log'),
    maySend: term.isCurrent,
    results,
    quota: quotas && { perMinute: quotas.deliveriesPerMinute, onReached: meters.quotaReached },
    paused: removedTargets.paused(options.configuration().targets),
    failing: failingTargets(await storage.in(workspace).incidents.open()),
    settings: () => ({
      concurrency: settings().delivery.concurrency,
      mostWaiting: settings().delivery.mostWaiting,
      retrySchedule: settings().delivery.retrySchedule.map(delay => delay.ms),
      instanceName: settings().instance.name,
    }),
  });
  teardown.add('delivery', () => dispatcher.stop(isInTime));
  // At once, whatever else is still being stopped by then.
  term.signal.addEventListener('abort', () => void dispatcher.stop(false), { once: true });
  let isDisabled = disabledIn(options.configuration());
  const engine = createEngine({
    workspace,
    storage,
    components: monitor.components,
    clock,
    ids,
    logger: logger.child({ component: 'notifications' }),
    results,
    outbox: {
      enqueue(rows, event) {
        meters.eventWritten(event);
        dispatcher.enqueue(rows, event);
      },
      readFrom: (targets, first) => dispatcher.readFrom(targets, first),
    },
    externalUrl: () => settings().instance.externalUrl,
    instanceName: () => settings().instance.name,
    operationalTarget: () => settings().delivery.operationalTarget,
    expiries: options.facts,
    isDisabled: (kind, subject) => isDisabled(kind, subject),
    heartbeatsFile: join(dataFolder, HEARTBEATS_FILE),
  });
  teardown.add('notifications', () => engine.stop());
  monitor.retain(component => engine.retains(component));
  teardown.add(
    'heartbeat',
    sendHeartbeats({
      url: () => settings().instance.heartbeatUrl?.reveal(),
      stalled: () => whyStalled({ engine, dispatcher, clock }),
      ...{ http, clock, logger },
    }),
  );
  const sweep = createRetentionSweep({
    workspaces: async () => [workspace],
    storage,
    clock,
    logger: logger.child({ component: 'retention' }),
    retention: () => retentionOf(settings().retention),
    removed: meters.removed,
  });
  teardown.add('retention', () => sweep.stop());

  const minutes = createMinuteRecorder({
    components: monitor.components,
    clock,
    logger: logger.child({ component: 'history' }),
    maxComponents: () => settings().history.components,
    append: rows => storage.transaction(tx => tx.in(workspace).appendMinutes(rows)),
  });
  teardown.add('history', () => minutes.stop());

  function apply(now: Configuration): void {
    isDisabled = disabledIn(now);
    monitor.configure(now.settings.pipelines);
    const removed = removedTargets.removed(now.targets);
    engine.configure(now.notifications, now.targets, removed);
    dispatcher.configure(now.targets, removed);
    void removedTargets.save(now.targets);
  }

  async function stop(inTime: boolean): Promise<void> {
    isInTime = inTime;
    await teardown.run();
  }

  try {
    apply(options.configuration());
    await dropStaleSnapshot(dataFolder, term.lease.epoch);
    await monitor.start();
    await engine.start();
    minutes.start();
    sweep.start();
  } catch (error) {
    await stop(false);
    throw error;
  }
  return {
    monitor,
    minutes,
    receive: (pipeline, events) => engine.receive(pipeline, events),
    apply,
    stop,
    requeue: createRetry({ workspace, storage, dispatcher }),
    heldBecause: target => dispatcher.waitReason(target),
  };
}

type IsDisabled = (kind: ComponentKind, subject: Subject) => boolean;

/** Which inputs and outputs a configuration declares as disabled, also those that were never seen. */
function disabledIn({ inputs, outputs }: Configuration): IsDisabled {
  const names = { input: namesOf(inputs), output: namesOf(outputs) };
  return (kind, { component, name }) => names[kind].has(component?.id ?? name);
}

/** Ids and, as conditions may name one that was never seen, `type:id`. */
const namesOf = (declared: readonly Declared[]): ReadonlySet<string> =>
  new Set(declared.filter(({ disabled }) => disabled).flatMap(({ id, type }) => [id, `${type}:${id}`]));
