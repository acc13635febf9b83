import type { Description, Subject } from '../../conditions/condition.ts';
import type { Clock } from '../../lib/clock.ts';
import { formatDuration } from '../../lib/duration.ts';
import { reasonOf } from '../../lib/errors.ts';
import type { Logger } from '../../lib/logger.ts';
import type { ActiveComponentRule, OpenIncident, RuleState } from '../active-rule.ts';
import type { GroupMember } from '../grouping/group.ts';
import type { Incidents } from '../incidents/incidents.ts';
import { keyParts } from '../subjects.ts';

/** More new incidents of one notification in one pass, of one pipeline or of all the others, are told as one. */
const FLOOD_THRESHOLD = 1000;
/** So many transitions are made at a time; others may work before the next. */
const BATCH_SIZE = 200;
/** Of those a summary tells of, so many by their names. */
const MAX_NAMED = 5;
/** The subject of an incident that tells of many; no name that is meant exactly has a `*`. */
const SUMMARY_KEY = '*/*summary';

/** Very many of one pipeline have their own: they may come of an outage that somebody is told of. */
const summaryKey = (pipeline: string | undefined): string =>
  pipeline === undefined ? SUMMARY_KEY : `${SUMMARY_KEY}/${pipeline}`;
const pipelineOf = (key: string): string | undefined => key.slice(SUMMARY_KEY.length + 1) || undefined;

/** What an evaluation found that is to be told. */
export interface EvaluatedChange {
  readonly subject: Subject;
  readonly status: 'ALARM' | 'OK';
  readonly decision: 'open' | 'repeat' | 'close';
  readonly describe: () => Description;
}

export interface FloodSummariesOptions {
  readonly incidents: Incidents;
  readonly clock: Pick<Clock, 'now' | 'monotonic'>;
  readonly logger: Logger;
  /** Whether nothing more may be told for it. */
  readonly isInactive: (active: ActiveComponentRule) => boolean;
}

/** Tells what an evaluation found: each by itself, or of very many all in one. */
export interface FloodSummaries {
  notify(active: ActiveComponentRule, changes: readonly EvaluatedChange[]): void;
  /** Whether the summary of a pipeline is among what is held back and is about to end, as all that it tells of has ended or is being written. */
  isResolving(
    active: ActiveComponentRule,
    pipeline: string,
    inhibited: ReadonlyMap<string, Pick<GroupMember, 'incident'>>,
  ): boolean;
  /** Resolves when nothing waits for its turn. */
  idle(): Promise<void>;
}

/** The incident that tells of this one in its place; undefined where it is told by itself. */
export function summaryOf({ incidents }: Pick<RuleState, 'incidents'>, key: string): string | undefined {
  const group = incidents.get(key)?.row.group_id ?? undefined;
  if (group === undefined) return undefined;
  const isOf = (summary: string): boolean => incidents.get(summary)?.row.id === group;
  return isOf(SUMMARY_KEY) || isOf(summaryKey(keyParts(key).pipeline)) ? group : undefined;
}

/**
 * A summary is an incident itself. Those it tells of are incidents too, written after it and bound to it by their
 * group; nobody is told of them alone. It ends when the last of them has ended.
 */
