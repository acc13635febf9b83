import type { HeadgateEvent } from '../../events/event.ts';
import type { Cancel, Clock } from '../../lib/clock.ts';
import { createCountedLog } from '../../lib/counted-log.ts';
import { createHeap } from '../../lib/heap.ts';
import type { Logger } from '../../lib/logger.ts';
import type { TransitionOperation } from '../../storage/operations/transition.ts';
import type { Storage } from '../../storage/storage.ts';
import type { DeliveryRow } from '../../storage/stores/deliveries.ts';
import type { IncidentRow } from '../../storage/stores/incidents.ts';
import type { Target } from '../../targets/target.ts';
import {
  createInhibitions,
  type InhibitingIncidents,
  inhibitionGraceMsOf,
  MAX_RESOLVING_MS,
} from '../inhibition/inhibition.ts';
import { isMuted } from '../mute.ts';
import type { Grouping } from '../notification.ts';
import { notifiedTargets } from '../transition.ts';
import {
  type DeliveryGroup,
  type FlushTimer,
  type GroupAddition,
  type GroupedTransition,
  type GroupMember,
  type GroupSettings,
  groupIdOf,
  type InhibitedAlarm,
  inhibitedGroupId,
} from './group.ts';

/** How long until the store is asked again that refused a flush, and until a hold is looked at again. */
const RETRY_MS = 1000;
/** Mute windows begin and end with a minute. */
const MUTE_STEP_MS = 60_000;
/** How alarms wait for the end of a mute window or a hold where the notification does not group. */
const UNGROUPED: Grouping = { fields: [], waitMs: 0, intervalMs: 0 };
/** Members that are read at a time when a process starts. */
const PAGE_SIZE = 1000;

export interface GroupsOptions {
  readonly workspace: string;
  readonly storage: Storage;
  readonly clock: Clock;
  readonly logger: Logger;
  /** The targets that are served now, by id. */
  readonly targets: ReadonlyMap<string, Target>;
  /** Deliveries to these targets, `first` or later ones, are in the store to be sent. */
  readonly released: (targets: Iterable<string>, first: string) => void;
  /** The open incidents that told a target of a pipeline that it is unreachable. */
  readonly outages: InhibitingIncidents['notifiedTo'];
  /** Whether one of the incidents is about to end that were held back for an outage which is over. */
  readonly isEnding: (group: Pick<DeliveryGroup, 'notification' | 'members'>, pipeline: string) => boolean;
}

/**
 * Lets deliveries of a notification wait for others that agree with them, and alarms for the end of a mute window or of an
 * outage their target is told of. The first member of a group waits `groupWait`; after a flush the group rests for
 * `groupInterval`, and what comes meanwhile waits for its end. Memory runs ahead of the disk: it knows members from the moment they are handed to the writer, which keeps their order and that of flushes.
 */
export interface Groups {
  /** `before` is the incident as it was. */
  enter(
    operation: TransitionOperation,
    context: {
      readonly event: HeadgateEvent;
      readonly before: IncidentRow | undefined;
      readonly grouping: Grouping | undefined;
      /** The one its subject is a part of. */
      readonly pipeline?: string | undefined;
    },
  ): GroupedTransition;
  /** Groups whose notification groups otherwise now, or not at all, are sent at once, unless they are muted. */
  configure(notifications: ReadonlyMap<string, GroupSettings>): void;
  /** Takes up the members of the store. */
  start(): Promise<void>;
  /** Flushes nothing more and waits for flushes under way. */
  stop(): Promise<void>;
}

