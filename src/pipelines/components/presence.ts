import type { PresenceFinding } from './component.ts';
import type { ComponentState, Replica } from './state.ts';

/** A sender that was silent for three of rsyslog's default intervals proves nothing about the present. */
export const STALE_PUSH_MS = 15 * 60_000;

const PRESENT: PresenceFinding = { presence: 'present', reason: null };
const GONE: PresenceFinding = { presence: 'gone', reason: 'its page no longer names it' };
const GONE_FROM_PUSHES: PresenceFinding = { presence: 'gone', reason: 'its sender no longer names it' };
const PARTLY_READ: PresenceFinding = {
  presence: 'unknown',
  reason: 'its page lacks it, and has lines that cannot be read',
};

const unknownBecause = (reason: string): PresenceFinding => ({ presence: 'unknown', reason });

/** As a person reads why a page says nothing. */
export const unreadReason = (error: string): string => `pipeline unreachable: ${error}`;

/**
 * Whether its instance still has it. A page that was read as a whole proves by what it lacks; a push may lack what it
 * has no news of, so that only a time in which its sender pushes on without naming it does.
 */
export function replicaPresence(replica: Replica, monotonic: number): PresenceFinding {
  const { instance } = replica;
  const { source } = instance;
  if (source.unreachable !== null) return unknownBecause(unreadReason(source.unreachable));
  if (source.partial) {
    // Before the first push that names it is over, it has no time.
    if (!(monotonic - replica.committedAt >= STALE_PUSH_MS)) return PRESENT;
    return monotonic - source.begunMonotonic < STALE_PUSH_MS
      ? GONE_FROM_PUSHES
      : unknownBecause(`nothing came from ${instance.name} for a while`);
  }
  if (replica.lastReading >= source.finishedReading) return PRESENT;
  return replica.lastReading < source.wholeReading ? GONE : PARTLY_READ;
}

/**
 * Present when any replica is. `whyUnread` is asked for one of which no replica shows anything: it says which page or
 * push may still name it, and gives undefined when there is none.
 */
export function presenceOf(
  state: ComponentState | undefined,
  monotonic: number,
  whyUnread: (state: ComponentState) => string | undefined,
): PresenceFinding {
  if (state === undefined) return unknownBecause('it was never seen');
  let unknown: PresenceFinding | undefined;
  let gone: PresenceFinding | undefined;
  for (const replica of state.replicas) {
    const found = replicaPresence(replica, monotonic);
    if (found.presence === 'present') return found;
    if (found.presence === 'gone') gone ??= found;
    else unknown ??= found;
  }
  const found = unknown ?? gone;
  if (found !== undefined) return found;
  const unread = whyUnread(state);
  return unread === undefined ? GONE : unknownBecause(unread);
}

/**
 * For how long, in monotonic ms, the pages of more than half of its replicas could not be read; 0 when enough were. A
 * push is no page: what does not come says nothing.
 */
export function unreadMs({ replicas }: ComponentState, monotonic: number): number {
  if (replicas.every(({ instance }) => instance.source.unreachable === null)) return 0;
  const times = replicas.map(({ instance: { source } }) =>
    source.unreachable === null ? 0 : monotonic - source.knownAt,
  );
  return times.sort((a, b) => b - a)[Math.floor(times.length / 2)] ?? 0;
}