export function createFloodSummaries({
  incidents,
  clock,
  logger,
  isInactive,
}: FloodSummariesOptions): FloodSummaries {
  const inProgress = new Set<Promise<void>>();

  function notifyOne(
    active: ActiveComponentRule,
    { subject, status, describe }: EvaluatedChange,
    summary?: string,
  ) {
    const summaryId = summary ?? summaryOf(active, subject.key);
    return incidents.notify(active, {
      subject,
      status,
      description: describe(),
      ...(summaryId !== undefined && { summary: summaryId }),
    });
  }

  const notifySummary = (
    active: ActiveComponentRule,
    key: string,
    status: 'ALARM' | 'OK',
    { text, fields }: Description,
  ) =>
    incidents.notify(active, {
      subject: { key, name: active.rule.conf.name, component: undefined },
      status,
      description: { text, fields: { timeWindow: active.rule.conf.timeWindow.text, ...fields } },
      pipeline: pipelineOf(key),
    });

  /** Begins a summary, or tells the open one how many there are by now; answers its id once it is on disk. */
  async function summarise(
    active: ActiveComponentRule,
    key: string,
    openings: readonly EvaluatedChange[],
  ): Promise<string | undefined> {
    const count = openings.length + countMembers(active, key);
    const failure = await notifySummary(active, key, 'ALARM', describeFlood(openings, count));
    return failure === undefined ? active.incidents.get(key)?.row.id : undefined;
  }

  async function notifyFlood(
    active: ActiveComponentRule,
    changes: readonly EvaluatedChange[],
    remaining: Set<string>,
  ): Promise<void> {
    const floods = floodsIn(changes);
    const summaries = new Map<EvaluatedChange, string>();
    /** A summary that the disk refuses has told nobody: the next evaluation finds all of them again. */
    const unnotified = new Set<EvaluatedChange>();
    for (const [pipeline, openings] of floods) {
      const summary = await summarise(active, summaryKey(pipeline), openings);
      for (const change of openings)
        if (summary === undefined) unnotified.add(change);
        else summaries.set(change, summary);
    }
    for (let at = 0; at < changes.length && !isInactive(active); at += BATCH_SIZE) {
      const batch = changes.slice(at, at + BATCH_SIZE);
      const ready = batch.filter(change => !unnotified.has(change));
      await Promise.all(ready.map(change => notifyOne(active, change, summaries.get(change))));
      for (const { subject } of batch) {
        active.queued.delete(subject.key);
        remaining.delete(subject.key);
      }
    }
  }

  /** Reminds as others are, and ends when nothing is left that it tells of. */
  function remindOrClose(active: ActiveComponentRule, key: string, open: OpenIncident): void {
    if (active.writing.has(key)) return;
    const count = countMembers(active, key);
    const openMs = Math.max(0, clock.now() - open.row.opened_at);
    const { repeatMs } = active.notification;
    if (count === 0)
      void notifySummary(active, key, 'OK', {
        text: `All that ${active.rule.condition.name} was told of together ended after ${formatDuration(openMs)}`,
        fields: { count },
      });
    else if (repeatMs !== null && clock.monotonic() - open.notifiedAt >= repeatMs)
      void notifySummary(active, key, 'ALARM', {
        text: `${count} still: ${open.row.text}`,
        fields: { count },
      });
  }

  return {
    notify(active, changes) {
      if (changes.length <= FLOOD_THRESHOLD) for (const change of changes) void notifyOne(active, change);
      else {
        const remaining = new Set(changes.map(({ subject }) => subject.key));
        for (const key of remaining) active.queued.add(key);
        const task: Promise<void> = notifyFlood(active, changes, remaining)
          .catch((error: unknown) =>
            logger.error(
              { reason: reasonOf(error) },
              'many transitions were given up until the next evaluation',
            ),
          )
          .finally(() => {
            for (const key of remaining) active.queued.delete(key);
            inProgress.delete(task);
          });
        inProgress.add(task);
      }
      if (active.queued.size > 0) return;
      for (const [key, open] of active.incidents)
        if (key.startsWith(SUMMARY_KEY)) remindOrClose(active, key, open);
    },
    isResolving(active, pipeline, inhibited) {
      const key = summaryKey(pipeline);
      const summary = active.incidents.get(key)?.row.id;
      if (![...inhibited.values()].some(({ incident }) => incident === summary)) return false;
      return active.queued.size > 0 || countMembers(active, key) === 0;
    },
    async idle() {
      await Promise.all(inProgress);
    },
  };
}

/** Pipelines with very many new ones, then what is left of all others when that is as much. */
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

function countMembers(active: ActiveComponentRule, key: string): number {
  const summary = active.incidents.get(key)?.row.id;
  let count = 0;
  if (summary !== undefined)
    for (const { row } of active.incidents.values()) if (row.group_id === summary) count++;
  return count;
}

function describeFlood(openings: readonly EvaluatedChange[], count: number): Description {
  const first = openings.slice(0, MAX_NAMED).map(({ describe }) => describe().text);
  const names = openings.slice(0, MAX_NAMED).map(({ subject }) => subject.name);
  const more = count - first.length;
  return {
    text: `${count} incidents at once: ${first.join('; ')}; and ${more} more`,
    fields: { count, first: names },
  };
}
