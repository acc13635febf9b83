import { afterEach, beforeEach } from 'vitest';
import { createDispatcher, type Dispatcher } from '../../src/delivery/dispatcher.ts';
import type { FailingState, TargetHealthChange } from '../../src/delivery/health.ts';
import { createResultBus } from '../../src/delivery/results.ts';
import type { HeadgateEvent } from '../../src/events/event.ts';
import { type Clock, systemClock } from '../../src/lib/clock.ts';
import type { AppError } from '../../src/lib/errors.ts';
import { monotonicIds } from '../../src/lib/ids.ts';
import { silentLogger } from '../../src/lib/logger.ts';
import type { Storage } from '../../src/storage/storage.ts';
import type { DeliveryRow, DeliveryStore } from '../../src/storage/stores/deliveries.ts';
import type { EventStore } from '../../src/storage/stores/events.ts';
import type { Outcome } from '../../src/targets/outcome.ts';
import type { Target } from '../../src/targets/target.ts';
import { testClock } from './clock.ts';
import { noDial } from './no-http.ts';
import { openTestStorage } from './storage.ts';
import type { MadeTransition } from './transitions.ts';
import { until } from './until.ts';

export const SENT = { kind: 'sent', httpStatus: 200 } as const satisfies Outcome;
export const RETRY = { kind: 'retry', reason: 'status 503', httpStatus: 503 } as const satisfies Outcome;
export const REFUSED = { kind: 'refused', reason: 'status 404', httpStatus: 404 } as const satisfies Outcome;

/** One request. */
interface Received {
  readonly target: string;
  readonly id: string;
  /** The first of `events`. */
  readonly event: HeadgateEvent;
  readonly events: readonly HeadgateEvent[];
}

type TargetFacts = Partial<Target['settings']> &
  Partial<Pick<Target, 'batching' | 'rateLimitKey' | 'routes'>>;

