import type { HeadgateEvent } from '../../events/event.ts';
import type { Clock } from '../../lib/clock.ts';
import { type CountedLog, createCountedLog } from '../../lib/counted-log.ts';
import type { Logger } from '../../lib/logger.ts';
import type { TransitionOperation } from '../../storage/operations/transition.ts';
import type { Storage } from '../../storage/storage.ts';
import type { DeliveryRow } from '../../storage/stores/deliveries.ts';
import type { IncidentRow } from '../../storage/stores/incidents.ts';
import type { Target } from '../../targets/target.ts';
import type { Inhibitions } from '../inhibition/inhibition.ts';
import { createMuteCheck, type MuteCheck } from '../mute.ts';
import type { Grouping } from '../notification.ts';
import { notifiedTargets } from '../rule-state.ts';
import {
  type DeliveryGroup,
  type GroupAddition,
  type GroupedTransition,
  type GroupMember,
  type GroupSettings,
  groupIdOf,
  type InhibitedAlarm,
  inhibitedGroupId,
  keyOfGrouping,
} from './group.ts';
import { GroupTable } from './group-table.ts';

/** Delay before a refused flush is tried again, and before an inhibition is checked again. */
const RETRY_MS = 1000;
/** Mute windows begin and end with a minute. */
const MUTE_STEP_MS = 60_000;
/** For how long after an outage a flush may wait for incidents that are about to close. */
const MAX_RESOLVING_MS = 600_000;
/** Grouping of alarms that wait for the end of a mute window or an inhibition where the notification does not group. */
const UNGROUPED: Grouping = { fields: [], waitMs: 0, intervalMs: 0 };
/** Members that are read at a time when a process starts. */
const PAGE_SIZE = 1000;

export interface GroupsOptions {
  readonly workspace: string;
  readonly storage: Storage;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly targets: ReadonlyMap<string, Target>;
  /** Reads the deliveries of a flush, with the id `first` or later ones, from the store. */
  readonly outbox: { readFrom(targets: Iterable<string>, first: string): void };
  readonly inhibitions: Inhibitions;
  readonly hasPipeline: (id: string) => boolean;
}

/** The context of a transition that is to be written. */
export interface TransitionContext {
  readonly event: HeadgateEvent;
  /** The incident before the transition; undefined when it opens one. */
  readonly before: IncidentRow | undefined;
  readonly grouping: Grouping | undefined;
  /** The pipeline that its subject belongs to. */
  readonly pipeline?: string | undefined;
}

/**
 * Lets deliveries of a notification wait for others that agree with them, and alarms for the end of a mute window or of
 * an inhibition. The first member of a group waits `groupWait`; what comes within `groupInterval` after a flush waits
 * for the end of the interval. Memory runs ahead of the disk: it knows members from the moment they are handed to the
 * writer, which keeps their order and that of flushes.
 */
export interface Groups {
  enter(operation: TransitionOperation, context: TransitionContext): GroupedTransition;
  /** True while every target that is to get it waits for the end of an inhibition. */
  isInhibited(incident: IncidentRow): boolean;
  /** Sends groups at once whose notification groups differently now, or not at all, unless they are muted. */
  configure(settings: ReadonlyMap<string, GroupSettings>): void;
  /** Resumes the members of the store. */
  start(): Promise<void>;
  /** Flushes nothing more and waits for flushes under way. */
  stop(): Promise<void>;
}

export class DeliveryGroups implements Groups {
  readonly #options: GroupsOptions;
  readonly #table: GroupTable;
  readonly #mutes: MuteCheck;
  readonly #faults: CountedLog;
  readonly #flushes = new Set<Promise<void>>();
  #settings: ReadonlyMap<string, GroupSettings> = new Map();

