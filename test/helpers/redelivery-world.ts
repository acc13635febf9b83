import { createDispatcher, type Dispatcher } from '../../src/delivery/dispatcher.ts';
import { createResultBus } from '../../src/delivery/results.ts';
import { monotonicIds } from '../../src/lib/ids.ts';
import { silentLogger } from '../../src/lib/logger.ts';
import { createEngine, type Engine } from '../../src/notifications/engine.ts';
import { failingTargets } from '../../src/notifications/incidents/target-health.ts';
import type { InhibitionRule } from '../../src/notifications/inhibition/inhibition-rule.ts';
import { configureNotification } from '../../src/notifications/notification.ts';
import type { DeliveryRow } from '../../src/storage/stores/deliveries.ts';
import type { Outcome } from '../../src/targets/outcome.ts';
import type { Target } from '../../src/targets/target.ts';
import { observedClockOf, type TestClock, testClock } from './clock.ts';
import { testComponents } from './components.ts';
import { noDial } from './no-http.ts';
import type { TestStorage } from './storage.ts';

const ALL = { offset: 0, limit: 1000 };
const ANSWERS = {
  up: { kind: 'sent', httpStatus: 200 },
  refusing: { kind: 'refused', reason: 'status 404', httpStatus: 404 },
  objecting: { kind: 'refused', reason: 'status 400', httpStatus: 400, isAboutMessage: true },
  down: { kind: 'retry', reason: 'status 503', httpStatus: 503 },
  silent: { kind: 'unknown', reason: 'no answer' },
} as const satisfies Readonly<Record<string, Outcome>>;
export type Answer = keyof typeof ANSWERS;

const ALWAYS = [{ weekdays: ['mon-sun'] }];

interface Setup {
  /** Ids of the targets that are configured. */
  targets: string[];
  /** Ids of those of the notification; by default all. */
  recipients?: string[];
  isMuted: boolean;
  /** Settings of single targets. */
  settings: Record<string, Partial<Target['settings']>>;
  schedule: readonly number[];
  inhibitions: InhibitionRule[];
}

/** A process over a store that outlives it: the engine with the dispatcher, as a leader joins them. */
export class RedeliveryWorld {
  readonly store: TestStorage;
  readonly clock: TestClock = testClock();
  readonly answers = new Map<string, Answer>();
  /** Keys that every target refuses as if it were at fault itself. */
  readonly refusedKeys = new Set<string>();
  /** What each target has taken: its id, the status and the key. */
  readonly taken: { readonly target: string; readonly status: string; readonly key: string }[] = [];
  /** Requests by target and event. */
  readonly requests = new Map<string, number>();
  readonly setup: Setup = {
    targets: ['a'],
    isMuted: false,
    settings: {},
    schedule: [0, 3_600_000, 3_600_000],
    inhibitions: [],
  };
  readonly #known = new Map<string, Target>();
  #engine: Engine | undefined;
  #dispatcher: Dispatcher | undefined;
  #posted = 0;
  #silences = 0;

  readonly #leastWaitMs: number;

  /** The engine waits at least so long each time: hours go by faster where it need not be exact to the half second. */
  constructor(store: TestStorage, leastWaitMs = 0) {
    this.store = store;
    this.#leastWaitMs = leastWaitMs;
  }

