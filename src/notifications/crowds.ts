import type { Description, Subject } from '../conditions/condition.ts';
import type { Clock } from '../lib/clock.ts';
import { formatDuration } from '../lib/duration.ts';
import { reasonOf } from '../lib/errors.ts';
import type { Logger } from '../lib/logger.ts';
import type { Member } from './group.ts';
import type { Incidents } from './incidents.ts';
import { keyParts } from './subjects.ts';
import type { Book, ComponentWatch, OpenIncident } from './watch.ts';

/** More new incidents of one notification in one pass, of one pipeline or of all the others, are told as one. */
const MOST_ALONE = 1000;
/** So many transitions are made at a time; others may work before the next. */
const AT_ONCE = 200;
/** Of those a summary tells of, so many by their names. */
const NAMED = 5;
/** The subject of an incident that tells of many; no name that is meant exactly has a `*`. */
const SUMMARY = '*/*summary';

/** Very many of one pipeline have their own: they may come of an outage that somebody is told of. */
const summaryKey = (pipeline: string | undefined): string =>
  pipeline === undefined ? SUMMARY : `${SUMMARY}/${pipeline}`;
const pipelineOf = (key: string): string | undefined => key.slice(SUMMARY.length + 1) || undefined;

/** What an evaluation found that is to be told. */
export interface Found {
  readonly subject: Subject;
  readonly status: 'ALARM' | 'OK';
  readonly decision: 'open' | 'repeat' | 'close';
  readonly describe: () => Description;
}

export interface CrowdsOptions {
  readonly incidents: Incidents;
  readonly clock: Pick<Clock, 'now' | 'monotonic'>;
  readonly logger: Logger;
  /** Whether nothing more may be told for it. */
  readonly isOver: (watch: ComponentWatch) => boolean;
}

/** Tells what an evaluation found: each by itself, or of very many all in one. */
export interface Crowds {
  tell(watch: ComponentWatch, found: readonly Found[]): void;
  /** Whether the summary of a pipeline is among what is held back and is about to end, as all that it tells of has ended or is being written. */
  isEnding(
    watch: ComponentWatch,
    pipeline: string,
    held: ReadonlyMap<string, Pick<Member, 'incident'>>,
  ): boolean;
  /** Resolves when nothing waits for its turn. */
  idle(): Promise<void>;
}

/** The incident that tells of this one in its place; undefined where it is told by itself. */
export function summaryOf({ incidents }: Pick<Book, 'incidents'>, key: string): string | undefined {
  const group = incidents.get(key)?.row.group_id ?? undefined;
  if (group === undefined) return undefined;
  const isOf = (summary: string): boolean => incidents.get(summary)?.row.id === group;
  return isOf(SUMMARY) || isOf(summaryKey(keyParts(key).pipeline)) ? group : undefined;
}

/**
 * A summary is an incident itself. Those it tells of are incidents too, written after it and bound to it by their
 * group; nobody is told of them alone. It ends when the last of them has ended.
 */
