import type { ComponentKind } from '../metric.ts';
import type { ComponentHealth } from './component.ts';

/** The signs of health in one reading of one replica. Counts are increases since the reading before. */
export interface Evidence {
  readonly kind: ComponentKind;
  readonly up: number;
  readonly errors: number;
  readonly dropped: number;
  /** Requests to its destination failed, whether the component counts errors or not. */
  readonly isFailing: boolean;
  /** Share of the interval, 0 to 1. */
  readonly blocked: number;
  /** True when something went through. */
  readonly moved: boolean;
  readonly queueSize: number;
  /** Increase of the queue. */
  readonly queueGrowth: number;
  /** Queue size as a share of its capacity; 0 when unknown. */
  readonly fill: number;
}

export type HealthFinding =
  | { readonly health: 'Green' }
  | { readonly health: 'Yellow' | 'Red'; readonly reason: string };

const GREEN: HealthFinding = { health: 'Green' };
const red = (reason: string): HealthFinding => ({ health: 'Red', reason });
const yellow = (reason: string): HealthFinding => ({ health: 'Yellow', reason });

const DOWN = red('it reports that it is down');
const INPUT_FAILS = red('errors, and no event came in');
const OUTPUT_FAILS = red('errors, and nothing was delivered');
const REQUESTS_FAIL = red('its requests fail, and nothing was delivered');
const LOSES_ALL = red('events were dropped, and nothing was delivered');
const BACKLOG = red('its queue grows, and nothing was delivered');
const STUCK = red('its queue is not empty, and nothing was delivered');
const SOME_ERRORS = yellow('errors');
const SOME_REQUESTS_FAIL = yellow('some of its requests fail');
const DROPS = yellow('events were dropped');
const BLOCKED = yellow('it is blocked');
const FULL = yellow('its queue is at least 80% full');

const HIGH_FILL = 0.8;

/** A finding outlasts a reading that shows neither trouble nor traffic: retries pause, and silence is no proof of health. */
export const FINDING_LIFETIME_MS = 5 * 60_000;

/**
 * Engines call a dead destination fine (`failed`, `errors_total` and health pages stayed quiet in
 * recorded runs), so no single sign decides: errors, queue, traffic, blocking and `up` are read together.
 */
export function findingOf(now: Evidence): HealthFinding {
  if (now.up === 0) return DOWN;
  const troubled = now.errors > 0 || now.dropped > 0;
  if (now.isFailing && !now.moved) return REQUESTS_FAIL;
  if (!now.moved && now.errors > 0) return now.kind === 'input' ? INPUT_FAILS : OUTPUT_FAILS;
  if (now.kind === 'output' && !now.moved && now.dropped > 0) return LOSES_ALL;
  if (now.kind === 'output' && !now.moved && now.queueGrowth > 0) return BACKLOG;
  if (now.blocked > 0) return BLOCKED;
  if (now.fill >= HIGH_FILL) return FULL;
  if (troubled) return now.errors > 0 ? SOME_ERRORS : DROPS;
  if (now.isFailing) return SOME_REQUESTS_FAIL;
  return GREEN;
}

/** The finding that stands after `found`, given the one before and how long ago its last evidence was. */
export function nextFinding(
  found: HealthFinding,
  before: HealthFinding | undefined,
  sinceMs: number,
  now: Evidence,
): HealthFinding {
  if (before === undefined || before.health === 'Green' || now.moved) return found;
  if (rank(found.health) >= rank(before.health)) return found;
  if (before.health === 'Red' && now.kind === 'output' && now.queueSize > 0) return STUCK;
  return sinceMs < FINDING_LIFETIME_MS ? before : found;
}

const ORDER = ['Green', 'Yellow', 'Red'] as const;
const rank = (health: (typeof ORDER)[number]): number => ORDER.indexOf(health);

/** Health of the whole: Red when more than half of the known replicas are, Yellow when any is not Green. */
export function overallHealth(counts: Readonly<Record<ComponentHealth, number>>): ComponentHealth {
  const known = counts.Green + counts.Yellow + counts.Red;
  if (known === 0) return 'Unknown';
  if (counts.Red * 2 > known) return 'Red';
  return counts.Red + counts.Yellow > 0 ? 'Yellow' : 'Green';
}