export function createGroups(options: GroupsOptions): Groups {
  const { clock, storage, workspace } = options;
  const groups = new Map<string, DeliveryGroup>();
  const membersByIncident = new Map<string, Set<GroupMember>>();
  const timers = createHeap<FlushTimer>((one, other) => one.at < other.at);
  const flushes = new Set<Promise<void>>();
  const faults = createCountedLog(options.logger, {
    fields: {},
    message: 'groups cannot be sent',
    over: 'groups can be sent again',
  });
  const inhibitions = createInhibitions(options.outages, (incident, target) =>
    [...(membersByIncident.get(incident) ?? [])].some(member => member.isFirst && member.target === target),
  );
  let configured: ReadonlyMap<string, GroupSettings> = new Map();
  /** Answers of this minute. */
  const mutedByNotification = new Map<string, boolean>();
  let mutedAt = -1;
  let cancel: Cancel = () => {};
  let firesAt = Infinity;
  let isStopped = false;

  function isMutedNow(notification: string): boolean {
    const windows = configured.get(notification)?.muteWindows ?? [];
    if (windows.length === 0) return false;
    const minute = Math.floor(clock.now() / MUTE_STEP_MS);
    if (minute !== mutedAt) mutedByNotification.clear();
    mutedAt = minute;
    const answer = mutedByNotification.get(notification) ?? isMuted(windows, clock.now());
    mutedByNotification.set(notification, answer);
    return answer;
  }

  const ruleFor = (notification: string) => configured.get(notification)?.rule;

  function groupOf(id: string, notification: string): DeliveryGroup {
    const existing = groups.get(id);
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
      inhibitedAt: clock.monotonic(),
    };
    groups.set(id, created);
    return created;
  }

  function schedule(group: DeliveryGroup, at: number): void {
    timers.push({ at, group });
    if (at < firesAt) rearm();
  }

  function rearm(): void {
    cancel();
    firesAt = timers.peek()?.at ?? Infinity;
    if (!isStopped && firesAt < Infinity) cancel = clock.after(firesAt - clock.monotonic(), run);
  }

  function run(): void {
    const now = clock.monotonic();
    for (let timer = timers.peek(); timer !== undefined && timer.at <= now; timer = timers.peek()) {
      timers.pop();
      const { group } = timer;
      if (group.dueAt !== undefined && group.dueAt <= now) flush(group, now);
      else if (group.dueAt === undefined && group.intervalEndsAt <= now) groups.delete(group.id);
    }
    rearm();
  }

  function scheduleFlush(group: DeliveryGroup, due: number): void {
    if (group.dueAt !== undefined && group.dueAt <= due) return;
    group.dueAt = due;
    schedule(group, due);
  }

  function addMember(group: DeliveryGroup, member: GroupMember): void {
    group.members.set(member.id, member);
    const others = membersByIncident.get(member.incident);
    if (others === undefined) membersByIncident.set(member.incident, new Set([member]));
    else others.add(member);
  }

  function removeMember(member: GroupMember): void {
    const group = groups.get(member.group);
    if (group?.members.delete(member.id) !== true) return;
    if (group.members.size === 0) {
      group.dueAt = undefined;
      schedule(group, Math.max(group.intervalEndsAt, clock.monotonic()));
    }
    unindex(member);
  }

  function unindex(member: GroupMember): void {
    const others = membersByIncident.get(member.incident);
    others?.delete(member);
    if (others?.size === 0) membersByIncident.delete(member.incident);
  }

  /** What is held back is no end, and has no other pipeline and target beside it. */
  function isHeld(group: DeliveryGroup, now: number): boolean {
    const hold = group.members.values().next().value?.hold;
    if (hold === undefined) return false;
    if (inhibitions.isActive(hold)) {
      group.inhibitedAt = now;
      return true;
    }
    const sinceMs = now - group.inhibitedAt;
    if (sinceMs < (inhibitionGraceMsOf(ruleFor(group.notification)) ?? 0)) return true;
    return sinceMs < MAX_RESOLVING_MS && options.isEnding(group, hold.pipeline);
  }

  function flush(group: DeliveryGroup, now: number): void {
    if (isHeld(group, now)) {
      group.dueAt = undefined;
      scheduleFlush(group, now + RETRY_MS);
      return;
    }
    const onlyResolved = isMutedNow(group.notification);
    const members = [...group.members.values()].filter(({ status }) => !onlyResolved || status === 'OK');
    for (const member of members) {
      group.members.delete(member.id);
      unindex(member);
    }
    group.dueAt = undefined;
    if (group.members.size > 0) scheduleFlush(group, now + MUTE_STEP_MS - (clock.now() % MUTE_STEP_MS));
    if (members.length === 0) return;
    group.intervalEndsAt = now + group.intervalMs;
    schedule(group, group.intervalEndsAt);
    const work: Promise<void> = write(group, members, onlyResolved).finally(() => flushes.delete(work));
    flushes.add(work);
  }

  async function write(
    group: DeliveryGroup,
    members: readonly GroupMember[],
    onlyResolved: boolean,
  ): Promise<void> {
    const now = clock.now();
    try {
      const row = { id: group.id, interval_ends_at: now + group.intervalMs };
      await storage.commit({ kind: 'flush', workspace, group: row, onlyResolved, now });
      const [first = ''] = members.map(({ id }) => id).sort();
      options.released(new Set(members.map(({ target }) => target)), first);
      faults.recovered();
    } catch (error) {
      faults.failed(error);
      const again = groupOf(group.id, group.notification);
      for (const member of members) addMember(again, member);
      scheduleFlush(again, clock.monotonic() + RETRY_MS);
    }
  }

  /**
   * What waits of an incident that ends need not be told, nor its end to whom nothing else was told of it. Beside an alarm
   * that waits nothing else reminds.
   */
  function dropSuperseded(operation: TransitionOperation): {
    remaining: readonly DeliveryRow[];
    dropped: readonly GroupMember[];
  } {
    const { deliveries, incident } = operation;
    const existing = membersByIncident.get(incident.id);
    if (existing === undefined) return { remaining: deliveries, dropped: [] };
    const isEnd = incident.state === 'closed';
    const dropped = isEnd ? [...existing] : [];
    const skipped = new Set(
      [...existing].filter(({ isFirst }) => isFirst || !isEnd).map(({ target }) => target),
    );
    return { remaining: deliveries.filter(({ target }) => !skipped.has(target)), dropped };
  }

  function enqueue(
    row: DeliveryRow,
    group: DeliveryGroup,
    { isFirst, hold }: Pick<GroupMember, 'isFirst' | 'hold'>,
  ): DeliveryRow {
    addMember(group, {
      id: row.id,
      target: row.target,
      incident: row.incident_id,
      group: group.id,
      status: row.status,
      isFirst,
      hold,
    });
    if (hold !== undefined) return { ...row, state: 'grouped', group_id: group.id, inhibited_for: hold.pipeline };
    const inMs = Math.max(0, (group.dueAt ?? 0) - clock.monotonic());
    return { ...row, state: 'grouped', group_id: group.id, next_at: clock.now() + Math.ceil(inMs) };
  }

  function enqueueAll(
    rows: readonly DeliveryRow[],
    group: DeliveryGroup,
    { before, grouping, isMutedAlarm: isHeld }: GroupAddition,
  ): readonly DeliveryRow[] {
    const isGrouped = (id: string): boolean => isHeld || options.targets.get(id)?.neverGroups !== true;
    if (!rows.some(({ target }) => isGrouped(target))) return rows;
    const now = clock.monotonic();
    group.groupingKey = keyOfGrouping(grouping);
    group.intervalMs = grouping.intervalMs;
    scheduleFlush(group, group.intervalEndsAt > now ? group.intervalEndsAt : now + grouping.waitMs);
    const notified = before === undefined ? [] : notifiedTargets(before);
    return rows.map(row =>
      isGrouped(row.target)
        ? enqueue(row, group, { isFirst: !notified.includes(row.target), hold: undefined })
        : row,
    );
  }

  /** Each target's for itself, as each may be told of the outage at another time. */
  function inhibit(
    row: DeliveryRow,
    pipeline: string,
    { event, before, grouping = UNGROUPED, incident }: InhibitedAlarm,
  ): DeliveryRow {
    const hold = { pipeline, target: row.target };
    const group = groupOf(inhibitedGroupId(event, incident, grouping, hold), row.notification);
    scheduleFlush(group, clock.monotonic() + RETRY_MS);
    const isFirst = before === undefined || !notifiedTargets(before).includes(row.target);
    return enqueue(row, group, { isFirst, hold });
  }

  /** After a conflict what was dropped may have been sent: it is flushed, and no end waits for it any more. */
  function undo(
    { deliveries, incident }: TransitionOperation,
    dropped: readonly GroupMember[],
    isConflict: boolean,
  ): void {
    for (const { id, group_id: groupId } of deliveries) {
      const member = groupId === null ? undefined : groups.get(groupId)?.members.get(id);
      if (member !== undefined) removeMember(member);
    }
    for (const member of dropped) {
      const group = groupOf(member.group, incident.notification);
      if (isConflict) group.members.set(member.id, member);
      else addMember(group, member);
      scheduleFlush(group, clock.monotonic());
    }
  }

  async function resumeMembers(): Promise<void> {
    const { members } = storage.in(workspace).groups;
    for (let after: string | undefined = ''; after !== undefined; ) {
      const rows = await members(after, PAGE_SIZE);
      for (const row of rows) resumeMember(row);
      after = rows.length < PAGE_SIZE ? undefined : rows.at(-1)?.id;
    }
  }

  /** Whatever the wall clock says by now, it waits no longer than its notification lets it. */
  function resumeMember(row: DeliveryRow): void {
    const { id, target, incident_id, group_id, notification, status, seq, next_at } = row;
    if (group_id === null) return;
    const grouping = configured.get(notification)?.grouping;
    const group = groupOf(group_id, notification);
    group.notification = notification;
    group.intervalMs = grouping?.intervalMs ?? 0;
    group.groupingKey = grouping && keyOfGrouping(grouping);
    const hold = row.inhibited_for === null ? undefined : { pipeline: row.inhibited_for, target };
    addMember(group, {
      id,
      target,
      incident: incident_id,
      group: group_id,
      status,
      isFirst: seq === 1,
      hold,
    });
    const most = grouping === undefined ? 0 : Math.max(grouping.waitMs, grouping.intervalMs);
    scheduleFlush(group, clock.monotonic() + Math.min(Math.max(0, (next_at ?? 0) - clock.now()), most));
  }

  return {
    enter(operation, { event, before, grouping: own, pipeline }) {
      const { remaining, dropped } = dropSuperseded(operation);
      const { incident } = operation;
      const isOpen = incident.state === 'open';
      const isMutedAlarm = isOpen && isMutedNow(incident.notification);
      const grouping = own ?? (isMutedAlarm ? UNGROUPED : undefined);
      const rule = ruleFor(incident.notification);
      const inhibited = isOpen ? inhibitions.inhibitorsFor(rule, pipeline, remaining) : NO_INHIBITORS;
      if (
        dropped.length === 0 &&
        grouping === undefined &&
        inhibited.size === 0 &&
        remaining === operation.deliveries
      )
        return { operation, undo: () => {} };
      for (const member of dropped) removeMember(member);
      const id = grouping && groupIdOf(event, incident, grouping);
      const free = remaining.filter(({ target }) => !inhibited.has(target));
      const groupedRows =
        grouping === undefined || id === undefined
          ? free
          : enqueueAll(free, groupOf(id, incident.notification), {
              before,
              grouping,
              isMutedAlarm: isMutedAlarm,
            });
      const inhibitedRows = remaining.flatMap(row =>
        pipeline === undefined || !inhibited.has(row.target)
          ? []
          : [inhibit(row, pipeline, { event, before, grouping: own, incident })],
      );
      const [inhibitor] = inhibited.values();
      const changed = {
        ...operation,
        deliveries: [...groupedRows, ...inhibitedRows],
        incident: {
          ...incident,
          group_id: id ?? incident.group_id,
          inhibited_by: inhibitor?.id ?? incident.inhibited_by,
        },
        dropped: dropped.map(member => member.id),
      };
      return { operation: changed, undo: isConflict => undo(changed, dropped, isConflict) };
    },
    configure(notifications) {
      configured = notifications;
      mutedByNotification.clear();
      const now = clock.monotonic();
      for (const group of groups.values()) {
        const grouping = configured.get(group.notification)?.grouping;
        if (group.groupingKey === (grouping && keyOfGrouping(grouping))) continue;
        group.groupingKey = grouping && keyOfGrouping(grouping);
        group.intervalMs = grouping?.intervalMs ?? 0;
        group.intervalEndsAt = now;
        if (group.members.size > 0) scheduleFlush(group, now);
        else schedule(group, now);
      }
    },
    async start() {
      for (const { id, interval_ends_at } of await storage.in(workspace).groups.withinInterval()) {
        const restMs = interval_ends_at - clock.now();
        if (restMs <= 0) continue;
        const group = groupOf(id, '');
        group.intervalEndsAt = clock.monotonic() + restMs;
        schedule(group, group.intervalEndsAt);
      }
      await resumeMembers();
    },
    async stop() {
      isStopped = true;
      cancel();
      await Promise.all(flushes);
    },
  };
}

const NO_INHIBITORS: ReadonlyMap<string, IncidentRow> = new Map();
const keyOfGrouping = (grouping: Grouping): string => JSON.stringify(grouping);
