import type { HeadgateEvent } from '../events/event.ts';
import type { Cancel, Clock } from '../lib/clock.ts';
import { createFaultLog } from '../lib/fault-log.ts';
import { createHeap } from '../lib/heap.ts';
import type { Logger } from '../lib/logger.ts';
import type { DeliveryRow, IncidentRow, Storage, TransitionOperation } from '../storage/storage.ts';
import type { Target } from '../targets/target.ts';
import type { Group, Grouped, GroupRules, HeldAlarm, Joining, Member, Turn } from './group.ts';
import { groupIdOf, heldGroupId } from './group-ids.ts';
import { createHolds, MOST_ENDING_MS, outageMsOf } from './holds.ts';
import { isMuted } from './muted.ts';
import type { Grouping } from './notification.ts';
import type { Outages } from './outages.ts';
import { toldTargets } from './transition.ts';

/** How long until the store is asked again that refused a flush, and until a hold is looked at again. */
const AGAIN_MS = 1000;
/** Mute windows begin and end with a minute. */
const MUTED_MS = 60_000;
/** How alarms wait for the end of a mute window or a hold where the notification does not group. */
const ALONE: Grouping = { fields: [], waitMs: 0, intervalMs: 0 };
/** Members that are read at a time when a process starts. */
const READ_AT_ONCE = 1000;

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
  readonly outages: Outages['toldTo'];
  /** Whether one of the incidents is about to end that were held back for an outage which is over. */
  readonly isEnding: (group: Pick<Group, 'notification' | 'members'>, pipeline: string) => boolean;
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
    facts: {
      readonly event: HeadgateEvent;
      readonly before: IncidentRow | undefined;
      readonly grouping: Grouping | undefined;
      /** The one its subject is a part of. */
      readonly pipeline?: string | undefined;
    },
  ): Grouped;
  /** Groups whose notification groups otherwise now, or not at all, are sent at once, unless they are muted. */
  configure(notifications: ReadonlyMap<string, GroupRules>): void;
  /** Takes up the members of the store. */
  start(): Promise<void>;
  /** Flushes nothing more and waits for flushes under way. */
  stop(): Promise<void>;
}

