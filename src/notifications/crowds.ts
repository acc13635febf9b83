import type { Description, Subject } from '../conditions/condition.ts';
import type { Clock } from '../lib/clock.ts';
import { formatDuration } from '../lib/duration.ts';
import { reasonOf } from '../lib/errors.ts';
import type { Logger } from '../lib/logger.ts';
import type { Incidents } from './incidents.ts';
import type { Book, ComponentWatch } from './watch.ts';

/** More new incidents of one notification in one pass are told as one. */
const MOST_ALONE = 1000;
/** So many transitions are made at a time; others may work before the next. */
const AT_ONCE = 200;
/** Of those a summary tells of, so many by their names. */
const NAMED = 5;
/** The subject of the incident that tells of many; no pipeline is called so. */
const SUMMARY_KEY = '*/summary';

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
  /** Resolves when nothing waits for its turn. */
  idle(): Promise<void>;
}

/** The incident that tells of this one in its place; undefined where it is told by itself. */
export function summaryOf({ incidents }: Pick<Book, 'incidents'>, key: string): string | undefined {
  const summary = incidents.get(SUMMARY_KEY)?.row.id;
  return summary !== undefined && incidents.get(key)?.row.group_id === summary ? summary : undefined;
}

/**
 * The summary is an incident itself. Those it tells of are incidents too, written after it and bound to it by their
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

  const tellSummary = (watch: ComponentWatch, status: 'ALARM' | 'OK', { text, fields }: Description) =>
    incidents.tell(watch, {
      subject: { key: SUMMARY_KEY, name: watch.rule.conf.name, component: undefined },
      status,
      description: { text, fields: { timeWindow: watch.rule.conf.timeWindow.text, ...fields } },
    });

  /** Begins a summary, or tells the open one how many there are by now; answers its id once it is on disk. */
  async function summarise(watch: ComponentWatch, openings: readonly Found[]): Promise<string | undefined> {
    const count = openings.length + membersOf(watch);
    const failure = await tellSummary(watch, 'ALARM', description(openings, count));
    return failure === undefined ? watch.incidents.get(SUMMARY_KEY)?.row.id : undefined;
  }

  async function tellMany(watch: ComponentWatch, found: readonly Found[], left: Set<string>): Promise<void> {
    const openings = found.filter(({ decision }) => decision === 'open');
    const isCrowd = openings.length > MOST_ALONE;
    const summary = isCrowd ? await summarise(watch, openings) : undefined;
    for (let at = 0; at < found.length && !isOver(watch); at += AT_ONCE) {
      const some = found.slice(at, at + AT_ONCE);
      // A summary that the disk refuses has told nobody: the next evaluation finds all of them again.
      const due = isCrowd && summary === undefined ? some.filter(one => one.decision !== 'open') : some;
      await Promise.all(
        due.map(one => tellOne(watch, one, one.decision === 'open' && isCrowd ? summary : undefined)),
      );
      for (const { subject } of some) {
        watch.pending.delete(subject.key);
        left.delete(subject.key);
      }
    }
  }

  /** Reminds as others are, and ends when nothing is left that it tells of. */
  function keepUp(watch: ComponentWatch): void {
    const open = watch.incidents.get(SUMMARY_KEY);
    if (open === undefined || watch.writing.has(SUMMARY_KEY) || watch.pending.size > 0) return;
    const count = membersOf(watch);
    const openMs = Math.max(0, clock.now() - open.row.opened_at);
    const { repeatMs } = watch.notification;
    if (count === 0)
      void tellSummary(watch, 'OK', {
        text: `All that ${watch.rule.condition.name} was told of together ended after ${formatDuration(openMs)}`,
        fields: { count },
      });
    else if (repeatMs !== null && clock.monotonic() - open.toldAt >= repeatMs)
      void tellSummary(watch, 'ALARM', { text: `${count} still: ${open.row.text}`, fields: { count } });
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
      keepUp(watch);
    },
    async idle() {
      await Promise.all(works);
    },
  };
}

function membersOf(watch: ComponentWatch): number {
  const summary = watch.incidents.get(SUMMARY_KEY)?.row.id;
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