  constructor(options: GroupsOptions) {
    this.#options = options;
    this.#table = new GroupTable({
      clock: options.clock,
      flush: (group, now) => this.#flush(group, now),
    });
    this.#mutes = createMuteCheck(options.clock);
    this.#faults = createCountedLog(options.logger, {
      fields: {},
      message: 'groups cannot be sent',
      over: 'groups can be sent again',
    });
  }

  enter(operation: TransitionOperation, context: TransitionContext): GroupedTransition {
    const { event, before, grouping: own, pipeline } = context;
    const { remaining, dropped } = this.#dropSuperseded(operation);
    const { incident } = operation;
    const isOpen = incident.state === 'open';
    const isMutedAlarm = isOpen && this.#isMutedNow(incident.notification);
    const grouping = own ?? (isMutedAlarm ? UNGROUPED : undefined);
    const inhibitors = isOpen
      ? this.#inhibitorsFor(incident.notification, pipeline, remaining)
      : NO_INHIBITORS;
    const isUnchanged = dropped.length === 0 && remaining === operation.deliveries;
    if (isUnchanged && grouping === undefined && inhibitors.size === 0) return { operation, undo: () => {} };
    for (const member of dropped) this.#table.remove(member);
    const id = grouping && groupIdOf(event, incident, grouping);
    const others = remaining.filter(({ target }) => !inhibitors.has(target));
    const added =
      grouping === undefined || id === undefined
        ? others
        : this.#add(others, this.#table.groupOf(id, incident.notification), {
            before,
            grouping,
            isMutedAlarm,
          });
    const inhibited = remaining.flatMap(row =>
      pipeline === undefined || !inhibitors.has(row.target)
        ? []
        : [this.#inhibit(row, pipeline, { event, before, grouping: own, incident })],
    );
    const [inhibitor] = inhibitors.values();
    const changed = {
      ...operation,
      deliveries: [...added, ...inhibited],
      incident: {
        ...incident,
        group_id: id ?? incident.group_id,
        inhibited_by: inhibitor?.id ?? incident.inhibited_by,
      },
      dropped: dropped.map(member => member.id),
    };
    return { operation: changed, undo: isConflict => this.#undo(changed, dropped, isConflict) };
  }

  isInhibited(incident: IncidentRow): boolean {
    const members = [...(this.#table.membersOf(incident.id) ?? [])];
    const withheld = new Set(
      members
        .filter(({ isFirst, inhibition }) => isFirst && inhibition !== undefined)
        .map(({ target }) => target),
    );
    return withheld.size > 0 && notifiedTargets(incident).every(target => withheld.has(target));
  }

  configure(settings: ReadonlyMap<string, GroupSettings>): void {
    this.#settings = settings;
    this.#mutes.reset();
    const now = this.#options.clock.monotonic();
    for (const group of this.#table.all()) {
      const grouping = this.#groupingOf(group.notification);
      if (group.groupingKey === (grouping && keyOfGrouping(grouping))) continue;
      group.groupingKey = grouping && keyOfGrouping(grouping);
      group.intervalMs = grouping?.intervalMs ?? 0;
      group.intervalEndsAt = now;
      if (group.members.size > 0) this.#table.scheduleFlush(group, now);
      else this.#table.schedule(group, now);
    }
  }

  async start(): Promise<void> {
    const { clock, storage, workspace } = this.#options;
    for (const { id, interval_ends_at } of await storage.in(workspace).groups.withinInterval()) {
      const remainingMs = interval_ends_at - clock.now();
      if (remainingMs <= 0) continue;
      const group = this.#table.groupOf(id, '');
      group.intervalEndsAt = clock.monotonic() + remainingMs;
      this.#table.schedule(group, group.intervalEndsAt);
    }
    await this.#resumeMembers();
  }

  async stop(): Promise<void> {
    this.#table.stop();
    await Promise.all(this.#flushes);
  }

  #groupingOf(notification: string): Grouping | undefined {
    return this.#settings.get(notification)?.notification.grouping;
  }

  #isMutedNow(notification: string): boolean {
    return this.#mutes.isMuted(
      notification,
      this.#settings.get(notification)?.notification.muteWindows ?? [],
    );
  }

  #inhibitorsFor(
    notification: string,
    pipeline: string | undefined,
    deliveries: readonly DeliveryRow[],
  ): ReadonlyMap<string, IncidentRow> {
    if (this.#settings.get(notification)?.inhibitionGraceMs === undefined) return NO_INHIBITORS;
    return this.#options.inhibitions.inhibitorsFor(pipeline, deliveries, this.#isUnsent);
  }

  /** True while the first event of an incident for a target still waits. */
  readonly #isUnsent = (incident: string, target: string): boolean =>
    [...(this.#table.membersOf(incident) ?? [])].some(member => member.isFirst && member.target === target);

  /** An inhibited group contains no ends of incidents, and only one pipeline and target. */
  #isInhibited(group: DeliveryGroup, now: number): boolean {
    const inhibition = group.members.values().next().value?.inhibition;
    if (inhibition === undefined) return false;
    if (this.#options.inhibitions.isActive(inhibition, this.#isUnsent)) {
      group.inhibitedAt = now;
      return true;
    }
    const sinceMs = now - group.inhibitedAt;
    const settings = this.#settings.get(group.notification);
    if (sinceMs < (settings?.inhibitionGraceMs ?? 0)) return true;
    if (sinceMs >= MAX_RESOLVING_MS) return false;
    if (!this.#options.hasPipeline(inhibition.pipeline)) return true;
    return settings?.isResolving(inhibition.pipeline, group.members) === true;
  }

  #flush(group: DeliveryGroup, now: number): void {
    if (this.#isInhibited(group, now)) {
      this.#table.postpone(group, now + RETRY_MS);
      return;
    }
    const onlyResolved = this.#isMutedNow(group.notification);
    const members = [...group.members.values()].filter(({ status }) => !onlyResolved || status === 'OK');
    this.#table.take(group, members);
    if (group.members.size > 0)
      this.#table.scheduleFlush(group, now + MUTE_STEP_MS - (this.#options.clock.now() % MUTE_STEP_MS));
    if (members.length === 0) return;
    group.intervalEndsAt = now + group.intervalMs;
    this.#table.schedule(group, group.intervalEndsAt);
    const work: Promise<void> = this.#write(group, members, onlyResolved).finally(() =>
      this.#flushes.delete(work),
    );
    this.#flushes.add(work);
  }

  async #write(group: DeliveryGroup, members: readonly GroupMember[], onlyResolved: boolean): Promise<void> {
    const { clock, outbox, storage, workspace } = this.#options;
    const now = clock.now();
    try {
      const row = { id: group.id, interval_ends_at: now + group.intervalMs };
      await storage.commit({ kind: 'flush', workspace, group: row, onlyResolved, now });
      const [first = ''] = members.map(({ id }) => id).sort();
      outbox.readFrom(new Set(members.map(({ target }) => target)), first);
      this.#faults.recovered();
    } catch (error) {
      this.#faults.failed(error);
      const again = this.#table.groupOf(group.id, group.notification);
      for (const member of members) this.#table.add(again, member);
      this.#table.scheduleFlush(again, clock.monotonic() + RETRY_MS);
    }
  }

  /**
   * Drops waiting events of an incident that closes, and its end for targets that were notified of nothing else of it.
   * Also drops a reminder while an alarm waits.
   */
  #dropSuperseded(operation: TransitionOperation): {
    remaining: readonly DeliveryRow[];
    dropped: readonly GroupMember[];
  } {
    const { deliveries, incident } = operation;
    const present = this.#table.membersOf(incident.id);
    if (present === undefined) return { remaining: deliveries, dropped: [] };
    const isEnd = incident.state === 'closed';
    const dropped = isEnd ? [...present] : [];
    const skipped = new Set(
      [...present].filter(({ isFirst }) => isFirst || !isEnd).map(({ target }) => target),
    );
    return { remaining: deliveries.filter(({ target }) => !skipped.has(target)), dropped };
  }

  #add(
    rows: readonly DeliveryRow[],
    group: DeliveryGroup,
    { before, grouping, isMutedAlarm }: GroupAddition,
  ): readonly DeliveryRow[] {
    const isGrouped = (id: string): boolean =>
      isMutedAlarm || this.#options.targets.get(id)?.neverGroups !== true;
    if (!rows.some(({ target }) => isGrouped(target))) return rows;
    const now = this.#options.clock.monotonic();
    group.groupingKey = keyOfGrouping(grouping);
    group.intervalMs = grouping.intervalMs;
    this.#table.scheduleFlush(
      group,
      group.intervalEndsAt > now ? group.intervalEndsAt : now + grouping.waitMs,
    );
    const notified = before === undefined ? [] : notifiedTargets(before);
    return rows.map(row => {
      if (!isGrouped(row.target)) return row;
      return this.#addOne(row, group, { isFirst: !notified.includes(row.target), inhibition: undefined });
    });
  }

  /** Puts the alarms for each target in a group of its own, as the inhibition may end at another time for each. */
  #inhibit(
    row: DeliveryRow,
    pipeline: string,
    { event, before, grouping = UNGROUPED, incident }: InhibitedAlarm,
  ): DeliveryRow {
    const inhibition = { pipeline, target: row.target };
    const group = this.#table.groupOf(
      inhibitedGroupId(event, incident, grouping, inhibition),
      row.notification,
    );
    this.#table.scheduleFlush(group, this.#options.clock.monotonic() + RETRY_MS);
    const isFirst = before === undefined || !notifiedTargets(before).includes(row.target);
    return this.#addOne(row, group, { isFirst, inhibition });
  }

  #addOne(
    row: DeliveryRow,
    group: DeliveryGroup,
    { isFirst, inhibition }: Pick<GroupMember, 'isFirst' | 'inhibition'>,
  ): DeliveryRow {
    this.#table.add(group, {
      id: row.id,
      target: row.target,
      incident: row.incident_id,
      group: group.id,
      status: row.status,
      isFirst,
      inhibition,
    });
    const grouped = { ...row, state: 'grouped', group_id: group.id } as const;
    if (inhibition !== undefined) return { ...grouped, inhibited_for: inhibition.pipeline };
    const { clock } = this.#options;
    const inMs = Math.max(0, (group.dueAt ?? 0) - clock.monotonic());
    return { ...grouped, next_at: clock.now() + Math.ceil(inMs) };
  }

  /** Flushes after a conflict what was dropped, as it may have been sent; no end waits for it any more. */
  #undo(
    { deliveries, incident }: TransitionOperation,
    dropped: readonly GroupMember[],
    isConflict: boolean,
  ): void {
    for (const { id, group_id: groupId } of deliveries) {
      const member = groupId === null ? undefined : this.#table.find(groupId, id);
      if (member !== undefined) this.#table.remove(member);
    }
    for (const member of dropped) {
      const group = this.#table.groupOf(member.group, incident.notification);
      if (isConflict) group.members.set(member.id, member);
      else this.#table.add(group, member);
      this.#table.scheduleFlush(group, this.#options.clock.monotonic());
    }
  }

  async #resumeMembers(): Promise<void> {
    const { members } = this.#options.storage.in(this.#options.workspace).groups;
    for (let after: string | undefined = ''; after !== undefined; ) {
      const rows = await members(after, PAGE_SIZE);
      for (const row of rows) this.#resumeMember(row);
      after = rows.length < PAGE_SIZE ? undefined : rows.at(-1)?.id;
    }
  }

  /** Resumes a member, which waits no longer than its notification allows, whatever the wall clock shows by now. */
  #resumeMember(row: DeliveryRow): void {
    const { clock } = this.#options;
    const { id, target, incident_id, group_id, notification, status, seq, next_at, inhibited_for } = row;
    if (group_id === null) return;
    const grouping = this.#groupingOf(notification);
    const group = this.#table.groupOf(group_id, notification);
    group.notification = notification;
    group.intervalMs = grouping?.intervalMs ?? 0;
    group.groupingKey = grouping && keyOfGrouping(grouping);
    const inhibition = inhibited_for === null ? undefined : { pipeline: inhibited_for, target };
    const isFirst = seq === 1;
    this.#table.add(group, {
      id,
      target,
      incident: incident_id,
      group: group_id,
      status,
      isFirst,
      inhibition,
    });
    const mostMs = grouping === undefined ? 0 : Math.max(grouping.waitMs, grouping.intervalMs);
    const waitMs = Math.min(Math.max(0, (next_at ?? 0) - clock.now()), mostMs);
    this.#table.scheduleFlush(group, clock.monotonic() + waitMs);
  }
}

const NO_INHIBITORS: ReadonlyMap<string, IncidentRow> = new Map();