export function createGroups(options: GroupsOptions): Groups {
  const { clock, storage, workspace } = options;
  const groups = new Map<string, Group>();
  const waiting = new Map<string, Set<Member>>();
  const turns = createHeap<Turn>((one, other) => one.at < other.at);
  const flushes = new Set<Promise<void>>();
  const faults = createFaultLog(options.logger, {
    fields: {},
    message: 'groups cannot be sent',
    over: 'groups can be sent again',
  });
  const holds = createHolds(options.outages, (incident, target) =>
    [...(waiting.get(incident) ?? [])].some(member => member.isFirst && member.target === target),
  );
  let configured: ReadonlyMap<string, GroupRules> = new Map();
  /** Answers of this minute. */
  const muted = new Map<string, boolean>();
  let mutedAt = -1;
  let cancel: Cancel = () => {};
  let wakesAt = Infinity;
  let isStopped = false;

  function isMutedNow(notification: string): boolean {
    const windows = configured.get(notification)?.muteWindows ?? [];
    if (windows.length === 0) return false;
    const minute = Math.floor(clock.now() / MUTED_MS);
    if (minute !== mutedAt) muted.clear();
    mutedAt = minute;
    const answer = muted.get(notification) ?? isMuted(windows, clock.now());
    muted.set(notification, answer);
    return answer;
  }

  const ruleFor = (notification: string) => configured.get(notification)?.rule;

  function groupOf(id: string, notification: string): Group {
    const present = groups.get(id);
    if (present !== undefined) {
      if (notification !== '') present.notification = notification;
      return present;
    }
    const made: Group = {
      id,
      members: new Map(),
      notification,
      rule: undefined,
      intervalMs: 0,
      due: undefined,
      restsUntil: -Infinity,
      toldAt: clock.monotonic(),
    };
    groups.set(id, made);
    return made;
  }

  function lineUp(group: Group, at: number): void {
    turns.push({ at, group });
    if (at < wakesAt) wake();
  }

  function wake(): void {
    cancel();
    wakesAt = turns.peek()?.at ?? Infinity;
    if (!isStopped && wakesAt < Infinity) cancel = clock.after(wakesAt - clock.monotonic(), run);
  }

  function run(): void {
    const now = clock.monotonic();
    for (let turn = turns.peek(); turn !== undefined && turn.at <= now; turn = turns.peek()) {
      turns.pop();
      const { group } = turn;
      if (group.due !== undefined && group.due <= now) flush(group, now);
      else if (group.due === undefined && group.restsUntil <= now) groups.delete(group.id);
    }
    wake();
  }

  function wait(group: Group, due: number): void {
    if (group.due !== undefined && group.due <= due) return;
    group.due = due;
    lineUp(group, due);
  }

  function add(group: Group, member: Member): void {
    group.members.set(member.id, member);
    const others = waiting.get(member.incident);
    if (others === undefined) waiting.set(member.incident, new Set([member]));
    else others.add(member);
  }

  function take(member: Member): void {
    const group = groups.get(member.group);
    if (group?.members.delete(member.id) !== true) return;
    if (group.members.size === 0) {
      group.due = undefined;
      lineUp(group, Math.max(group.restsUntil, clock.monotonic()));
    }
    forget(member);
  }

  function forget(member: Member): void {
    const others = waiting.get(member.incident);
    others?.delete(member);
    if (others?.size === 0) waiting.delete(member.incident);
  }

  /** What is held back is no end, and has no other pipeline and target beside it. */
  function isHeld(group: Group, now: number): boolean {
    const hold = group.members.values().next().value?.hold;
    if (hold === undefined) return false;
    if (holds.isTold(hold)) {
      group.toldAt = now;
      return true;
    }
    const overMs = now - group.toldAt;
    if (overMs < (outageMsOf(ruleFor(group.notification)) ?? 0)) return true;
    return overMs < MOST_ENDING_MS && options.isEnding(group, hold.pipeline);
  }

  function flush(group: Group, now: number): void {
    if (isHeld(group, now)) {
      group.due = undefined;
      wait(group, now + AGAIN_MS);
      return;
    }
    const onlyEnds = isMutedNow(group.notification);
    const members = [...group.members.values()].filter(({ status }) => !onlyEnds || status === 'OK');
    for (const member of members) {
      group.members.delete(member.id);
      forget(member);
    }
    group.due = undefined;
    if (group.members.size > 0) wait(group, now + MUTED_MS - (clock.now() % MUTED_MS));
    if (members.length === 0) return;
    group.restsUntil = now + group.intervalMs;
    lineUp(group, group.restsUntil);
    const work: Promise<void> = write(group, members, onlyEnds).finally(() => flushes.delete(work));
    flushes.add(work);
  }

  async function write(group: Group, members: readonly Member[], onlyEnds: boolean): Promise<void> {
    const now = clock.now();
    try {
      const row = { id: group.id, rests_until: now + group.intervalMs };
      await storage.commit({ kind: 'flush', workspace, group: row, onlyEnds, now });
      const [first = ''] = members.map(({ id }) => id).sort();
      options.released(new Set(members.map(({ target }) => target)), first);
      faults.passed();
    } catch (error) {
      faults.failed(error);
      const again = groupOf(group.id, group.notification);
      for (const member of members) add(again, member);
      wait(again, clock.monotonic() + AGAIN_MS);
    }
  }

  /**
   * What waits of an incident that ends need not be told, nor its end to whom nothing else was told of it. Beside an alarm
   * that waits nothing else reminds.
   */
  function drop(operation: TransitionOperation): {
    kept: readonly DeliveryRow[];
    dropped: readonly Member[];
  } {
    const { deliveries, incident } = operation;
    const present = waiting.get(incident.id);
    if (present === undefined) return { kept: deliveries, dropped: [] };
    const isEnd = incident.state === 'closed';
    const dropped = isEnd ? [...present] : [];
    const passed = new Set(
      [...present].filter(({ isFirst }) => isFirst || !isEnd).map(({ target }) => target),
    );
    return { kept: deliveries.filter(({ target }) => !passed.has(target)), dropped };
  }

  function join(
    row: DeliveryRow,
    group: Group,
    { isFirst, hold }: Pick<Member, 'isFirst' | 'hold'>,
  ): DeliveryRow {
    add(group, {
      id: row.id,
      target: row.target,
      incident: row.incident_id,
      group: group.id,
      status: row.status,
      isFirst,
      hold,
    });
    if (hold !== undefined) return { ...row, state: 'grouped', group_id: group.id, held_for: hold.pipeline };
    const inMs = Math.max(0, (group.due ?? 0) - clock.monotonic());
    return { ...row, state: 'grouped', group_id: group.id, next_at: clock.now() + Math.ceil(inMs) };
  }

  function joinAll(
    rows: readonly DeliveryRow[],
    group: Group,
    { before, grouping, isHeld }: Joining,
  ): readonly DeliveryRow[] {
    const takes = (id: string): boolean => isHeld || options.targets.get(id)?.neverGroups !== true;
    if (!rows.some(({ target }) => takes(target))) return rows;
    const now = clock.monotonic();
    group.rule = ruleOf(grouping);
    group.intervalMs = grouping.intervalMs;
    wait(group, group.restsUntil > now ? group.restsUntil : now + grouping.waitMs);
    const told = before === undefined ? [] : toldTargets(before);
    return rows.map(row =>
      takes(row.target) ? join(row, group, { isFirst: !told.includes(row.target), hold: undefined }) : row,
    );
  }

  /** Each target's for itself, as each may be told of the outage at another time. */
  function holdBack(
    row: DeliveryRow,
    pipeline: string,
    { event, before, grouping = ALONE, incident }: HeldAlarm,
  ): DeliveryRow {
    const hold = { pipeline, target: row.target };
    const group = groupOf(heldGroupId(event, incident, grouping, hold), row.notification);
    wait(group, clock.monotonic() + AGAIN_MS);
    const isFirst = before === undefined || !toldTargets(before).includes(row.target);
    return join(row, group, { isFirst, hold });
  }

  /** After a conflict what was dropped may have been sent: it is flushed, and no end waits for it any more. */
  function undo(
    { deliveries, incident }: TransitionOperation,
    dropped: readonly Member[],
    isConflict: boolean,
  ): void {
    for (const { id, group_id: groupId } of deliveries) {
      const member = groupId === null ? undefined : groups.get(groupId)?.members.get(id);
      if (member !== undefined) take(member);
    }
    for (const member of dropped) {
      const group = groupOf(member.group, incident.notification);
      if (isConflict) group.members.set(member.id, member);
      else add(group, member);
      wait(group, clock.monotonic());
    }
  }

  async function takeUpMembers(): Promise<void> {
    const { members } = storage.in(workspace).groups;
    for (let after: string | undefined = ''; after !== undefined; ) {
      const rows = await members(after, READ_AT_ONCE);
      for (const row of rows) takeUp(row);
      after = rows.length < READ_AT_ONCE ? undefined : rows.at(-1)?.id;
    }
  }

  /** Whatever the wall clock says by now, it waits no longer than its notification lets it. */
  function takeUp(row: DeliveryRow): void {
    const { id, target, incident_id, group_id, notification, status, seq, next_at } = row;
    if (group_id === null) return;
    const grouping = configured.get(notification)?.grouping;
    const group = groupOf(group_id, notification);
    group.notification = notification;
    group.intervalMs = grouping?.intervalMs ?? 0;
    group.rule = grouping && ruleOf(grouping);
    const hold = row.held_for === null ? undefined : { pipeline: row.held_for, target };
    add(group, { id, target, incident: incident_id, group: group_id, status, isFirst: seq === 1, hold });
    const most = grouping === undefined ? 0 : Math.max(grouping.waitMs, grouping.intervalMs);
    wait(group, clock.monotonic() + Math.min(Math.max(0, (next_at ?? 0) - clock.now()), most));
  }

  return {
    enter(operation, { event, before, grouping: own, pipeline }) {
      const { kept, dropped } = drop(operation);
      const { incident } = operation;
      const isOpen = incident.state === 'open';
      const isMutedAlarm = isOpen && isMutedNow(incident.notification);
      const grouping = own ?? (isMutedAlarm ? ALONE : undefined);
      const rule = ruleFor(incident.notification);
      const held = isOpen ? holds.of(rule, pipeline, kept) : NONE;
      if (dropped.length === 0 && grouping === undefined && held.size === 0 && kept === operation.deliveries)
        return { operation, undo: () => {} };
      for (const member of dropped) take(member);
      const id = grouping && groupIdOf(event, incident, grouping);
      const free = kept.filter(({ target }) => !held.has(target));
      const joined =
        grouping === undefined || id === undefined
          ? free
          : joinAll(free, groupOf(id, incident.notification), { before, grouping, isHeld: isMutedAlarm });
      const back = kept.flatMap(row =>
        pipeline === undefined || !held.has(row.target)
          ? []
          : [holdBack(row, pipeline, { event, before, grouping: own, incident })],
      );
      const [outage] = held.values();
      const changed = {
        ...operation,
        deliveries: [...joined, ...back],
        incident: {
          ...incident,
          group_id: id ?? incident.group_id,
          held_by: outage?.id ?? incident.held_by,
        },
        dropped: dropped.map(member => member.id),
      };
      return { operation: changed, undo: isConflict => undo(changed, dropped, isConflict) };
    },
    configure(notifications) {
      configured = notifications;
      muted.clear();
      const now = clock.monotonic();
      for (const group of groups.values()) {
        const grouping = configured.get(group.notification)?.grouping;
        if (group.rule === (grouping && ruleOf(grouping))) continue;
        group.rule = grouping && ruleOf(grouping);
        group.intervalMs = grouping?.intervalMs ?? 0;
        group.restsUntil = now;
        if (group.members.size > 0) wait(group, now);
        else lineUp(group, now);
      }
    },
    async start() {
      for (const { id, rests_until } of await storage.in(workspace).groups.resting()) {
        const restMs = rests_until - clock.now();
        if (restMs <= 0) continue;
        const group = groupOf(id, '');
        group.restsUntil = clock.monotonic() + restMs;
        lineUp(group, group.restsUntil);
      }
      await takeUpMembers();
    },
    async stop() {
      isStopped = true;
      cancel();
      await Promise.all(flushes);
    },
  };
}

const NONE: ReadonlyMap<string, IncidentRow> = new Map();
const ruleOf = (grouping: Grouping): string => JSON.stringify(grouping);
