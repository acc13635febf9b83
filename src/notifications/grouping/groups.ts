// Longer than others because all that lets an alarm wait is decided in one place.
import type { HeadgateEvent } from '../../events/event.ts';
import { createWindowsCheck, type WindowsCheck } from '../../lib/calendar-windows.ts';
import type { Clock } from '../../lib/clock.ts';
import { type CountedLog, createCountedLog } from '../../lib/counted-log.ts';
import type { Logger } from '../../lib/logger.ts';
import type { TransitionOperation } from '../../storage/operations/transition.ts';
import type { Storage } from '../../storage/storage.ts';
import type { DeliveryRow, WithheldDelivery } from '../../storage/stores/deliveries.ts';
import type { IncidentRow } from '../../storage/stores/incidents.ts';
import type { Target } from '../../targets/target.ts';
import type { Grouping } from '../notification.ts';
import { notifiedTargets } from '../rule-state.ts';
import {
  type DeliveryGroup,
  type Flush,
  flushOf,
  type GroupAddition,
  type GroupedTransition,
  type GroupMember,
  type GroupSettings,
  groupIdOf,
  type Hold,
  heldGroupId,
  inhibitedGroupId,
  keyOfGrouping,
  type MovedMember,
  type WithheldAlarm,
} from './group.ts';
import { GroupTable } from './group-table.ts';
import { type Holds, NOT_HELD } from './holds.ts';

/** Delay before a refused flush is tried again, and before an inhibition is checked again. */
const RETRY_MS = 1000;
/** Mute windows begin and end with a minute. */
const MUTE_STEP_MS = 60_000;
/** For how long after an outage a flush may wait for incidents that are about to close. */
const MAX_RESOLVING_MS = 600_000;
/** Grouping of alarms that wait for the end of a silence, a mute window or an inhibition where the notification does not group. */
const UNGROUPED: Grouping = { fields: [], waitMs: 0, intervalMs: 0 };
/** Members that are read at a time when a process starts. */
const PAGE_SIZE = 500;

export interface GroupsOptions {
  readonly workspace: string;
  readonly storage: Storage;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly targets: ReadonlyMap<string, Target>;
  /** Reads the deliveries of a flush, with the id `first` or later ones, from the store. */
  readonly outbox: { readFrom(targets: Iterable<string>, first: string): void };
  readonly holds: Holds;
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
 * Lets deliveries of a notification wait for others that agree with them, and alarms for the end of a silence, of a mute
 * window or of an inhibition. The first member of a group waits `groupWait`; what comes within `groupInterval` after a flush waits
 * for the end of the interval. Memory runs ahead of the disk: it knows members from the moment they are handed to the
 * writer, which keeps their order and that of flushes.
 */
export interface Groups {
  enter(operation: TransitionOperation, context: TransitionContext): GroupedTransition;
  /** The deliveries of an alarm that nobody has made, as it would enter now; nothing follows from it. */
  preview(operation: TransitionOperation, context: TransitionContext): readonly DeliveryRow[];
  /**
   * Called once a transition is on disk: a silence may end with the last incident that it held back, and what an incident
   * inhibited is looked at again when that closes.
   */
  written(operation: TransitionOperation): void;
  /** True while every target that is to get it waits for the end of an inhibition. */
  isInhibited(incident: IncidentRow): boolean;
  /** True while every target that is to get it waits, for whatever reason. */
  isHeld(incident: IncidentRow): boolean;
  /** Sends groups at once whose notification groups differently now, or not at all, unless they are muted. */
  configure(settings: ReadonlyMap<string, GroupSettings>): void;
  /** Looks again at what waits for the end of a silence. */
  silencesChanged(): void;
  /** Looks again at what incidents inhibit by the rules of the configuration. */
  inhibitionsChanged(): void;
  /**
   * Lets an alarm that was given up, and is to go again, wait for the end of a silence, a mute window or an inhibition;
   * undefined when nothing holds it back. `confirm` then says whether that was written.
   */
  withhold(row: DeliveryRow, event: HeadgateEvent): WithheldDelivery | undefined;
  confirm(row: DeliveryRow, event: HeadgateEvent, isWritten: boolean): void;
  /** True while a silence or an incident holds such an alarm back. */
  isHeldBack(row: DeliveryRow, event: HeadgateEvent): boolean;
  /** Ids of active notifications whose alarms are muted now. */
  mutedNow(): readonly string[];
  /** Resumes the members of the store. */
  start(): Promise<void>;
  /** Flushes nothing more and waits for flushes under way. */
  stop(): Promise<void>;
}

export class DeliveryGroups implements Groups {
  readonly #options: GroupsOptions;
  readonly #table: GroupTable;
  readonly #mutes: WindowsCheck;
  readonly #faults: CountedLog;
  readonly #flushes = new Set<Promise<void>>();
  /** Ids of the groups that wait for the end of an incident, by its id. */
  readonly #byInhibitor = new Map<string, Set<string>>();
  #settings: ReadonlyMap<string, GroupSettings> = new Map();