export function createCrowds({ incidents, clock, logger, isOver }: CrowdsOptions): Crowds {
  const works = new Set<Promise<void>>();

  function tellOne(watch: ComponentWatch, { subject, status, describe }: Found, summary?: string) {
    const of = summary ?? summaryOf(watch, subject.key);
    return incidents.tell(watch, {
      subject,
      status,
      description: describe(),
      ...(of !== undefined && { summary: of }),
    });
  }

  const tellSummary = (
    watch: ComponentWatch,
    key: string,
    status: 'ALARM' | 'OK',
    { text, fields }: Description,
  ) =>
    incidents.tell(watch, {
      subject: { key, name: watch.rule.conf.name, component: undefined },
      status,
      description: { text, fields: { timeWindow: watch.rule.conf.timeWindow.text, ...fields } },
      pipeline: pipelineOf(key),
    });

  /** Begins a summary, or tells the open one how many there are by now; answers its id once it is on disk. */
  async function summarise(
    watch: ComponentWatch,
    key: string,
    openings: readonly Found[],
  ): Promise<string | undefined> {
    const count = openings.length + membersOf(watch, key);
    const failure = await tellSummary(watch, key, 'ALARM', description(openings, count));
    return failure === undefined ? watch.incidents.get(key)?.row.id : undefined;
  }

  async function tellMany(watch: ComponentWatch, found: readonly Found[], left: Set<string>): Promise<void> {
    const crowds = crowdsIn(found);
    const summaries = new Map<Found, string>();
    /** A summary that the disk refuses has told nobody: the next evaluation finds all of them again. */
    const untold = new Set<Found>();
    for (const [pipeline, openings] of crowds) {
      const summary = await summarise(watch, summaryKey(pipeline), openings);
      for (const one of openings)
        if (summary === undefined) untold.add(one);
        else summaries.set(one, summary);
    }
    for (let at = 0; at < found.length && !isOver(watch); at += AT_ONCE) {
      const some = found.slice(at, at + AT_ONCE);
      const due = some.filter(one => !untold.has(one));
      await Promise.all(due.map(one => tellOne(watch, one, summaries.get(one))));
      for (const { subject } of some) {
        watch.pending.delete(subject.key);
        left.delete(subject.key);
      }
    }
  }

  /** Reminds as others are, and ends when nothing is left that it tells of. */
  function keepUp(watch: ComponentWatch, key: string, open: OpenIncident): void {
    if (watch.writing.has(key)) return;
    const count = membersOf(watch, key);
    const openMs = Math.max(0, clock.now() - open.row.opened_at);
    const { repeatMs } = watch.notification;
    if (count === 0)
      void tellSummary(watch, key, 'OK', {
        text: `All that ${watch.rule.condition.name} was told of together ended after ${formatDuration(openMs)}`,
        fields: { count },
      });
    else if (repeatMs !== null && clock.monotonic() - open.toldAt >= repeatMs)
      void tellSummary(watch, key, 'ALARM', { text: `${count} still: ${open.row.text}`, fields: { count } });
  }

  return {
    tell(watch, found) {
      if (found.length <= MOST_ALONE) for (const one of found) void tellOne(watch, one);
      else {
        const left = new Set(found.map(({ subject }) => subject.key));
        for (const key of left) watch.pending.add(key);
        const work: Promise<void> = tellMany(watch, found, left)
          .catch((error: unknown) =>
            logger.error(
              { reason: reasonOf(error) },
              'many transitions were given up until the next evaluation',
            ),
          )
          .finally(() => {
            for (const key of left) watch.pending.delete(key);
            works.delete(work);
          });
        works.add(work);
      }
      if (watch.pending.size > 0) return;
      for (const [key, open] of watch.incidents) if (key.startsWith(SUMMARY)) keepUp(watch, key, open);
    },
    isEnding(watch, pipeline, held) {
      const key = summaryKey(pipeline);
      const summary = watch.incidents.get(key)?.row.id;
      if (![...held.values()].some(({ incident }) => incident === summary)) return false;
      return watch.pending.size > 0 || membersOf(watch, key) === 0;
    },
    async idle() {
      await Promise.all(works);
    },
  };
}

/** Pipelines with very many new ones, then what is left of all others when that is as much. */
function crowdsIn(found: readonly Found[]): ReadonlyMap<string | undefined, readonly Found[]> {
  const byPipeline = new Map<string | undefined, Found[]>();
  for (const one of found) {
    if (one.decision !== 'open') continue;
    const pipeline = one.subject.component?.pipeline;
    const others = byPipeline.get(pipeline);
    if (others === undefined) byPipeline.set(pipeline, [one]);
    else others.push(one);
  }
  const crowds = new Map<string | undefined, readonly Found[]>();
  const rest: Found[] = [];
  for (const [pipeline, openings] of byPipeline)
    if (pipeline !== undefined && openings.length > MOST_ALONE) crowds.set(pipeline, openings);
    else rest.push(...openings);
  if (rest.length > MOST_ALONE) crowds.set(undefined, rest);
  return crowds;
}

function membersOf(watch: ComponentWatch, key: string): number {
  const summary = watch.incidents.get(key)?.row.id;
  let count = 0;
  if (summary !== undefined)
    for (const { row } of watch.incidents.values()) if (row.group_id === summary) count++;
  return count;
}

function description(openings: readonly Found[], count: number): Description {
  const first = openings.slice(0, NAMED).map(({ describe }) => describe().text);
  const names = openings.slice(0, NAMED).map(({ subject }) => subject.name);
  const more = count - first.length;
  return {
    text: `${count} incidents at once: ${first.join('; ')}; and ${more} more`,
    fields: { count, first: names },
  };
}
