import type { HeartbeatRule } from '../../conditions/heartbeat.ts';
import type { Clock } from '../../lib/clock.ts';
import { type CountedLog, createCountedLog } from '../../lib/counted-log.ts';
import { AppError } from '../../lib/errors.ts';
import type { Logger } from '../../lib/logger.ts';
import type { ObservedClock } from '../../lib/observed-clock.ts';
import { createRepeat, type Repeat } from '../../lib/repeat.ts';
import type { ExternalEvent } from '../external-events.ts';
import { stateChangeOf } from '../incidents/evaluated-change.ts';
import type { Incidents } from '../incidents/incidents.ts';
import type { Notification } from '../notification.ts';
import { compileGlob, isExact } from '../subjects.ts';
import type { AskedSubject, EvaluatedState, Evaluator } from './evaluation.ts';
import { readHeartbeats, writeHeartbeats } from './heartbeats-file.ts';
import {
  type ActiveRule,
  activeRuleFields,
  EVALUATIONS_AT_ONCE,
  type Evaluation,
  type ExternalEffect,
  NO_INHIBITION,
  type RuleSource,
} from './rule-source.ts';

/**
 * What is posted while the process does not run for longer is lost, where no sender tries so long; what was posted
 * within a shorter time arrives when it goes on.
 */
const MAX_BRIDGED_MS = 60_000;
/** Limit on the names that are kept: a sender that never uses one twice costs no more. */
const MAX_HEARTBEATS = 10_000;
const SAVE_INTERVAL_MS = 30_000;

interface ActiveHeartbeatRule extends ActiveRule, EvaluatedState {
  readonly rule: HeartbeatRule;
  /** Since when heartbeats are expected, on the observed clock. */
  waitingSince: number;
  readonly matches: (key: string) => boolean;
  /** Keys of the heartbeats that are expected. */
  readonly expected: Set<string>;
}

export interface HeartbeatRulesOptions {
  readonly clock: Clock;
  readonly observedClock: ObservedClock;
  readonly logger: Logger;
  readonly incidents: Incidents;
  readonly evaluator: Evaluator;
  /** The file that carries the last heartbeats over a restart; by default none are carried. */
  readonly heartbeatsFile?: string;
}

interface HeartbeatRecord {
  /** Epoch ms; null when only a failure was received. */
  lastAt: number | null;
  /** When it came, or when this process began to wait for it, on the observed clock. */
  silentSince: number;
  /** When one came to this process. */
  receivedAt: number | undefined;
  hasFailed: boolean;
}

/**
 * Rules on heartbeats. After a start, and after a minute in which the process did not run, one window must pass before
 * any is missed: it may have come meanwhile.
 */
export class HeartbeatRules implements RuleSource<HeartbeatRule> {
  readonly #options: HeartbeatRulesOptions;
  readonly #rules = new Map<string, ActiveHeartbeatRule>();
  readonly #records = new Map<string, HeartbeatRecord>();
  readonly #faults: CountedLog;
  readonly #saving: Repeat;
  #isChanged = false;
  /** Milliseconds in which the process had not run at the last evaluation. */
  #unobservedMs: number;

