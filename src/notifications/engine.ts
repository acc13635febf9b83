import type { OpenFor, Subject, Verdict } from '../conditions/condition.ts';
import type { ExpiryFact } from '../conditions/fact.ts';
import { findCondition } from '../conditions/index.ts';
import { SEVERITIES } from '../events/event.ts';
import type { Clock } from '../lib/clock.ts';
import { createFaultLog } from '../lib/fault-log.ts';
import { createRepeat, startToStart } from '../lib/repeat.ts';
import type { Component, ComponentKind, Components } from '../pipelines/component.ts';
import type { IncidentRow } from '../storage/storage.ts';
import type { Target } from '../targets/target.ts';
import { type BeatsOptions, createBeats } from './beats.ts';
import { createConditionFaults } from './condition-faults.ts';
import { createCrowds, type Found, summaryOf } from './crowds.ts';
import { decide } from './decide.ts';
import { kindOf, nameIn, whyEnded } from './endings.ts';
import type { GroupsOptions } from './groups.ts';
import { createIncidents, type IncidentsOptions } from './incidents.ts';
import type { Notification } from './notification.ts';
import { createOutages, type Outages } from './outages.ts';
import { TARGET_HEALTH } from './own-notification.ts';
import { createPins } from './pins.ts';
import type { PostedEvent } from './posted-events.ts';
import { createPosts, type Posts } from './posts.ts';
import { factQuestions, pipelineQuestions, whyGone } from './questions.ts';
import { createSubjectTable } from './subject-table.ts';
import { keyParts, kindAmongEither } from './subjects.ts';
import { createTargetHealth, type TargetHealth } from './target-health.ts';
import { configsTold } from './told-event.ts';
import type { About } from './transition.ts';
import {
  type Book,
  type ComponentWatch,
  createWatch,
  type EvaluatedWatch,
  edited,
  type FactWatch,
  type PipelineWatch,
  subjectsOf,
  type Watch,
} from './watch.ts';

/** From one evaluation of everything to the next, and the least that others have the processor for in between. */
const EVALUATION_MS = 500;
const REST_MS = 100;

/** Incidents of one notification that go with it or with a pipeline; the rest of very many ends with later evaluations. */
const MOST_ENDED_AT_ONCE = 1000;

/** How a subject is judged, and who is told of what is found. */
interface Judging<Asked> {
  readonly evaluate: (open: OpenFor | undefined) => Verdict;
  readonly tell: (found: Omit<Found, 'subject'> & { readonly subject: Asked }) => void;
}

export interface EngineOptions
  extends Omit<IncidentsOptions, 'targets' | 'outages' | 'isEnding'>,
    Pick<BeatsOptions, 'beatsFile'> {
  readonly components: Components;
  /** What is known to expire. Left out, nothing is. */
  readonly facts?: () => readonly ExpiryFact[];
  readonly clock: Clock;
  /** Id of the target that is told of failing targets. */
  readonly operationalTarget: () => string | undefined;
  /** How many incidents of posted events one notification may have open; 100,000 when left out. */
  readonly mostOpen?: number;
  /** Whether nothing is expected of a subject, so that no condition is asked about it. Left out, of none. */
  readonly isDisabled?: (kind: ComponentKind, subject: Subject) => boolean;
}

/** Asks every notification's condition about every subject, takes what others post, and tells what changes. */
export interface Engine extends Pick<Posts, 'post'> {
  /**
   * Takes over a configuration: incidents of notifications that went, were disabled or changed are closed. `former`
   * targets were removed and are told the ends of what they were told.
   */
  configure(
    notifications: readonly Notification[],
    targets: readonly Target[],
    former?: readonly Target[],
  ): void;
  /** Takes what deliveries say of their target's health. */
  readonly targetNews: TargetHealth['tell'];
  /** Takes what became of deliveries. */
  readonly settled: Outages['settled'];
  /** Takes up the open incidents of the store, then evaluates at each interval. */
  start(): Promise<void>;
  /** Whether an incident on it is open or a notification names it exactly, so that it must not be forgotten. */
  holds(component: Component): boolean;
  /** When everything was last evaluated, on the monotonic clock. */
  evaluatedAt(): number;
  /** Evaluates nothing more and waits for what is on its way to the disk. */
  stop(): Promise<void>;
}

