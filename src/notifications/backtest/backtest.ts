import type { Outbox } from '../../delivery/dispatcher.ts';
import { beforeId } from '../../delivery/worker.ts';
import { type Clock, createVirtualClock, type VirtualClock } from '../../lib/clock.ts';
import { monotonicIds } from '../../lib/ids.ts';
import { silentLogger } from '../../lib/logger.ts';
import type { ObservedClock } from '../../lib/observed-clock.ts';
import type { Component, PipelineState } from '../../pipelines/components/component.ts';
import { HOUR_MS, MINUTE_MS } from '../../pipelines/history/row-ids.ts';
import type { Storage } from '../../storage/storage.ts';
import type { DeliveryRow } from '../../storage/stores/deliveries.ts';
import type { SilenceRow } from '../../storage/stores/silences.ts';
import type { Target } from '../../targets/target.ts';
import { createEngine, type Engine } from '../engine.ts';
import type { Notification } from '../notification.ts';
import { type RecordedHistory, ReplayedComponents } from './replayed-components.ts';

/** The workspace of the store that a backtest writes into. */
const WORKSPACE = 'default';

export interface BacktestOptions {
  readonly notification: Notification;
  readonly targets: readonly Target[];
  readonly pipelines: readonly PipelineState[];
  readonly silences: readonly SilenceRow[];
  /** Epoch ms, whole minutes. Minutes before `from` are evaluated too, so that windows are full by then. */
  readonly warmUpFrom: number;
  readonly from: number;
  readonly to: number;
  /** Those that it matches. */
  readonly components: readonly Component[];
  /** Of those components. */
  readonly history: RecordedHistory;
  /** An empty store, which nothing else uses. */
  readonly storage: Storage;
  readonly instanceName: string;
  readonly externalUrl: string | undefined;
}

/** An incident that the notification would have opened; times in epoch ms. */
interface FoundIncident {
  readonly subject: string;
  readonly openedAt: number;
  readonly closedAt: number | null;
  readonly severity: string;
  /** What its last event says. */
  readonly text: string;
}

export interface BacktestFindings {
  readonly incidents: readonly FoundIncident[];
  readonly incidentCount: number;
  readonly messages: readonly SentMessage[];
  readonly messageCount: number;
  /** Times, in epoch ms, that no minute covers. */
  readonly missing: readonly { readonly from: number; readonly to: number }[];
}

/** Items that are listed; the rest is counted. */
const MOST_LISTED = 1000;

/**
 * Plays recorded minutes through the engine that evaluates notifications, with grouping, muting, silences and routes, on a
 * clock of its own: what it would have done, in its own words.
 */
export async function backtest(options: BacktestOptions): Promise<BacktestFindings> {
  const replay = new Replay(options);
  await replay.start();
  try {
    await replay.run();
  } finally {
    await replay.stop();
  }
  return replay.findings();
}

class Replay {
  readonly #options: BacktestOptions;
  readonly #components: ReplayedComponents;
  readonly #clock: VirtualClock;
  readonly #messages: ReturnType<typeof recordMessages>;
  readonly #engine: Engine;
  readonly #missing: { from: number; to: number }[] = [];
  /** Milliseconds that nobody observed so far. */
  #unobservedMs = 0;

