import type { ComponentRule, Description } from '../../conditions/condition.ts';
import type { Clock } from '../../lib/clock.ts';
import { formatDuration } from '../../lib/duration.ts';
import { reasonOf } from '../../lib/errors.ts';
import type { Logger } from '../../lib/logger.ts';
import type { GroupMember } from '../grouping/group.ts';
import type { Notification } from '../notification.ts';
import type { OpenIncident, RuleState } from '../rule-state.ts';
import { keyParts } from '../subjects.ts';
import { type EvaluatedChange, stateChangeOf } from './evaluated-change.ts';
import type { Incidents } from './incidents.ts';

/**
 * More new incidents than this of one notification in one evaluation, of one pipeline or of all the others, get one
 * summary.
 */
const FLOOD_THRESHOLD = 1000;
/** Transitions that are made at a time; other work may run before the next. */
const BATCH_SIZE = 200;
/** Number of names that a summary gives. */
const MAX_NAMED = 5;
/** Key of the subject of a summary; no exact name has a `*`. */
const SUMMARY_KEY = '*/*summary';

/** A flood of one pipeline has a summary of its own: it may result from an outage that was notified. */
const summaryKey = (pipeline: string | undefined): string =>
  pipeline === undefined ? SUMMARY_KEY : `${SUMMARY_KEY}/${pipeline}`;
const pipelineOf = (key: string): string | undefined => key.slice(SUMMARY_KEY.length + 1) || undefined;

/** A rule whose changes may come in floods. */
export interface FloodRule extends RuleState {
  readonly notification: Notification;
  readonly rule: ComponentRule;
  /** Subjects whose transition is queued in a flood. */
  readonly queued: Set<string>;
}

export interface FloodSummariesOptions {
  readonly incidents: Incidents;
  readonly clock: Pick<Clock, 'now' | 'monotonic'>;
  readonly logger: Logger;
  /** True for a rule that is not active any more: nothing of it may be notified. */
  readonly isInactive: (rule: FloodRule) => boolean;
}

/** Notifies the changes that an evaluation found: each by itself, or a flood by one summary. */
export interface FloodSummaries {
  notify(rule: FloodRule, changes: readonly EvaluatedChange[]): void;
  /**
   * True when the summary of a pipeline is among the inhibited members and is about to close, as every incident in it
   * is closed or being written.
   */
  isResolving(
    rule: FloodRule,
    pipeline: string,
    inhibited: ReadonlyMap<string, Pick<GroupMember, 'incident'>>,
  ): boolean;
  /** Resolves when nothing is queued. */
  idle(): Promise<void>;
}

/** Id of the incident that summarizes this one; undefined where it is notified by itself. */
export function summaryOf({ incidents }: Pick<RuleState, 'incidents'>, key: string): string | undefined {
  const group = incidents.get(key)?.row.group_id ?? undefined;
  if (group === undefined) return undefined;
  const isOf = (summary: string): boolean => incidents.get(summary)?.row.id === group;
  return isOf(SUMMARY_KEY) || isOf(summaryKey(keyParts(key).pipeline)) ? group : undefined;
}

/**
 * Writes a summary as an incident itself. The incidents in it are written after it and bound to it by their group; none
 * is notified by itself. The summary closes when the last of them has closed.
 */
export class IncidentFloodSummaries implements FloodSummaries {
  readonly #options: FloodSummariesOptions;
  readonly #inProgress = new Set<Promise<void>>();

  constructor(options: FloodSummariesOptions) {
    this.#options = options;
  }

  notify(rule: FloodRule, changes: readonly EvaluatedChange[]): void {
    if (changes.length > FLOOD_THRESHOLD) this.#queue(rule, changes);
    else for (const change of changes) void this.#notifyOne(rule, change);
    if (rule.queued.size > 0) return;
    for (const [key, open] of rule.incidents)
      if (key.startsWith(SUMMARY_KEY)) this.#remindOrClose(rule, key, open);
  }

  isResolving(
    rule: FloodRule,
    pipeline: string,
    inhibited: ReadonlyMap<string, Pick<GroupMember, 'incident'>>,
  ): boolean {
    const key = summaryKey(pipeline);
    const summary = rule.incidents.get(key)?.row.id;
    if (![...inhibited.values()].some(({ incident }) => incident === summary)) return false;
    return rule.queued.size > 0 || countMembers(rule, key) === 0;
  }

