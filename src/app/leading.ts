import { join } from 'node:path';
import type { ExpiryFact } from '../conditions/fact.ts';
import type { Configuration } from '../config/load.ts';
import { createOperatorFiles, NO_OPERATOR_FILES } from '../config/operator-files.ts';
import { createLanes, type Lanes } from '../delivery/lanes.ts';
import type { Clock } from '../lib/clock.ts';
import type { Dial } from '../lib/dial.ts';
import type { HttpClient } from '../lib/http.ts';
import type { MonotonicIds } from '../lib/ids.ts';
import type { KeyRing } from '../lib/keyring.ts';
import type { Logger } from '../lib/logger.ts';
import { BEATS_FILE } from '../notifications/beat-file.ts';
import { createEngine, type Engine } from '../notifications/engine.ts';
import { failingTargets } from '../notifications/target-health.ts';
import { createMinuteRecorder, type MinuteRecorder } from '../pipelines/minutes.ts';
import { createMonitor, type Monitor } from '../pipelines/monitor.ts';
import type { Storage } from '../storage/storage.ts';
import { continueIds } from './continue-ids.ts';
import { disabledIn } from './disabled.ts';
import { fencedStorage } from './fenced.ts';
import { sendHeartbeats, whyStalled } from './heartbeats.ts';
import { openKeptTargets } from './kept-targets.ts';
import type { Leading, Tenure } from './leadership.ts';
import type { Meters } from './meters.ts';
import { createRequeue, type Requeue } from './requeue.ts';
import { dropStaleSnapshot } from './stale-snapshot.ts';
import { createSweep, keepingOf } from './sweep.ts';
import { createTeardown } from './teardown.ts';

export interface LeadingOptions {
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
  readonly facts: () => readonly ExpiryFact[];
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
export interface Led extends Leading {
  readonly monitor: Monitor;
  readonly minutes: MinuteRecorder;
  /** Takes events that others post. */
  readonly post: Engine['post'];
  /** Takes over another configuration. */
  apply(now: Configuration): void;
  readonly requeue: Requeue;
  readonly heldBecause: Lanes['heldBecause'];
}

export async function startLeading(options: LeadingOptions, tenure: Tenure): Promise<Led> {
  const { workspace, http, clock, ids, random, logger, dataFolder, configFolder, meters, quotas } = options;
  const settings = () => options.configuration().settings;
  const storage = fencedStorage(options.storage, tenure);
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
  const keptTargets = await openKeptTargets({ workspace, storage, keyRing: options.keyRing, logger });
  teardown.add('kept targets', keptTargets.idle);
  const lanes = createLanes({
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
    holds: tenure.holds,
    booked(row, settlement, durationMs) {
      meters.booked(row, settlement, durationMs);
      engine.settled(row, settlement.state);
    },
    dropped: meters.dropped,
    quota: quotas && { perMinute: quotas.deliveriesPerMinute, reached: meters.quotaReached },
    paused: keptTargets.paused(options.configuration().targets),
    failing: failingTargets(await storage.in(workspace).incidents.open()),
    news: (target, news, row) => engine.targetNews(target, news, row),
    settings: () => ({
      concurrency: settings().delivery.concurrency,
      mostWaiting: settings().delivery.mostWaiting,
      retrySchedule: settings().delivery.retrySchedule.map(delay => delay.ms),
      instanceName: settings().instance.name,
    }),
  });
  teardown.add('delivery', () => lanes.stop(isInTime));
  // At once, whatever else is still being stopped by then.
  tenure.signal.addEventListener('abort', () => void lanes.stop(false), { once: true });
  let isDisabled = disabledIn(options.configuration());
  const engine = createEngine({
    workspace,
    storage,
    components: monitor.components,
    clock,
    ids,
    logger: logger.child({ component: 'notifications' }),
    enqueue(rows, event) {
      meters.told(event);
      lanes.enqueue(rows, event);
    },
    released: lanes.released,
    externalUrl: () => settings().instance.externalUrl,
    instanceName: () => settings().instance.name,
    operationalTarget: () => settings().delivery.operationalTarget,
    facts: options.facts,
    isDisabled: (kind, subject) => isDisabled(kind, subject),
    beatsFile: join(dataFolder, BEATS_FILE),
  });
  teardown.add('notifications', () => engine.stop());
  monitor.pin(engine.holds);
  teardown.add(
    'heartbeat',
    sendHeartbeats({
      url: () => settings().instance.heartbeatUrl?.reveal(),
      stalled: () => whyStalled({ engine, lanes, clock }),
      ...{ http, clock, logger },
    }),
  );
  const sweep = createSweep({
    workspaces: async () => [workspace],
    storage,
    clock,
    logger: logger.child({ component: 'retention' }),
    keeping: () => keepingOf(settings().retention),
    removed: meters.removed,
  });
  teardown.add('retention', () => sweep.stop());

  const minutes = createMinuteRecorder({
    components: monitor.components,
    clock,
    logger: logger.child({ component: 'history' }),
    most: () => settings().history.components,
    append: rows => storage.transaction(tx => tx.in(workspace).appendMinutes(rows)),
  });
  teardown.add('history', () => minutes.stop());

  function apply(now: Configuration): void {
    isDisabled = disabledIn(now);
    monitor.configure(now.settings.pipelines);
    const former = keptTargets.former(now.targets);
    engine.configure(now.notifications, now.targets, former);
    lanes.configure(now.targets, former);
    void keptTargets.keep(now.targets);
  }

  async function stop(inTime: boolean): Promise<void> {
    isInTime = inTime;
    await teardown.run();
  }

  try {
    apply(options.configuration());
    await dropStaleSnapshot(dataFolder, tenure.lease.epoch);
    await monitor.start();
    await engine.start();
    minutes.start();
    sweep.start();
  } catch (error) {
    await stop(false);
    throw error;
  }
  const requeue = createRequeue({ workspace, storage, lanes });
  const { heldBecause } = lanes;
  return { monitor, minutes, post: engine.post, apply, stop, requeue, heldBecause };
}