/** Incidents to close whose notification is no longer evaluated. */
interface Ending extends Book {
  readonly reason: string;
}

export function createEngine(options: EngineOptions): Engine {
  const { clock, components, logger, isDisabled = () => false, facts = () => [] } = options;
  const watches = new Map<string, Watch>();
  const endings = new Set<Ending>();
  const targets = new Map<string, Target>();
  const outages = createOutages({ ...options, all: watches });
  /** Ends take their turns where there are very many of them. */
  const isEnding: GroupsOptions['isEnding'] = ({ notification, members }, pipeline) => {
    if (components.pipeline(pipeline) === undefined) return true;
    const watch = watches.get(notification);
    return watch?.source === 'component' && crowds.isEnding(watch, pipeline, members);
  };
  const incidents = createIncidents({ ...options, targets, outages: outages.toldTo, isEnding });
  let present: ReadonlySet<string> = new Set();
  const targetHealth = createTargetHealth({ ...options, incidents, isConfigured: id => present.has(id) });
  const posts = createPosts({ ...options, watches, incidents, isStopped: () => stopped });
  const crowds = createCrowds({
    ...options,
    incidents,
    isOver: watch => stopped || watches.get(watch.notification.id)?.incidents !== watch.incidents,
  });
  const beats = createBeats({ ...options, watches, incidents });
  const table = createSubjectTable(components);
  const faults = createFaultLog(logger, {
    fields: {},
    message: 'a notification cannot be evaluated',
    over: 'all notifications can be evaluated again',
  });
  const conditionFaults = createConditionFaults({ clock, logger });
  const evaluating = createRepeat({
    clock,
    firstAfterMs: 0,
    interval: startToStart(EVALUATION_MS, REST_MS),
    work: evaluate,
    faults,
  });
  let evaluatedAt = clock.monotonic();
  let stopped = false;

  /** One notification that cannot be evaluated keeps no other from it. */
  function evaluate(): void {
    const now = clock.monotonic();
    const isThere = new Map<string, boolean>();
    const failed: unknown[] = [];
    const attempt = (work: () => void): void => {
      try {
        work();
      } catch (error) {
        failed.push(error);
      }
    };
    for (const ending of endings) attempt(() => end(ending));
    attempt(targetHealth.evaluate);
    attempt(table.refresh);
    // Before their inputs, whose alarms are held back from whoever is told of the pipeline.
    let known: readonly ExpiryFact[] | undefined;
    const pipelines = outages.watches().length > 0 ? components.pipelines() : [];
    for (const watch of outages.watches())
      attempt(() => ask(watch, pipelineQuestions(watch, pipelines, clock.now()), now));
    for (const watch of watches.values())
      attempt(() => {
        if (watch.source === 'posted') posts.remind(watch, now);
        else if (watch.source === 'beat') beats.evaluate(watch);
        else if (watch.source === 'fact') {
          known ??= facts();
          ask(watch, factQuestions(watch, known, clock.now()), now);
        } else if (watch.source === 'component') look(watch, now, isThere);
      });
    evaluatedAt = now;
    if (failed.length > 0) throw failed[0];
  }

  function look(watch: ComponentWatch, now: number, isThere: Map<string, boolean>): void {
    const pass: Found[] = [];
    subjectsOf(watch, table, now).forEach((subject, at) => {
      const { key } = subject;
      if (isDisabledIn(watch, subject)) rest(watch, key, now);
      else if (now >= (watch.calmUntil[at] ?? 0) && !watch.pending.has(key) && isRested(watch, key, now))
        watch.calmUntil[at] = judge(watch, subject, now, {
          evaluate: open => watch.rule.evaluate({ subject, components, open }),
          tell: found => void pass.push(found),
        });
    });
    crowds.tell(watch, pass);
    closeAbandoned(watch, isThere);
  }

  function ask(
    watch: PipelineWatch | FactWatch,
    questions: ReturnType<typeof factQuestions>,
    now: number,
  ): void {
    const present = new Set(questions.map(({ subject }) => subject.key));
    for (const key of watch.holding.keys()) if (!present.has(key)) watch.holding.delete(key);
    for (const { subject, evaluate } of questions)
      judge(watch, subject, now, {
        evaluate,
        tell: ({ status, describe }) =>
          void incidents.tell(watch, { subject, status, description: describe() }),
      });
    for (const key of watch.incidents.keys())
      if (!present.has(key)) withdraw(watch, key, whyGone(watch, key, components));
  }

  /** Of inputs and outputs together, what was never seen may be either: then nothing says that it is disabled. */
  function isDisabledIn({ rule }: ComponentWatch, subject: Subject): boolean {
    const kind = subject.component?.kind ?? rule.kind;
    return kind !== 'either' && isDisabled(kind, subject);
  }

  function rest(watch: ComponentWatch, key: string, now: number): void {
    watch.rested.set(key, now);
    watch.holding.delete(key);
    if (watch.incidents.has(key))
      withdraw(
        watch,
        key,
        `the ${watch.rule.kind === 'either' ? kindAmongEither(key) : watch.rule.kind} was disabled`,
      );
  }

  /** What a subject did while it was disabled says nothing for a whole window after. */
  function isRested(watch: ComponentWatch, key: string, now: number): boolean {
    const restedAt = watch.rested.get(key);
    if (restedAt === undefined) return true;
    if (now - restedAt < watch.origin.windowMs) return false;
    watch.rested.delete(key);
    return true;
  }

  /** Says until when, on the monotonic clock, it need not be asked again. */
  function judge<Asked extends About>(
    watch: EvaluatedWatch,
    subject: Asked,
    now: number,
    { evaluate, tell }: Judging<Asked>,
  ): number {
    const { key } = subject;
    if (watch.writing.has(key)) return now;
    const { forMs, repeatMs } = watch.notification;
    const incident = watch.incidents.get(key);
    const open = incident && {
      ms: Math.max(0, clock.now() - incident.row.opened_at),
      observedMs: now - incident.watchedSince,
    };
    const verdict = evaluate(open);
    const decision = decide({
      verdict: verdict.state,
      isOpen: incident !== undefined,
      holdingMs: now - (watch.holding.get(key) ?? now),
      forMs,
      toldMs: now - (incident?.toldAt ?? now),
      repeatMs,
    });
    if (verdict.state === 'unknown' && verdict.isFault === true)
      conditionFaults.warn(watch.notification.id, subject.name, verdict.reason);
    if (decision === 'hold') {
      if (!watch.holding.has(key)) watch.holding.set(key, now);
      return now;
    }
    // Kept until the incident is on disk: one that the disk refuses has not to wait its time again.
    if (decision !== 'open') watch.holding.delete(key);
    if (decision === 'nothing' || verdict.state === 'unknown')
      return verdict.state === 'ok' ? now + (verdict.calmMs ?? 0) : now;
    if (decision === 'repeat' && summaryOf(watch, key) !== undefined) return now;
    const status = decision === 'close' ? 'OK' : 'ALARM';
    tell({ subject, status, decision, describe: verdict.describe });
    return now;
  }

  /** The pipeline was taken out of the configuration: nobody will ever say that its input is well again. */
  function closeAbandoned(watch: ComponentWatch, isThere: Map<string, boolean>): void {
    let ended = 0;
    for (const key of watch.incidents.keys()) {
      const { pipeline } = keyParts(key);
      const known =
        isThere.get(pipeline) ?? (pipeline === '*' || components.pipeline(pipeline) !== undefined);
      isThere.set(pipeline, known);
      if (known || watch.writing.has(key)) continue;
      withdraw(watch, key, `pipeline ${pipeline} was removed from the configuration`);
      if (++ended === MOST_ENDED_AT_ONCE) return;
    }
  }

  function withdraw(book: Book, key: string, closeReason: string): void {
    if (book.writing.has(key)) return;
    const summary = summaryOf(book, key);
    const name = nameIn(book.origin.kind, key);
    const subject = { key, name, component: undefined };
    const text = `Closed, ${closeReason}: ${book.incidents.get(key)?.row.text ?? ''}`;
    void incidents.tell(book, {
      subject,
      status: 'OK',
      description: { text, fields: {} },
      closeReason,
      ...(summary && { summary }),
    });
  }

  function end(ending: Ending): void {
    if (ending.incidents.size === 0 && ending.writing.size === 0) endings.delete(ending);
    for (const key of [...ending.incidents.keys()].slice(0, MOST_ENDED_AT_ONCE))
      withdraw(ending, key, ending.reason);
  }

  /** An open incident of the store belongs to its notification if that still asks the same question. */
  async function takeUp(row: IncidentRow): Promise<void> {
    if (row.notification === TARGET_HEALTH) {
      targetHealth.takeUp(row);
      return;
    }
    const watch = watches.get(row.notification);
    const isSame = watch?.origin.fingerprint === row.rule;
    if (watch !== undefined && isSame) watch.incidents.set(row.subject, incidents.takeUp(row));
    else {
      const reason = `the notification was ${watch === undefined ? 'removed or disabled' : 'changed'}`;
      endings.add({
        ...(await bookOf(row)),
        reason,
        incidents: new Map([[row.subject, incidents.takeUp(row)]]),
      });
    }
  }

  /** What the store still says of the notification of an incident, when that is gone. */
  async function bookOf(row: IncidentRow): Promise<Omit<Book, 'incidents'>> {
    return {
      origin: {
        notification: row.notification,
        condition: row.condition,
        kind: kindOf(row.condition),
        windowMs: 0,
        severity: SEVERITIES.find(severity => severity === row.severity) ?? 'warn',
        fingerprint: row.rule,
        grouping: undefined,
        description: undefined,
        runbookUrl: undefined,
        metadata: [],
        targetConfigs: await configsTold(options.storage.in(options.workspace), row.id),
      },
      targets: [],
      writing: new Map(),
    };
  }

  return {
    configure(notifications, configured, former = []) {
      targets.clear();
      for (const target of [...former, ...configured]) targets.set(target.settings.id, target);
      present = new Set(configured.map(target => target.settings.id));
      const next = new Map(notifications.map(notification => [notification.id, notification]));
      for (const [id, watch] of watches) {
        const reason = whyEnded(watch.notification, next.get(id));
        if (reason === undefined) continue;
        watches.delete(id);
        endings.add({ ...watch, origin: { ...watch.origin, grouping: undefined }, reason });
      }
      for (const ending of endings) end(ending);
      for (const notification of notifications) {
        if (notification.disabled) continue;
        const watch = watches.get(notification.id);
        const now = clock.monotonic();
        watches.set(notification.id, watch ? edited(watch, notification) : createWatch(notification, now));
      }
      conditionFaults.keep(watches);
      posts.configure();
      outages.configure();
      beats.configure();
      incidents.groups.configure(notificationsOf(watches));
      // Closed at once: a target that is back before the next evaluation begins anew.
      targetHealth.evaluate();
    },
    targetNews: targetHealth.tell,
    settled: outages.settled,
    async post(pipeline, events) {
      const isBeat = ({ condition }: PostedEvent): boolean => findCondition(condition)?.source === 'beat';
      const others = events.filter(event => !isBeat(event));
      await Promise.all([posts.post(pipeline, others), beats.post(events.filter(isBeat))]);
    },
    async start() {
      for (const row of await options.storage.in(options.workspace).incidents.open()) await takeUp(row);
      await outages.start();
      await incidents.groups.start();
      await beats.start();
      evaluating.start();
    },
    holds: createPins({ clock, watches: () => watches.values() }),
    evaluatedAt: () => evaluatedAt,
    async stop() {
      stopped = true;
      await evaluating.stop();
      await beats.stop();
      await crowds.idle();
      await incidents.idle();
      await incidents.groups.stop();
    },
  };
}

const notificationsOf = (watches: ReadonlyMap<string, Watch>): ReadonlyMap<string, Notification> =>
  new Map([...watches].map(([id, { notification }]) => [id, notification]));