  constructor(options: HeartbeatRulesOptions) {
    this.#options = options;
    this.#unobservedMs = options.observedClock.unobservedMs();
    this.#faults = createCountedLog(options.logger, {
      fields: { file: options.heartbeatsFile },
      message: 'when heartbeats came last cannot be read or written; a restart forgets it',
      over: 'when heartbeats came last can be kept again',
    });
    this.#saving = createRepeat({
      clock: options.clock,
      interval: SAVE_INTERVAL_MS,
      work: () => this.#save(),
      faults: { failed: error => this.#faults.failed(error) },
    });
  }

  activate(notification: Notification, rule: HeartbeatRule, now: number): ActiveRule {
    const before = this.#rules.get(notification.id);
    const active: ActiveHeartbeatRule = {
      ...activeRuleFields(notification, before),
      ...NO_INHIBITION,
      rule,
      pendingSince: before?.pendingSince ?? new Map(),
      waitingSince: before?.waitingSince ?? now,
      matches: before?.matches ?? compileGlob(rule.conf.name),
      expected: before?.expected ?? new Set(isExact(rule.conf) ? [rule.conf.name] : []),
      evaluate: at => this.#evaluate(active, at),
      explainable: at =>
        keysOf(active).map(key =>
          this.#options.evaluator.explainable(active, this.#subject(active, key, at), at),
        ),
      effectOf: (event, at) => this.#effectOf(active, event, at),
      deactivate: () => void this.#rules.delete(notification.id),
    };
    this.#rules.set(notification.id, active);
    return active;
  }

  /** Forgets heartbeats that no rule expects. */
  configured(): void {
    const matching = new Set<string>();
    for (const { expected, matches } of this.#rules.values()) {
      for (const key of this.#records.keys()) if (matches(key)) expected.add(key);
      for (const key of expected) matching.add(key);
    }
    for (const key of this.#records.keys()) if (!matching.has(key)) this.#records.delete(key);
  }

  refresh(): void {
    const { observedClock } = this.#options;
    const unobservedMs = observedClock.unobservedMs();
    if (unobservedMs - this.#unobservedMs > MAX_BRIDGED_MS)
      for (const active of this.#rules.values()) active.waitingSince = observedClock.monotonic();
    this.#unobservedMs = unobservedMs;
  }

  /** Ignores the ids of events: a heartbeat that comes twice is one that came. */
  async receive(_pipeline: string, events: readonly ExternalEvent[]): Promise<void> {
    const byKey = new Map<string, ExternalEvent[]>();
    for (const event of events) byKey.set(event.key, [...(byKey.get(event.key) ?? []), event]);
    const sequences = [...byKey.values()].map(async sequence => {
      for (const event of sequence) await this.#handle(event);
    });
    await Promise.all(sequences);
  }

  async start(): Promise<void> {
    if (this.#options.heartbeatsFile !== undefined) await this.#restore(this.#options.heartbeatsFile);
    this.configured();
    this.#saving.start();
  }

  async stop(): Promise<void> {
    await this.#saving.stop();
    await this.#save();
  }

  *#evaluate(active: ActiveHeartbeatRule, now: number): Evaluation {
    let evaluated = 0;
    for (const key of keysOf(active)) {
      if (++evaluated % EVALUATIONS_AT_ONCE === 0) yield;
      if (!active.writing.has(key)) void this.#evaluateKey(active, key, now, undefined);
    }
  }

  /** Notifies a change, if any; resolves to the reason when it cannot be written. */
  #evaluateKey(
    active: ActiveHeartbeatRule,
    key: string,
    now: number,
    senderFields: ExternalEvent['fields'],
  ): Promise<unknown> | undefined {
    const { evaluator, incidents } = this.#options;
    const { subject, evaluate } = this.#subject(active, key, now);
    const change = evaluator.evaluateSubject(active, subject, now, evaluate);
    if (typeof change === 'number') return undefined;
    const stateChange = stateChangeOf(change);
    const { text, fields } = stateChange.description;
    return incidents.notify(active, {
      ...stateChange,
      description: { text, fields: { ...senderFields, ...fields } },
    });
  }

  #subject(
    active: ActiveHeartbeatRule,
    key: string,
    now: number,
    record = this.#records.get(key),
  ): AskedSubject {
    const state = {
      key,
      lastAt: record?.lastAt ?? null,
      silentMs: now - Math.max(record?.silentSince ?? 0, active.waitingSince),
      sinceReceivedMs: record?.receivedAt === undefined ? undefined : now - record.receivedAt,
      hasFailed: record?.hasFailed ?? false,
    };
    return {
      subject: { key, name: key, component: undefined },
      evaluate: open => active.rule.evaluate({ ...state, open }),
      explain: open => active.rule.explain({ ...state, open }),
    };
  }

  #effectOf(active: ActiveHeartbeatRule, event: ExternalEvent, now: number): ExternalEffect | undefined {
    const { key, fields } = event;
    if (active.rule.condition.id !== event.condition || !active.matches(key)) return undefined;
    const record = recordAfter(event, this.#records.get(key), { wall: this.#options.clock.now(), now });
    const { evaluator } = this.#options;
    const asked = evaluator.explainable(active, this.#subject(active, key, now, record), now);
    const { subject, verdict, incident } = asked.explain();
    const status = event.state;
    if (verdict.state === 'unknown' || (verdict.state === 'alarm') === (incident !== undefined)) {
      const reason = incident === undefined ? 'the heartbeat is in time' : 'its incident is open already';
      return { subject, status, description: undefined, reason };
    }
    const { text, fields: own } = verdict.describe();
    return { subject, status, description: { text, fields: { ...fields, ...own } } };
  }

  async #handle(event: ExternalEvent): Promise<void> {
    const matching = [...this.#rules.values()].filter(
      ({ rule, matches }) => rule.condition.id === event.condition && matches(event.key),
    );
    if (matching.length === 0) return;
    this.#record(event);
    for (const { expected } of matching) expected.add(event.key);
    await Promise.all(matching.map(({ notification }) => this.#apply(notification.id, event)));
  }

  #record(event: ExternalEvent): void {
    const { clock, observedClock } = this.#options;
    const before = this.#records.get(event.key);
    if (before === undefined && this.#records.size >= MAX_HEARTBEATS) throw tooManyHeartbeats();
    const times = { wall: clock.now(), now: observedClock.monotonic() };
    this.#records.set(event.key, recordAfter(event, before, times));
    this.#isChanged = true;
  }

  async #apply(id: string, { key, fields }: ExternalEvent): Promise<void> {
    for (;;) {
      // The configuration may have changed during a wait.
      const active = this.#rules.get(id);
      if (active === undefined) return;
      const writing = active.writing.get(key);
      if (writing === undefined) {
        const now = this.#options.observedClock.monotonic();
        const failure = await this.#evaluateKey(active, key, now, fields);
        if (failure !== undefined) throw temporarilyUnavailable(failure);
        return;
      }
      await writing;
    }
  }

  async #save(): Promise<void> {
    const { heartbeatsFile } = this.#options;
    if (heartbeatsFile === undefined || !this.#isChanged) return;
    this.#isChanged = false;
    const last = [...this.#records].flatMap(([key, { lastAt }]): [string, number][] =>
      lastAt === null ? [] : [[key, lastAt]],
    );
    try {
      await writeHeartbeats(heartbeatsFile, new Map(last));
      this.#faults.recovered();
    } catch (error) {
      this.#isChanged = true;
      this.#faults.failed(error);
    }
  }

  async #restore(path: string): Promise<void> {
    try {
      const now = this.#options.observedClock.monotonic();
      for (const [key, lastAt] of await readHeartbeats(path))
        if (!this.#records.has(key))
          this.#records.set(key, { lastAt, silentSince: now, receivedAt: undefined, hasFailed: false });
    } catch (error) {
      this.#faults.failed(error);
    }
  }
}

/** `wall` is epoch ms, `now` on the observed clock. */
function recordAfter(
  { state }: ExternalEvent,
  before: HeartbeatRecord | undefined,
  { wall, now }: { readonly wall: number; readonly now: number },
): HeartbeatRecord {
  const hasFailed = state === 'ALARM';
  return {
    lastAt: hasFailed ? (before?.lastAt ?? null) : wall,
    silentSince: hasFailed ? (before?.silentSince ?? now) : now,
    receivedAt: hasFailed ? before?.receivedAt : now,
    hasFailed,
  };
}

const keysOf = ({ expected, incidents }: ActiveHeartbeatRule): readonly string[] => [
  ...new Set([...expected, ...incidents.keys()]),
];

const temporarilyUnavailable = (cause: unknown): AppError =>
  new AppError('unavailable', 'heartbeats cannot be written just now', {
    isForCaller: true,
    retryAfterSeconds: 1,
    cause,
  });

const tooManyHeartbeats = (): AppError =>
  new AppError('unprocessable', `there are ${MAX_HEARTBEATS} heartbeats already, as many as there may be`);