  get dispatcher(): Dispatcher {
    if (this.#dispatcher === undefined) throw new Error('the process was not started');
    return this.#dispatcher;
  }

  get stores() {
    return this.store.storage.in('default');
  }

  async start(): Promise<void> {
    const { clock, store } = this;
    const { storage } = store;
    const results = createResultBus();
    const ids = monotonicIds(clock);
    // As a takeover does: a wall clock that was set back makes no smaller ids.
    const [newest] = (await this.stores.deliveries.list({}, { offset: 0, limit: 1 })).rows;
    if (newest !== undefined) ids.advancePast(newest.id);
    let engine: Engine | undefined;
    this.#dispatcher = createDispatcher({
      ...{ workspace: 'default', storage, clock, ids, results, logger: silentLogger, dial: noDial },
      http: { request: () => Promise.reject(new Error('not used')), close: async () => {} },
      secretOf: () => undefined,
      random: () => 0.5,
      logFolder: store.folder,
      failing: failingTargets(await this.stores.incidents.open()),
      paused: new Map(),
      replacements: async row => engine?.replacementsFor(row) ?? 'later',
      settings: () => ({
        retrySchedule: this.setup.schedule,
        instanceName: 'gate',
        concurrency: 256,
        mostWaiting: 1000,
      }),
    });
    const dispatcher = this.#dispatcher;
    const after: TestClock['after'] = (ms, run) => clock.after(Math.max(ms, this.#leastWaitMs), run);
    engine = createEngine({
      ...{ workspace: 'default', storage, ids, results, logger: silentLogger },
      clock: { ...clock, after },
      components: testComponents(clock),
      observedClock: observedClockOf(clock),
      outbox: {
        enqueue: (rows, event) => dispatcher.enqueue(rows, event),
        readFrom: (targets, first) => dispatcher.readFrom(targets, first),
      },
      externalUrl: () => undefined,
      instanceName: () => 'gate',
      operationalTarget: () => undefined,
    });
    this.#engine = engine;
    this.configure();
    await engine.start();
  }

  async stop(): Promise<void> {
    const stopping = this.#dispatcher?.stop();
    await this.clock.advance(10_000);
    await stopping;
    await this.#engine?.stop();
  }

  async restart(): Promise<void> {
    await this.stop();
    await this.start();
  }

  /** Takes over what `setup` says, as a reload does. */
  configure(): void {
    const targets = this.setup.targets.map(id => this.#target(id));
    for (const target of targets) this.#known.set(target.settings.id, target);
    const removed = [...this.#known.values()].filter(
      ({ settings }) => !this.setup.targets.includes(settings.id),
    );
    const notification = configureNotification({
      id: 'monitors',
      condition: 'monitor-alerts',
      targets: this.setup.recipients ?? this.setup.targets,
      muteWindows: this.setup.isMuted ? ALWAYS : [],
    });
    this.#engine?.configure([notification], targets, removed, this.setup.inhibitions);
    this.dispatcher.configure(targets, removed);
  }

  /** Silences everything of the notification from now on. */
  async silence(ms: number, { untilResolved = false } = {}): Promise<void> {
    const now = this.clock.now();
    await this.store.storage.transaction(tx =>
      tx.in('default').addSilence({
        id: `s${++this.#silences}`,
        matchers: JSON.stringify([{ name: 'cribl_notification', op: '=', value: 'monitors' }]),
        starts_at: now,
        ends_at: now + ms,
        until_resolved: untilResolved ? 1 : 0,
        comment: 'upgrade',
        created_by: 'ops',
        created_at: now,
      }),
    );
    await this.#engine?.refreshSilences();
  }

  async post(key: string, state: 'ALARM' | 'OK'): Promise<void> {
    const id = `event ${this.#posted++}`;
    await this.#engine?.receive('edge', [{ condition: 'monitor-alerts', key, state, id, fields: {} }]);
    await this.quiet();
  }

  /** Lets everything that is due be sent and settled: until nothing has changed for some turns. */
  async quiet(ms = 0): Promise<void> {
    await this.clock.advance(ms);
    let seen = '';
    for (let unchanged = 0; unchanged < 6; unchanged++) {
      await this.store.storage.transaction(async () => {});
      await this.clock.advance(0);
      const now = JSON.stringify([[...this.requests], await this.deliveries()]);
      if (now !== seen) unchanged = 0;
      seen = now;
    }
  }

  async deliveries(filter: { readonly target?: string } = {}): Promise<readonly DeliveryRow[]> {
    const { rows } = await this.stores.deliveries.list(filter, ALL);
    return rows.filter(row => row.notification === 'monitors').toReversed();
  }

  /** Each delivery as `target status state`. */
  async states(): Promise<string[]> {
    return (await this.deliveries()).map(row => `${row.target} ${row.status} ${row.state}`);
  }

  async text(message: string): Promise<string | undefined> {
    return (await this.stores.messages.get(message))?.text;
  }

  #target(id: string): Target {
    return {
      settings: { id, type: 'test', systemFields: [], ...this.setup.settings[id] },
      concurrency: 5,
      fallback: this.setup.settings[id]?.fallback,
      batching: undefined,
      bulletinText: () => undefined,
      send: async ([event]) => {
        const isRefused = this.refusedKeys.has(String(event?.key));
        const answer = isRefused ? 'refusing' : (this.answers.get(id) ?? 'up');
        const request = `${id} ${event?.id}`;
        this.requests.set(request, (this.requests.get(request) ?? 0) + 1);
        if (answer === 'up' || answer === 'silent')
          this.taken.push({ target: id, status: String(event?.status), key: String(event?.key) });
        return ANSWERS[answer];
      },
    };
  }
}