  async idle(): Promise<void> {
    await Promise.all(this.#inProgress);
  }

  #queue(rule: FloodRule, changes: readonly EvaluatedChange[]): void {
    const remaining = new Set(changes.map(({ subject }) => subject.key));
    for (const key of remaining) rule.queued.add(key);
    const task: Promise<void> = this.#notifyFlood(rule, changes, remaining)
      .catch((error: unknown) =>
        this.#options.logger.error(
          { reason: reasonOf(error) },
          'many transitions were given up until the next evaluation',
        ),
      )
      .finally(() => {
        for (const key of remaining) rule.queued.delete(key);
        this.#inProgress.delete(task);
      });
    this.#inProgress.add(task);
  }

  async #notifyFlood(
    rule: FloodRule,
    changes: readonly EvaluatedChange[],
    remaining: Set<string>,
  ): Promise<void> {
    const summaries = new Map<EvaluatedChange, string>();
    /** A summary that the disk refuses was not notified: the next evaluation finds all of its incidents again. */
    const unnotified = new Set<EvaluatedChange>();
    for (const [pipeline, openings] of floodsIn(changes)) {
      const summary = await this.#summarize(rule, summaryKey(pipeline), openings);
      for (const change of openings)
        if (summary === undefined) unnotified.add(change);
        else summaries.set(change, summary);
    }
    for (let at = 0; at < changes.length && !this.#options.isInactive(rule); at += BATCH_SIZE) {
      const batch = changes.slice(at, at + BATCH_SIZE);
      const ready = batch.filter(change => !unnotified.has(change));
      await Promise.all(ready.map(change => this.#notifyOne(rule, change, summaries.get(change))));
      for (const { subject } of batch) {
        rule.queued.delete(subject.key);
        remaining.delete(subject.key);
      }
    }
  }

  #notifyOne(
    rule: FloodRule,
    change: EvaluatedChange,
    summary = summaryOf(rule, change.subject.key),
  ): Promise<unknown> {
    return this.#options.incidents.notify(rule, {
      ...stateChangeOf(change),
      ...(summary !== undefined && { summary }),
    });
  }

  /** Opens a summary, or notifies the open one again with the current count; resolves to its id once it is on disk. */
  async #summarize(
    rule: FloodRule,
    key: string,
    openings: readonly EvaluatedChange[],
  ): Promise<string | undefined> {
    const count = openings.length + countMembers(rule, key);
    const failure = await this.#notifySummary(rule, key, 'ALARM', describeFlood(openings, count));
    return failure === undefined ? rule.incidents.get(key)?.row.id : undefined;
  }

  /** Reminds as other incidents do, and closes when no incident of the summary is left. */
  #remindOrClose(rule: FloodRule, key: string, open: OpenIncident): void {
    if (rule.writing.has(key)) return;
    const { clock } = this.#options;
    const count = countMembers(rule, key);
    const openMs = Math.max(0, clock.now() - open.row.opened_at);
    const { repeatMs } = rule.notification;
    if (count === 0)
      void this.#notifySummary(rule, key, 'OK', {
        text: `All that ${rule.rule.condition.name} notified together ended after ${formatDuration(openMs)}`,
        fields: { count },
      });
    else if (
      repeatMs !== null &&
      clock.monotonic() - open.notifiedAt >= repeatMs &&
      membersOf(rule, key).some(({ changes }) => changes.unmetSince === null)
    )
      void this.#notifySummary(
        rule,
        key,
        'ALARM',
        { text: `${count} still: ${open.row.text}`, fields: { count } },
        true,
      );
  }

  #notifySummary(
    rule: FloodRule,
    key: string,
    status: 'ALARM' | 'OK',
    { text, fields }: Description,
    isReminder = false,
  ): Promise<unknown> {
    const { name, timeWindow } = rule.rule.conf;
    return this.#options.incidents.notify(rule, {
      subject: { key, name, component: undefined },
      status,
      description: { text, fields: { timeWindow: timeWindow.text, ...fields } },
      pipeline: pipelineOf(key),
      isReminder,
    });
  }
}

/** Finds the pipelines with a flood of their own, and then all others together where they make a flood. */
function floodsIn(
  changes: readonly EvaluatedChange[],
): ReadonlyMap<string | undefined, readonly EvaluatedChange[]> {
  const byPipeline = new Map<string | undefined, EvaluatedChange[]>();
  for (const change of changes) {
    if (change.decision !== 'open') continue;
    const pipeline = change.subject.component?.pipeline;
    const others = byPipeline.get(pipeline);
    if (others === undefined) byPipeline.set(pipeline, [change]);
    else others.push(change);
  }
  const floods = new Map<string | undefined, readonly EvaluatedChange[]>();
  const rest: EvaluatedChange[] = [];
  for (const [pipeline, openings] of byPipeline)
    if (pipeline !== undefined && openings.length > FLOOD_THRESHOLD) floods.set(pipeline, openings);
    else rest.push(...openings);
  if (rest.length > FLOOD_THRESHOLD) floods.set(undefined, rest);
  return floods;
}

function membersOf(rule: FloodRule, key: string): readonly OpenIncident[] {
  const summary = rule.incidents.get(key)?.row.id;
  return summary === undefined
    ? []
    : [...rule.incidents.values()].filter(({ row }) => row.group_id === summary);
}

const countMembers = (rule: FloodRule, key: string): number => membersOf(rule, key).length;

function describeFlood(openings: readonly EvaluatedChange[], count: number): Description {
  const first = openings.slice(0, MAX_NAMED).map(({ describe }) => describe().text);
  const names = openings.slice(0, MAX_NAMED).map(({ subject }) => subject.name);
  const more = count - first.length;
  return {
    text: `${count} incidents at once: ${first.join('; ')}; and ${more} more`,
    fields: { count, first: names },
  };
}