  constructor(options: BacktestOptions) {
    const { storage, warmUpFrom, components, pipelines, instanceName, externalUrl } = options;
    this.#options = options;
    this.#components = new ReplayedComponents(components, pipelines);
    const clock = createVirtualClock(warmUpFrom, () => this.#messages.settled());
    this.#clock = clock;
    const observedClock = this.#observedClock();
    this.#messages = recordMessages({ storage, workspace: WORKSPACE, targets: options.targets, clock });
    this.#engine = createEngine({
      ...{ workspace: WORKSPACE, clock, observedClock, logger: silentLogger },
      storage: this.#messages.storage,
      outbox: this.#messages.outbox,
      ids: monotonicIds(clock),
      components: this.#components,
      externalUrl: () => externalUrl,
      instanceName: () => instanceName,
      operationalTarget: () => undefined,
      isRepeating: false,
    });
  }

  async start(): Promise<void> {
    const { storage, silences, notification, targets, history } = this.#options;
    if (notification.rule.readsUsual === true) this.#components.readVolumes(await history.readVolumes());
    await storage.transaction(async tx => {
      for (const silence of silences) await tx.in(WORKSPACE).addSilence(asItWas(silence));
    });
    this.#engine.configure([this.#components.replayed(notification)], targets);
    await this.#engine.start();
  }

  async run(): Promise<void> {
    const { warmUpFrom, to, history } = this.#options;
    const end = (hour: number): number => Math.min(hour + HOUR_MS, to);
    const first = warmUpFrom - (warmUpFrom % HOUR_MS);
    let reading = history.readHour(first);
    for (let hour = first; hour < to; hour += HOUR_MS) {
      const packed = await reading;
      this.#components.readHour(hour, packed);
      if (hour + HOUR_MS < to) reading = readAhead(history.readHour(hour + HOUR_MS, packed));
      for (let at = Math.max(hour, warmUpFrom); at < end(hour); at += MINUTE_MS)
        await this.#play((at - hour) / MINUTE_MS, at + MINUTE_MS);
    }
  }

  /** A silence that ended within the minute is looked at as it was before; then everything as it was at the end. */
  async #play(minute: number, end: number): Promise<void> {
    if (this.#components.hasEndedSilence(minute)) {
      this.#components.showEndedSilences(minute);
      await this.#clock.advance(MINUTE_MS / 2);
      await this.#evaluate();
    }
    if (!this.#components.showMinute(minute)) this.#miss(end - MINUTE_MS);
    await this.#clock.advance(end - this.#clock.now());
    await this.#evaluate();
  }

  async stop(): Promise<void> {
    await this.#engine.stop();
  }

  async findings(): Promise<BacktestFindings> {
    const { from, storage } = this.#options;
    const { incidents } = storage.in(WORKSPACE);
    const { rows, total } = await incidents.list({}, { offset: 0, limit: MOST_LISTED });
    const messages = this.#messages.sent().filter(({ at }) => at >= from);
    const found = rows.filter(row => row.closed_at === null || row.closed_at >= from);
    return {
      incidents: found.map(row => ({
        subject: row.subject,
        openedAt: row.opened_at,
        closedAt: row.closed_at,
        severity: row.severity,
        text: row.text,
      })),
      incidentCount: total - (rows.length - found.length),
      messages: messages.slice(0, MOST_LISTED),
      messageCount: messages.length,
      missing: this.#missing.flatMap(one =>
        one.to > from ? [{ from: Math.max(one.from, from), to: one.to }] : [],
      ),
    };
  }

  async #evaluate(): Promise<void> {
    await this.#engine.evaluate();
    await this.#messages.settled();
  }

  #miss(at: number): void {
    this.#unobservedMs += MINUTE_MS;
    const last = this.#missing.at(-1);
    if (last?.to === at) last.to = at + MINUTE_MS;
    else this.#missing.push({ from: at, to: at + MINUTE_MS });
  }

  #observedClock(): ObservedClock {
    const clock = this.#clock;
    return {
      ...{ now: clock.now, uptime: () => clock.uptime(), stop: async () => {} },
      after: (ms, run) => clock.after(ms, run),
      sleep: (ms, signal) => clock.sleep(ms, signal),
      monotonic: () => clock.monotonic() - this.#unobservedMs,
      unobservedMs: () => this.#unobservedMs,
    };
  }
}

/** A read that may fail before anybody waits for it. */
function readAhead<Result>(reading: Promise<Result>): Promise<Result> {
  reading.catch(() => {});
  return reading;
}

/** A silence held nothing back before somebody made it, and ended when it did. */
const asItWas = (silence: SilenceRow): SilenceRow => ({
  ...silence,
  starts_at: Math.max(silence.starts_at, silence.created_at),
  until_resolved: 0,
});

/** A message that a target would have been sent. */
export interface SentMessage {
  /** Epoch ms. */
  readonly at: number;
  readonly target: string;
  readonly events: readonly { readonly subject: string; readonly status: 'ALARM' | 'OK' }[];
}

export interface MessageRecorderOptions {
  readonly storage: Storage;
  readonly workspace: string;
  readonly targets: readonly Target[];
  readonly clock: Pick<Clock, 'now'>;
}

/** Deliveries that are read at a time. */
const PAGE = 500;

/** Takes the place of delivery: notes what would have been sent, and knows when what was written has settled. */
export function recordMessages({ storage, workspace, targets, clock }: MessageRecorderOptions) {
  const byId = new Map(targets.map(target => [target.settings.id, target]));
  const pending = new Set<Promise<unknown>>();
  const taken = new Set<string>();
  const messages: SentMessage[] = [];

  function track<Result>(work: Promise<Result>): Promise<Result> {
    const done = work.catch(() => {}).finally(() => pending.delete(done));
    pending.add(done);
    return work;
  }

  function add(target: string, rows: readonly DeliveryRow[]): void {
    const most = byId.get(target)?.batching?.maxEvents ?? 1;
    for (let at = 0; at < rows.length; at += most)
      messages.push({
        at: clock.now(),
        target,
        events: rows.slice(at, at + most).map(({ subject, status }) => ({ subject, status })),
      });
  }

  async function readFlushed(target: string, first: string): Promise<void> {
    const { deliveries } = storage.in(workspace);
    const rows: DeliveryRow[] = [];
    for (let after = beforeId(first); ; ) {
      const page = await deliveries.waiting(target, after, PAGE);
      rows.push(...page.filter(({ id }) => !taken.has(id)));
      const last = page.at(-1);
      if (last === undefined || page.length < PAGE) break;
      after = last.id;
    }
    for (const { id } of rows) taken.add(id);
    add(target, rows);
  }

  const outbox: Outbox = {
    enqueue(rows) {
      for (const row of rows) {
        if (row.state !== 'waiting') continue;
        taken.add(row.id);
        add(row.target, [row]);
      }
    },
    readFrom(ids, first) {
      for (const id of ids) void track(readFlushed(id, first));
    },
  };
  const counted: Storage = {
    ...storage,
    commit: (operation, lease) => track(storage.commit(operation, lease)),
    transaction: (work, lease) => track(storage.transaction(work, lease)),
  };
  return {
    outbox,
    storage: counted,
    sent: (): readonly SentMessage[] => messages,
    /** Resolves when nothing is being written any more, and what followed from it has run. */
    async settled(): Promise<void> {
      do {
        await Promise.all(pending);
        await new Promise(resolve => setImmediate(resolve));
      } while (pending.size > 0);
    },
  };
}
