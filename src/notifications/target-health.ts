import type { HealthNews, ToldFailing } from '../delivery/health.ts';
import type { Clock } from '../lib/clock.ts';
import { formatDuration } from '../lib/duration.ts';
import type { DeliveryRow, IncidentRow, IncidentStore } from '../storage/storage.ts';
import type { Incidents } from './incidents.ts';
import { TARGET_HEALTH } from './own-notification.ts';
import type { Book, OpenIncident } from './watch.ts';

export interface TargetHealthOptions {
  readonly incidents: Incidents;
  readonly clock: Pick<Clock, 'now'>;
  readonly isConfigured: (target: string) => boolean;
  /** Id of the target that operators are told by; undefined when only the bulletin is to say it. */
  readonly operationalTarget: () => string | undefined;
}

/** Opens an incident when a target begins to fail, and closes it when a delivery arrives again. */
export interface TargetHealth {
  readonly book: Book;
  /** `row` is the delivery whose attempt told it. Of a target that was removed nobody is told that it fails. */
  tell(target: string, news: HealthNews, row: Pick<DeliveryRow, 'notification'>): void;
  /** An open incident of the store. */
  takeUp(row: IncidentRow): void;
  /** Tells what could not be told before, and closes what is open of targets that were removed. */
  evaluate(): void;
}

/** What is to be told of a target, until it is on disk. */
interface Wish {
  readonly state: HealthNews['state'] | 'removed';
  readonly text: string;
  /** Said by a delivery that itself told of a target's health: nobody is told by another. */
  readonly isQuiet: boolean;
}

const ORIGIN: Book['origin'] = {
  notification: TARGET_HEALTH,
  condition: 'target-failing',
  kind: 'target',
  windowMs: 0,
  severity: 'error',
  fingerprint: TARGET_HEALTH,
  description: undefined,
  runbookUrl: undefined,
  metadata: [],
};

const GAVE_UP = 'gave up a delivery';

const keyOf = (target: string): string => `*/${target}`;
const targetOf = (key: string): string => key.slice(keyOf('').length);

export function createTargetHealth(options: TargetHealthOptions): TargetHealth {
  const { incidents, clock } = options;
  const wishes = new Map<string, Wish>();
  const book: Book = { origin: ORIGIN, targets: [], incidents: new Map(), writing: new Map() };

  function settle(target: string, wish: Wish): void {
    const key = keyOf(target);
    if (book.writing.has(key)) return;
    const open = book.incidents.get(key);
    if (isDone(wish, open)) {
      wishes.delete(target);
      return;
    }
    const isEnd = wish.state === 'recovered' || wish.state === 'removed';
    const operational = options.operationalTarget();
    const isQuiet = wish.isQuiet || operational === undefined || operational === target;
    void incidents.tell(isQuiet ? book : { ...book, targets: [operational] }, {
      subject: { key, name: target, component: undefined },
      status: isEnd ? 'OK' : 'ALARM',
      description: { text: isEnd ? endText(target, wish, open) : wish.text, fields: { state: wish.state } },
      ...(wish.state === 'removed' && { closeReason: 'the target was removed' }),
    });
  }

  function endText(target: string, wish: Wish, open: OpenIncident | undefined): string {
    if (wish.state === 'removed') return wish.text;
    const openMs = Math.max(0, clock.now() - (open?.row.opened_at ?? clock.now()));
    return `Target ${target} is delivering again after ${formatDuration(openMs)}`;
  }

  function want(target: string, wish: Wish): void {
    wishes.set(target, wish);
    settle(target, wish);
  }

  return {
    book,
    tell(target, { state, reason }, { notification }) {
      if (!options.isConfigured(target)) return;
      const what = state === 'exhausted' ? GAVE_UP : 'is failing';
      want(target, {
        state,
        text: `Target ${target} ${what}: ${reason}`,
        isQuiet: notification === TARGET_HEALTH,
      });
    },
    takeUp(row) {
      book.incidents.set(row.subject, incidents.takeUp(row));
    },
    evaluate() {
      for (const key of book.incidents.keys()) {
        const target = targetOf(key);
        if (!options.isConfigured(target))
          wishes.set(target, {
            state: 'removed',
            text: `Closed, target ${target} was removed`,
            isQuiet: false,
          });
      }
      for (const [target, wish] of wishes) settle(target, wish);
    },
  };
}

function isDone({ state, text }: Wish, open: OpenIncident | undefined): boolean {
  if (state === 'recovered' || state === 'removed') return open === undefined;
  if (state === 'failing') return open !== undefined;
  return open?.row.text === text;
}

/** Targets that fail at once beyond this are not told of in answers; each has its incident. */
const MOST_FAILURES = 1000;

/** The open incidents of failing targets, by the target's id. */
export async function failuresOf(
  incidents: Pick<IncidentStore, 'list'>,
): Promise<ReadonlyMap<string, IncidentRow>> {
  const filter = { state: 'open', notification: TARGET_HEALTH } as const;
  const { rows } = await incidents.list(filter, { offset: 0, limit: MOST_FAILURES });
  return new Map(rows.map(row => [targetOf(row.subject), row]));
}

/** What was last told of the targets that are failing, by their ids, from the open incidents of the store. */
export const failingTargets = (open: readonly IncidentRow[]): ReadonlyMap<string, ToldFailing> =>
  new Map(
    open
      .filter(row => row.notification === TARGET_HEALTH)
      .map(row => [targetOf(row.subject), lastTold(row)] as const),
  );

/** The text of an open incident is that of its last event. */
const lastTold = ({ subject, text }: IncidentRow): ToldFailing =>
  text.startsWith(`Target ${targetOf(subject)} ${GAVE_UP}`) ? 'exhausted' : 'failing';