async function openDeliveryWorld() {
  const store = await openTestStorage();
  const clock = testClock();
  const received: Received[] = [];
  const healthChanges: (TargetHealthChange & { target: string })[] = [];
  /** Messages of warnings and errors. */
  const logged: string[] = [];
  const log = (_: object, message: string): void => void logged.push(message);
  /** Replacements for reads of the store, the refusal of every write, and settings. */
  const controls: {
    readEvents?: EventStore['byIds'];
    readWaiting?: DeliveryStore['waiting'];
    refusal?: AppError | undefined;
    schedule: readonly number[];
    concurrency: number;
    mostWaiting: number;
    failing: Readonly<Record<string, FailingState>>;
    paused: Readonly<Record<string, number>>;
    /** Deliveries that all workers may begin in a minute; undefined for any number. */
    perMinute: number | undefined;
    /** As `Sending.until` says. */
    sendsUntil: number;
    /** As real clocks do: what passes from one reading to the next, and by how much timers are early, in ms. */
    readingMs: number;
    earlyMs: number;
  } = {
    schedule: [0, 5000, 30_000],
    concurrency: 256,
    mostWaiting: 1000,
    failing: {},
    paused: {},
    perMinute: undefined,
    sendsUntil: Number.POSITIVE_INFINITY,
    readingMs: 0,
    earlyMs: 0,
  };
  let dispatcher: Dispatcher | undefined;
  let readings = 0;
  const coarse: Clock = {
    ...clock,
    monotonic: () => clock.monotonic() + controls.readingMs * readings++,
    after: (ms, run) => clock.after(ms - controls.earlyMs, run),
  };

  const storage: Storage = {
    ...store.storage,
    in(workspace) {
      const stores = store.storage.in(workspace);
      return {
        ...stores,
        events: { ...stores.events, byIds: ids => (controls.readEvents ?? stores.events.byIds)(ids) },
        deliveries: {
          ...stores.deliveries,
          waiting: (...query) => (controls.readWaiting ?? stores.deliveries.waiting)(...query),
        },
      };
    },
    commit: operation =>
      controls.refusal ? Promise.reject(controls.refusal) : store.storage.commit(operation),
  };

  function open(): Dispatcher {
    const results = createResultBus();
    results.subscribe(result => {
      if (result.kind === 'health') healthChanges.push({ target: result.target, ...result.change });
    });
    return createDispatcher({
      workspace: 'default',
      storage,
      http: { request: () => Promise.reject(new Error('not used')), close: async () => {} },
      dial: noDial,
      secretOf: () => undefined,
      clock: coarse,
      ids: monotonicIds(systemClock),
      logger: { ...silentLogger, warn: log, error: log },
      random: () => 0.5,
      logFolder: store.folder,
      failing: new Map(Object.entries(controls.failing)),
      paused: new Map(Object.entries(controls.paused)),
      ...(controls.perMinute !== undefined && {
        quota: { perMinute: controls.perMinute, onReached: () => {} },
      }),
      results,
      sendsUntil: () => controls.sendsUntil,
      settings: () => ({
        retrySchedule: controls.schedule,
        instanceName: 'gate',
        concurrency: controls.concurrency,
        mostWaiting: controls.mostWaiting,
      }),
    });
  }

  /** A target that answers as `answer` says; undefined means that it does not answer until the attempt is aborted. */
  function target(
    id: string,
    answer: (
      event: HeadgateEvent,
      events: readonly HeadgateEvent[],
    ) => Outcome | Promise<Outcome> | undefined,
    concurrency = 5,
    { batching, rateLimitKey, routes, ...more }: TargetFacts = {},
  ): Target {
    return {
      settings: { id, type: 'test', systemFields: ['cribl_host', 'cribl_pipe'], ...more },
      concurrency,
      fallback: more.fallback,
      batching,
      rateLimitKey,
      ...(routes && { routes }),
      bulletinText: () => undefined,
      send(events, context) {
        const [event] = events;
        if (event === undefined) throw new Error('nothing to send');
        received.push({ target: id, id: context.deliveryId, event, events });
        const outcome = answer(event, events);
        if (outcome !== undefined) return Promise.resolve(outcome);
        return new Promise(resolve => {
          context.signal.addEventListener('abort', () => resolve({ kind: 'retry', reason: 'aborted' }));
        });
      },
    };
  }

  async function stored(made: MadeTransition): Promise<DeliveryRow> {
    const row = await store.storage.in('default').deliveries.get(made.operation.deliveries[0]?.id ?? '');
    if (row === undefined) throw new Error('the delivery is not in the store');
    return row;
  }

  const world = {
    store,
    clock,
    received,
    healthChanges,
    logged,
    controls,
    target,
    stored,
    get dispatcher(): Dispatcher {
      dispatcher ??= open();
      return dispatcher;
    },
    /** A process that ends, and another that begins. */
    async restart(): Promise<void> {
      await world.dispatcher.stop();
      dispatcher = open();
    },
    async commit(made: MadeTransition): Promise<MadeTransition> {
      await store.storage.commit(made.operation);
      world.dispatcher.enqueue(made.operation.deliveries, made.event);
      return made;
    },
    settled: (made: MadeTransition, state: DeliveryRow['state']): Promise<void> =>
      until(async () => (await stored(made)).state === state, `state ${state}`),
    /** By target and seq, what became of the deliveries of the incident. */
    async statesOf(made: MadeTransition): Promise<Record<string, DeliveryRow['state']>> {
      const { rows } = await store.storage
        .in('default')
        .deliveries.list({ incident: made.event.incidentId }, { offset: 0, limit: 100 });
      return Object.fromEntries(rows.map(row => [`${row.target} ${row.seq}`, row.state]));
    },
    ordered: () => received.map(one => `${one.target} ${one.event.status}`),
  };
  return world;
}

export type DeliveryWorld = Awaited<ReturnType<typeof openDeliveryWorld>>;

/** A dispatcher over a real store, created for each test, with targets that answer as the test says. */
export function deliveryWorld(): DeliveryWorld {
  let world: DeliveryWorld | undefined;
  beforeEach(async () => {
    world = await openDeliveryWorld();
  });
  afterEach(async () => {
    await world?.dispatcher.stop();
    await world?.store.close();
  });
  return new Proxy<DeliveryWorld>(Object.create(null), {
    get(_, name) {
      if (world === undefined) throw new Error('there is a world within a test only');
      return Reflect.get(world, name);
    },
  });
}