  constructor(options: GroupsOptions) {
    this.#options = options;
    this.#table = new GroupTable({
      clock: options.clock,
      flush: (group, now) => this.#flush(group, now),
    });
    this.#mutes = createWindowsCheck(options.clock);
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
    const hold = isOpen ? this.#holdFor(event, incident.id) : undefined;
    if (hold !== undefined)
      return this.#enterHeld({ ...operation, deliveries: remaining }, dropped, hold, context);
    const { grouping, inhibitors, isMutedAlarm } = this.#holdsOf(incident, remaining, context);
    const isUnchanged = dropped.length === 0 && remaining === operation.deliveries;
    if (isUnchanged && grouping === undefined && inhibitors.size === 0) return { operation, undo: () => {} };
    for (const member of dropped) this.#table.remove(member);
    const id = grouping && groupIdOf(event, incident, grouping);
    const others = remaining.filter(({ target }) => !inhibitors.has(target));
    const added =
      grouping === undefined || id === undefined
        ? others
        : this.#add(others, this.#table.groupOf(id, incident.notification), {
            event,
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

  preview(operation: TransitionOperation, context: TransitionContext): readonly DeliveryRow[] {
    const { event, pipeline } = context;
    const { deliveries, incident } = operation;
    const hold = this.#holdFor(event, incident.id);
    if (hold !== undefined) {
      const columns = this.#options.holds.columnsOf(hold);
      return deliveries.map(row => ({ ...row, state: 'grouped', ...columns }));
    }
    const { grouping, inhibitors, isMutedAlarm } = this.#holdsOf(incident, deliveries, context);
    const until = grouping && this.#dueAt(groupIdOf(event, incident, grouping), grouping);
    return deliveries.map(row => {
      if (pipeline !== undefined && inhibitors.has(row.target))
        return { ...row, state: 'grouped', inhibited_for: pipeline };
      const isGrouped = isMutedAlarm || this.#options.targets.get(row.target)?.neverGroups !== true;
      return until === undefined || !isGrouped ? row : { ...row, state: 'grouped', next_at: until };
    });
  }

