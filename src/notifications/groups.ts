import { createHash } from 'node:crypto';
import type { HeadgateEvent } from '../events/event.ts';
import type { Cancel, Clock } from '../lib/clock.ts';
import { createFaultLog } from '../lib/fault-log.ts';
import { createHeap } from '../lib/heap.ts';
import type { Logger } from '../lib/logger.ts';
import type { DeliveryRow, IncidentRow, Storage, TransitionOperation } from '../storage/storage.ts';
import type { Target } from '../targets/target.ts';
import { isMuted } from './muted.ts';
import type { Grouping, Notification } from './notification.ts';
import { toldTargets } from './transition.ts';

/** The store refused a flush: how long until it is asked again. */
const AGAIN_MS = 1000;
/** Mute windows begin and end with a minute. */
const MUTED_MS = 60_000;
/** How alarms wait for the end of a mute window where the notification does not group. */
const MUTED_ALONE: Grouping = { fields: [], waitMs: 0, intervalMs: 0 };
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
}

/** A transition that is to be written, its deliveries in their groups. */
interface Grouped {
  readonly operation: TransitionOperation;
  /** It was not written: memory goes back. */
  undo(isConflict: boolean): void;
}

/**
 * Lets deliveries of a notification wait for others that agree with them, and alarms for the end of a mute window. The first member of a group waits `groupWait`;
 * after a flush the group rests for `groupInterval`, and what comes meanwhile waits for its end. Memory runs ahead of the
 * disk: it knows members from the moment they are handed to the writer, which keeps their order and that of flushes.
 */
export interface Groups {
  /** `before` is the incident as it was. */
  enter(
    operation: TransitionOperation,
    facts: {
      readonly event: HeadgateEvent;
      readonly before: IncidentRow | undefined;
      readonly grouping: Grouping | undefined;
    },
  ): Grouped;
  /** Groups whose notification groups otherwise now, or not at all, are sent at once, unless they are muted. */
  configure(notifications: ReadonlyMap<string, GroupRules>): void;
  /** Takes up the members of the store. */
  start(): Promise<void>;
  /** Flushes nothing more and waits for flushes under way. */
  stop(): Promise<void>;
}

type GroupRules = Pick<Notification, 'grouping' | 'muteWindows'>;

interface Member {
  readonly id: string;
  readonly target: string;
  readonly incident: string;
  readonly group: string;
  readonly status: DeliveryRow['status'];
  /** Its target was told nothing of the incident before. */
  readonly isFirst: boolean;
}

interface Group {
  readonly id: string;
  readonly members: Map<string, Member>;
  notification: string;
  /** How it is grouped, as text; undefined while nobody has said so since the start of the process. */
  rule: string | undefined;
  intervalMs: number;
  /** When its members are sent, on the monotonic clock; undefined without members. */
  due: number | undefined;
  /** Until when it rests, on the monotonic clock. */
  restsUntil: number;
}

interface Joining {
  readonly before: IncidentRow | undefined;
  readonly grouping: Grouping;
  /** Nothing of it may be told now, to no target. */
  readonly isHeld: boolean;
}

/** A group's place in the line. One that is not its group's time any more is passed over. */
interface Turn {
  readonly at: number;
  readonly group: Group;
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

  function flush(group: Group, now: number): void {
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

  function join(row: DeliveryRow, group: Group, isFirst: boolean): DeliveryRow {
    add(group, {
      id: row.id,
      target: row.target,
      incident: row.incident_id,
      group: group.id,
      status: row.status,
      isFirst,
    });
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
    return rows.map(row => (takes(row.target) ? join(row, group, !told.includes(row.target)) : row));
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
  function takeUp({
    id,
    target,
    incident_id,
    group_id,
    notification,
    status,
    seq,
    next_at,
  }: DeliveryRow): void {
    if (group_id === null) return;
    const grouping = configured.get(notification)?.grouping;
    const group = groupOf(group_id, notification);
    group.notification = notification;
    group.intervalMs = grouping?.intervalMs ?? 0;
    group.rule = grouping && ruleOf(grouping);
    add(group, { id, target, incident: incident_id, group: group_id, status, isFirst: seq === 1 });
    const most = grouping === undefined ? 0 : Math.max(grouping.waitMs, grouping.intervalMs);
    wait(group, clock.monotonic() + Math.min(Math.max(0, (next_at ?? 0) - clock.now()), most));
  }

  return {
    enter(operation, { event, before, grouping: own }) {
      const { kept, dropped } = drop(operation);
      const isHeld = operation.incident.state === 'open' && isMutedNow(operation.incident.notification);
      const grouping = own ?? (isHeld ? MUTED_ALONE : undefined);
      if (dropped.length === 0 && grouping === undefined && kept === operation.deliveries)
        return { operation, undo: () => {} };
      for (const member of dropped) take(member);
      const { incident } = operation;
      const id = grouping && groupIdOf(event, incident, grouping);
      const deliveries =
        grouping === undefined || id === undefined
          ? kept
          : joinAll(kept, groupOf(id, incident.notification), { before, grouping, isHeld });
      const changed = {
        ...operation,
        deliveries,
        incident: { ...incident, group_id: id ?? incident.group_id },
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

const ruleOf = (grouping: Grouping): string => JSON.stringify(grouping);

/** An end goes where its alarm went, whatever its own fields say. */
const groupIdOf = (event: HeadgateEvent, incident: IncidentRow, { fields }: Grouping): string =>
  incident.state === 'closed' && incident.group_id !== null
    ? incident.group_id
    : createHash('sha256')
        .update(JSON.stringify([incident.notification, fields.map(name => [name, event[name] ?? null])]))
        .digest('base64url')
        .slice(0, 27);
