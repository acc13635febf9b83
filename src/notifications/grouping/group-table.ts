import type { Cancel, Clock } from '../../lib/clock.ts';
import { createHeap } from '../../lib/heap.ts';
import type { DeliveryGroup, FlushTimer, GroupMember } from './group.ts';

export interface GroupTableOptions {
  readonly clock: Clock;
  /** Called for a group with members when it is due; `now` is on the monotonic clock. */
  readonly flush: (group: DeliveryGroup, now: number) => void;
}

/**
 * Keeps the groups with their waiting members, and a timer for the group that is due next. Forgets a group without
 * members when its interval ends.
 */
export class GroupTable {
  readonly #groups = new Map<string, DeliveryGroup>();
  readonly #membersByIncident = new Map<string, Set<GroupMember>>();
  readonly #timers = createHeap<FlushTimer>((one, other) => one.at < other.at);
  readonly #clock: Clock;
  readonly #flush: GroupTableOptions['flush'];
  #cancel: Cancel = () => {};
  #firesAt = Infinity;
  #isStopped = false;

  constructor({ clock, flush }: GroupTableOptions) {
    this.#clock = clock;
    this.#flush = flush;
  }

  all(): Iterable<DeliveryGroup> {
    return this.#groups.values();
  }

  /** Members that wait for an incident; undefined for none. */
  membersOf(incident: string): ReadonlySet<GroupMember> | undefined {
    return this.#membersByIncident.get(incident);
  }

  find(group: string, member: string): GroupMember | undefined {
    return this.#groups.get(group)?.members.get(member);
  }

  /** Undefined where no such group is known. */
  get(id: string): DeliveryGroup | undefined {
    return this.#groups.get(id);
  }

  /** Finds or makes the group with that id. An empty `notification` keeps that of an existing group. */
  groupOf(id: string, notification: string): DeliveryGroup {
    const existing = this.#groups.get(id);
    if (existing !== undefined) {
      if (notification !== '') existing.notification = notification;
      return existing;
    }
    const created: DeliveryGroup = {
      id,
      members: new Map(),
      notification,
      groupingKey: undefined,
      intervalMs: 0,
      dueAt: undefined,
      intervalEndsAt: -Infinity,
      hold: undefined,
      inhibitedAt: this.#clock.monotonic(),
    };
    this.#groups.set(id, created);
    return created;
  }

  add(group: DeliveryGroup, member: GroupMember): void {
    group.members.set(member.id, member);
    const others = this.#membersByIncident.get(member.incident);
    if (others === undefined) this.#membersByIncident.set(member.incident, new Set([member]));
    else others.add(member);
  }

  remove(member: GroupMember): void {
    const group = this.#groups.get(member.group);
    if (group?.members.delete(member.id) !== true) return;
    if (group.members.size === 0) {
      group.dueAt = undefined;
      this.schedule(group, Math.max(group.intervalEndsAt, this.#clock.monotonic()));
    }
    this.#unindex(member);
  }

  /** Removes members that are flushed. */
  take(group: DeliveryGroup, members: readonly GroupMember[]): void {
    for (const member of members) {
      group.members.delete(member.id);
      this.#unindex(member);
    }
    group.dueAt = undefined;
  }

  #unindex(member: GroupMember): void {
    const others = this.#membersByIncident.get(member.incident);
    others?.delete(member);
    if (others?.size === 0) this.#membersByIncident.delete(member.incident);
  }

  /** Checks the group at that time, on the monotonic clock. */
  schedule(group: DeliveryGroup, at: number): void {
    this.#timers.push({ at, group });
    if (at < this.#firesAt) this.#rearm();
  }

  /** Flushes the group at that time, or when it is due before that. */
  scheduleFlush(group: DeliveryGroup, dueAt: number): void {
    if (group.dueAt !== undefined && group.dueAt <= dueAt) return;
    group.dueAt = dueAt;
    this.schedule(group, dueAt);
  }

  /** Flushes the group at that time, whenever it was due. */
  postpone(group: DeliveryGroup, dueAt: number): void {
    group.dueAt = undefined;
    this.scheduleFlush(group, dueAt);
  }

  stop(): void {
    this.#isStopped = true;
    this.#cancel();
  }

  #rearm(): void {
    this.#cancel();
    this.#firesAt = this.#timers.peek()?.at ?? Infinity;
    if (this.#isStopped || this.#firesAt === Infinity) return;
    this.#cancel = this.#clock.after(this.#firesAt - this.#clock.monotonic(), () => this.#run());
  }

  #run(): void {
    const now = this.#clock.monotonic();
    for (
      let timer = this.#timers.peek();
      timer !== undefined && timer.at <= now;
      timer = this.#timers.peek()
    ) {
      this.#timers.pop();
      const { group } = timer;
      if (group.dueAt !== undefined && group.dueAt <= now) this.#flush(group, now);
      else if (group.dueAt === undefined && group.intervalEndsAt <= now) this.#groups.delete(group.id);
    }
    this.#rearm();
  }
}