  /** When a group that has such an alarm is sent, in epoch ms. */
  #dueAt(id: string, { waitMs }: Grouping): number {
    const { clock } = this.#options;
    const now = clock.monotonic();
    const group = this.#table.get(id);
    const ownEnd = (group?.intervalEndsAt ?? now) > now ? group?.intervalEndsAt : undefined;
    return clock.now() + Math.max(0, Math.ceil((group?.dueAt ?? ownEnd ?? now + waitMs) - now));
  }

  /** What an alarm waits for that neither a silence nor an inhibition of the configuration holds back. */
  #holdsOf(
    { notification, state }: Pick<IncidentRow, 'notification' | 'state'>,
    deliveries: readonly DeliveryRow[],
    { grouping: own, pipeline }: TransitionContext,
  ) {
    const isOpen = state === 'open';
    const isMutedAlarm = isOpen && this.#isMutedNow(notification);
    return {
      isMutedAlarm,
      grouping: own ?? (isMutedAlarm ? UNGROUPED : undefined),
      inhibitors: isOpen ? this.#inhibitorsFor(notification, pipeline, deliveries) : NO_INHIBITORS,
    };
  }

  #enterHeld(
    operation: TransitionOperation,
    dropped: readonly GroupMember[],
    hold: Hold,
    context: TransitionContext,
  ): GroupedTransition {
    const { deliveries, incident } = operation;
    for (const member of dropped) this.#table.remove(member);
    const changed = {
      ...operation,
      deliveries: deliveries.map(row => this.#hold(row, hold, context)),
      ...(hold.kind === 'silence'
        ? { silence: hold.silence }
        : { incident: { ...incident, inhibited_by: hold.incident } }),
      dropped: dropped.map(member => member.id),
    };
    return { operation: changed, undo: isConflict => this.#undo(changed, dropped, isConflict) };
  }

  written({ incident, silence }: TransitionOperation): void {
    const { holds } = this.#options;
    holds.heldBack(silence, incident.id);
    if (incident.state !== 'closed') return;
    holds.closed(incident);
    const inhibited = this.#byInhibitor.get(incident.id);
    this.#byInhibitor.delete(incident.id);
    for (const id of inhibited ?? []) this.#lookAgain(this.#table.get(id));
  }

  isInhibited(incident: IncidentRow): boolean {
    return this.#allWait(
      incident,
      member => member.inhibition !== undefined || this.#holdOf(member)?.kind === 'inhibition',
    );
  }

  isHeld(incident: IncidentRow): boolean {
    return this.#allWait(incident, () => true);
  }

  /** True when the first alarm for every target waits, for the reason given. */
  #allWait(incident: IncidentRow, isReason: (member: GroupMember) => boolean): boolean {
    const members = [...(this.#table.membersOf(incident.id) ?? [])];
    const waiting = members.filter(member => member.isFirst && isReason(member));
    const targets = new Set(waiting.map(({ target }) => target));
    return targets.size > 0 && notifiedTargets(incident).every(target => targets.has(target));
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

  silencesChanged(): void {
    for (const group of this.#table.all()) if (group.hold?.kind === 'silence') this.#lookAgain(group);
  }

  inhibitionsChanged(): void {
    for (const group of this.#table.all()) if (group.hold?.kind === 'inhibition') this.#lookAgain(group);
  }

  #lookAgain(group: DeliveryGroup | undefined): void {
    if (group !== undefined && group.members.size > 0)
      this.#table.postpone(group, this.#options.clock.monotonic());
  }

  isHeldBack(row: DeliveryRow, event: HeadgateEvent): boolean {
    return this.#holdFor(event, row.incident_id) !== undefined;
  }

  #holdFor(event: HeadgateEvent, incident: string): Hold | undefined {
    return this.#options.holds.holdFor(event, { incident, waitsFor: this.#waitsFor });
  }

  /** The incident that an incident waits for. */
  readonly #waitsFor = (incident: string): string | undefined => {
    for (const member of this.#table.membersOf(incident) ?? []) {
      const hold = this.#holdOf(member);
      if (hold?.kind === 'inhibition') return hold.incident;
    }
    return undefined;
  };

  #holdOf({ group }: GroupMember): Hold | undefined {
    return this.#table.get(group)?.hold;
  }

  withhold(row: DeliveryRow, event: HeadgateEvent): WithheldDelivery | undefined {
    const { id, notification } = row;
    const hold = this.#holdFor(event, row.incident_id);
    if (hold === undefined && !this.#isMutedNow(notification)) return undefined;
    const group = this.#groupFor(event, notification, hold);
    const added = this.#addOne(row, group, { isFirst: row.seq === 1, inhibition: undefined, event });
    const columns =
      hold === undefined ? { ...NOT_HELD, next_at: added.next_at } : this.#options.holds.columnsOf(hold);
    return { id, group_id: group.id, ...columns };
  }

  confirm(row: DeliveryRow, event: HeadgateEvent, isWritten: boolean): void {
    const { group_id: group } = row;
    const member = group === null ? undefined : this.#table.find(group, row.id);
    if (!isWritten) {
      if (member !== undefined) this.#table.remove(member);
      return;
    }
    if (member === undefined) this.#resumeMember(row, event);
    this.#options.holds.heldBack(row.silenced_by, row.incident_id);
  }

  /** The group of what is held back, or muted: then it is looked at again with the next minute. */
  #groupFor(event: HeadgateEvent, notification: string, hold: Hold | undefined): DeliveryGroup {
    const grouping = this.#groupingOf(notification) ?? UNGROUPED;
    if (hold !== undefined) return this.#heldGroup(event, notification, grouping, hold);
    const { clock } = this.#options;
    const id = groupIdOf(event, { notification, state: 'open', group_id: null }, grouping);
    const group = this.#table.groupOf(id, notification);
    this.#table.scheduleFlush(group, clock.monotonic() + MUTE_STEP_MS - (clock.now() % MUTE_STEP_MS));
    return group;
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

  mutedNow(): readonly string[] {
    return [...this.#settings.keys()].filter(notification => this.#isMutedNow(notification));
  }

  #groupingOf(notification: string): Grouping | undefined {
    return this.#settings.get(notification)?.notification.grouping;
  }

  #isMutedNow(notification: string): boolean {
    return this.#mutes.isIn(notification, this.#settings.get(notification)?.notification.muteWindows ?? []);
  }

  #inhibitorsFor(
    notification: string,
    pipeline: string | undefined,
    deliveries: readonly DeliveryRow[],
  ): ReadonlyMap<string, IncidentRow> {
    if (this.#settings.get(notification)?.inhibitionGraceMs === undefined) return NO_INHIBITORS;
    return this.#options.holds.outagesFor(pipeline, deliveries, this.#isUnsent);
  }

  /** True while the first event of an incident for a target still waits. */
  readonly #isUnsent = (incident: string, target: string): boolean =>
    [...(this.#table.membersOf(incident) ?? [])].some(member => member.isFirst && member.target === target);

  /** An inhibited group contains no ends of incidents, and only one pipeline and target. */
  #isInhibited(group: DeliveryGroup, now: number): boolean {
    const inhibition = group.members.values().next().value?.inhibition;
    if (inhibition === undefined) return false;
    if (this.#options.holds.isOutage(inhibition, this.#isUnsent)) {
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
    const { holds } = this.#options;
    if (this.#isInhibited(group, now) || holds.isUndecided()) {
      this.#table.postpone(group, now + RETRY_MS);
      return;
    }
    const isMuted = this.#isMutedNow(group.notification);
    const { sends, sent, moved } = flushOf(group, holds.holdsOf(group, this.#waitsFor), isMuted);
    this.#table.take(group, [...moved.keys(), ...sent]);
    const left = [...moved].map(([member, hold]) => this.#move(member, group, hold));
    if (group.members.size > 0) this.#table.scheduleFlush(group, now + this.#waitMs(group, sends));
    if (sent.length === 0 && left.length === 0) return;
    if (sent.length > 0) {
      group.intervalEndsAt = now + group.intervalMs;
      this.#table.schedule(group, group.intervalEndsAt);
    }
    const work: Promise<void> = this.#write(group, {
      members: sent,
      moved: left,
      sends: sent.length > 0 ? sends : 'none',
    }).finally(() => this.#flushes.delete(work));
    this.#flushes.add(work);
  }

  /** For how long alarms that are held back or muted wait until they are looked at again. */
  #waitMs({ hold }: DeliveryGroup, sends: Flush['sends']): number {
    const { clock, holds } = this.#options;
    if (sends === 'none' && hold !== undefined) return holds.waitMs(hold);
    return MUTE_STEP_MS - (clock.now() % MUTE_STEP_MS);
  }

  async #write(group: DeliveryGroup, { members, moved, sends }: Flush): Promise<void> {
    const { clock, outbox, holds, storage, workspace } = this.#options;
    const now = clock.now();
    try {
      await storage.commit({
        kind: 'flush',
        workspace,
        group: { id: group.id, interval_ends_at: now + group.intervalMs },
        sends,
        moved: moved.map(({ id, incident, group: group_id, columns }) => ({
          ...{ id, incident, group_id },
          ...columns,
        })),
        events: holds.eventsAfter(group, members),
        now,
      });
      for (const { columns, incident } of moved) holds.heldBack(columns.silenced_by, incident);
      const [first] = members.map(({ id }) => id).sort();
      if (first !== undefined) outbox.readFrom(new Set(members.map(({ target }) => target)), first);
      this.#faults.recovered();
    } catch (error) {
      this.#faults.failed(error);
      const again = this.#table.groupOf(group.id, group.notification);
      this.#setHold(again, group.hold);
      for (const member of moved) this.#table.remove(member);
      for (const member of [...members, ...moved]) this.#table.add(again, { ...member, group: group.id });
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
    { event, before, grouping, isMutedAlarm }: GroupAddition,
  ): readonly DeliveryRow[] {
    const isGrouped = (id: string): boolean =>
      isMutedAlarm || this.#options.targets.get(id)?.neverGroups !== true;
    if (!rows.some(({ target }) => isGrouped(target))) return rows;
    const now = this.#options.clock.monotonic();
    group.groupingKey = keyOfGrouping(grouping);
    group.intervalMs = grouping.intervalMs;
    // It is read by the wall clock at a start, which may have been set back since.
    group.intervalEndsAt = Math.min(group.intervalEndsAt, now + grouping.intervalMs);
    this.#table.scheduleFlush(
      group,
      group.intervalEndsAt > now ? group.intervalEndsAt : now + grouping.waitMs,
    );
    const notified = before === undefined ? [] : notifiedTargets(before);
    return rows.map(row => {
      if (!isGrouped(row.target)) return row;
      const isFirst = !notified.includes(row.target);
      return this.#addOne(row, group, { isFirst, inhibition: undefined, event });
    });
  }

  /** Alarms of one silence, or that one incident inhibits, wait together, for every target. */
  #hold(
    row: DeliveryRow,
    hold: Hold,
    { event, before, grouping = UNGROUPED }: TransitionContext,
  ): DeliveryRow {
    const group = this.#heldGroup(event, row.notification, grouping, hold);
    const isFirst = before === undefined || !notifiedTargets(before).includes(row.target);
    const added = this.#addOne(row, group, { isFirst, inhibition: undefined, event });
    return { ...added, ...this.#options.holds.columnsOf(hold) };
  }

  #heldGroup(event: HeadgateEvent, notification: string, grouping: Grouping, hold: Hold): DeliveryGroup {
    const { clock, holds } = this.#options;
    const group = this.#table.groupOf(heldGroupId(event, notification, grouping, hold), notification);
    this.#setHold(group, hold);
    this.#table.scheduleFlush(group, clock.monotonic() + holds.waitMs(hold));
    return group;
  }

  #setHold(group: DeliveryGroup, hold: Hold | undefined): void {
    group.hold = hold;
    if (hold?.kind !== 'inhibition') return;
    const inhibited = this.#byInhibitor.get(hold.incident) ?? new Set();
    this.#byInhibitor.set(hold.incident, inhibited.add(group.id));
  }

  /** Moves a member to the group of what holds it back now. */
  #move(member: GroupMember, { notification }: DeliveryGroup, hold: Hold | undefined): MovedMember {
    const { clock, holds } = this.#options;
    const group = this.#groupFor(member.event, notification, hold);
    const columns = hold === undefined ? { ...NOT_HELD, next_at: clock.now() } : holds.columnsOf(hold);
    const moved = { ...member, group: group.id, inhibition: undefined, columns };
    this.#table.add(group, moved);
    return moved;
  }

  /** Puts the alarms for each target in a group of its own, as the inhibition may end at another time for each. */
  #inhibit(
    row: DeliveryRow,
    pipeline: string,
    { event, before, grouping = UNGROUPED, incident }: WithheldAlarm,
  ): DeliveryRow {
    const inhibition = { pipeline, target: row.target };
    const group = this.#table.groupOf(
      inhibitedGroupId(event, incident, grouping, inhibition),
      row.notification,
    );
    this.#table.scheduleFlush(group, this.#options.clock.monotonic() + RETRY_MS);
    const isFirst = before === undefined || !notifiedTargets(before).includes(row.target);
    return this.#addOne(row, group, { isFirst, inhibition, event });
  }

  #addOne(
    row: DeliveryRow,
    group: DeliveryGroup,
    { isFirst, inhibition, event }: Pick<GroupMember, 'isFirst' | 'inhibition' | 'event'>,
  ): DeliveryRow {
    this.#table.add(group, {
      id: row.id,
      target: row.target,
      incident: row.incident_id,
      group: group.id,
      status: row.status,
      isFirst,
      inhibition,
      event,
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
    const { groups, events } = this.#options.storage.in(this.#options.workspace);
    for (let after: string | undefined = ''; after !== undefined; ) {
      const rows = await groups.members(after, PAGE_SIZE);
      const bodies = await events.byIds([...new Set(rows.map(row => row.event_id))]);
      const byId = new Map(bodies.map(({ id, body }) => [id, body]));
      for (const row of rows) this.#resumeMember(row, JSON.parse(byId.get(row.event_id) ?? '{}'));
      after = rows.length < PAGE_SIZE ? undefined : rows.at(-1)?.id;
    }
  }

  /** Resumes a member, which waits no longer than its notification allows, whatever the wall clock shows by now. */
  #resumeMember(row: DeliveryRow, event: HeadgateEvent): void {
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
    this.#setHold(group, this.#options.holds.resumed(row, event, grouping ?? UNGROUPED));
    this.#table.add(group, {
      id,
      target,
      incident: incident_id,
      group: group_id,
      status,
      isFirst,
      inhibition,
      event,
    });
    const mostMs = grouping === undefined ? 0 : Math.max(grouping.waitMs, grouping.intervalMs);
    const waitMs = Math.min(Math.max(0, (next_at ?? 0) - clock.now()), mostMs);
    this.#table.scheduleFlush(group, clock.monotonic() + waitMs);
  }
}

const NO_INHIBITORS: ReadonlyMap<string, IncidentRow> = new Map();
