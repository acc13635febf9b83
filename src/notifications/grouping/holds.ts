import type { HeadgateEvent } from '../../events/event.ts';
import type { Clock } from '../../lib/clock.ts';
import type { DeliveryRow, HoldColumns } from '../../storage/stores/deliveries.ts';
import type { IncidentRow } from '../../storage/stores/incidents.ts';
import type { Inhibitions } from '../inhibition/inhibition.ts';
import type { Inhibited, Inhibitor, Inhibitors, WaitsFor } from '../inhibition/inhibitors.ts';
import type { Grouping } from '../notification.ts';
import type { Silences } from '../silences/silences.ts';
import { type DeliveryGroup, type GroupMember, type Hold, heldGroupId } from './group.ts';

/** What is held back is looked at again after this time at the latest, as the wall clock may be set. */
const STEP_MS = 60_000;

export interface HoldsOptions {
  readonly clock: Pick<Clock, 'now'>;
  readonly silences: Silences;
  readonly inhibitors: Inhibitors;
  readonly inhibitions: Inhibitions;
}

/** Decides which alarms wait for the end of a silence, or of an incident that inhibits them. */
export class Holds {
  readonly #clock: Pick<Clock, 'now'>;
  readonly #silences: Silences;
  readonly #inhibitors: Inhibitors;
  readonly #inhibitions: Inhibitions;

  constructor({ clock, silences, inhibitors, inhibitions }: HoldsOptions) {
    this.#clock = clock;
    this.#silences = silences;
    this.#inhibitors = inhibitors;
    this.#inhibitions = inhibitions;
  }

  /** The incidents on pipelines that inhibit alarms of their inputs, by target. */
  outagesFor(...deliveries: Parameters<Inhibitions['inhibitorsFor']>): ReadonlyMap<string, IncidentRow> {
    return this.#inhibitions.inhibitorsFor(...deliveries);
  }

  /** True while the incident on a pipeline still inhibits alarms of its inputs for a target. */
  isOutage(...inhibition: Parameters<Inhibitions['isActive']>): boolean {
    return this.#inhibitions.isActive(...inhibition);
  }

  /** True while the store is read for the rules of a new configuration: nothing that waits is decided meanwhile. */
  isUndecided(): boolean {
    return this.#inhibitors.ready() !== undefined;
  }

  /** A silence goes before an inhibition, as its end is known. */
  holdFor(event: HeadgateEvent, alarm: Inhibited): Hold | undefined {
    const silence = this.#silences.silenceFor(event);
    if (silence !== undefined) return { kind: 'silence', silence: silence.id };
    const inhibitor = this.#inhibitors.inhibitorFor(event, alarm);
    return inhibitor && { kind: 'inhibition', ...inhibitor };
  }

  /** What holds alarms of a group back now. Each is decided by what was decided of those before. */
  holdsOf({ members, hold: present }: DeliveryGroup, waitsFor: WaitsFor): ReadonlyMap<GroupMember, Hold> {
    const held = new Map<GroupMember, Hold>();
    const byEvent = new Map<string, Hold | undefined>();
    const decided = new Map<string, string | undefined>();
    const alarm = {
      waitsFor: (incident: string) => (decided.has(incident) ? decided.get(incident) : waitsFor(incident)),
      present: present?.kind === 'inhibition' ? present : undefined,
    };
    for (const member of members.values()) {
      const { event, incident, status } = member;
      if (status !== 'ALARM') continue;
      const hold = byEvent.has(event.id)
        ? byEvent.get(event.id)
        : this.holdFor(event, { ...alarm, incident });
      byEvent.set(event.id, hold);
      decided.set(incident, inhibitorOf(hold));
      if (hold !== undefined) held.set(member, hold);
    }
    return held;
  }

  /** For how long what waits is left until it is looked at again. */
  waitMs(hold: Hold): number {
    if (hold.kind === 'inhibition') return STEP_MS;
    return Math.min(Math.max(0, this.#endOf(hold.silence) - this.#clock.now()), STEP_MS);
  }

  /** When an inhibition ends is not known. */
  columnsOf(hold: Hold): HoldColumns {
    return hold.kind === 'silence'
      ? { ...NOT_HELD, silenced_by: hold.silence, next_at: this.#endOf(hold.silence) }
      : { ...NOT_HELD, inhibition: hold.rule, inhibited_by: hold.incident };
  }

  /** What the group of a delivery of the store waits for; undefined where its inhibition has changed since. */
  resumed(row: DeliveryRow, event: HeadgateEvent, grouping: Grouping): Hold | undefined {
    const { notification, silenced_by, inhibition, inhibited_by: incident } = row;
    if (silenced_by !== null) return { kind: 'silence', silence: silenced_by };
    const rule = inhibition === null ? undefined : this.#inhibitors.find(inhibition);
    if (rule === undefined || incident === null) return undefined;
    const { id, fingerprint } = rule;
    const hold = { kind: 'inhibition', rule: id, fingerprint, incident } as const;
    return heldGroupId(event, notification, grouping, hold) === row.group_id ? hold : undefined;
  }

  /** The events of members whose silence or inhibition has ended, with its name: their receivers hear late, and from what. */
  eventsAfter({ hold }: DeliveryGroup, members: readonly GroupMember[]): { id: string; body: string }[] {
    if (hold === undefined) return [];
    const events = new Map(members.map(({ event }) => [event.id, event]));
    return [...events.values()].map(event => ({
      id: event.id,
      body: JSON.stringify(
        hold.kind === 'silence'
          ? this.#silences.afterEnd(hold.silence, event)
          : withEndedInhibition(event, hold),
      ),
    }));
  }

  /** Called once it is on disk that an alarm of the incident waits for the end of the silence. */
  heldBack(silence: string | null | undefined, incident: string): void {
    if (typeof silence === 'string') this.#silences.heldBack(silence, incident);
  }

  /** Called once its end is on disk. */
  closed({ id }: IncidentRow): void {
    this.#silences.incidentClosed(id);
  }

  #endOf(silence: string): number {
    return this.#silences.find(silence)?.endsAt ?? this.#clock.now();
  }
}

const inhibitorOf = (hold: Hold | undefined): string | undefined =>
  hold?.kind === 'inhibition' ? hold.incident : undefined;

/** The event as it is sent once the inhibition that held it back has ended. */
const withEndedInhibition = (event: HeadgateEvent, { rule, incident }: Inhibitor): HeadgateEvent => ({
  ...event,
  inhibition: rule,
  inhibitedBy: incident,
  _raw: `${event._raw} (inhibited until now by inhibition ${rule}, for incident ${incident})`,
});

/** Of what nothing holds back. */
export const NOT_HELD: HoldColumns = {
  silenced_by: null,
  inhibition: null,
  inhibited_by: null,
  next_at: null,
};
