import type { Clock } from '../../lib/clock.ts';
import { type CountedLog, createCountedLog } from '../../lib/counted-log.ts';
import type { Logger } from '../../lib/logger.ts';
import type { Storage } from '../../storage/storage.ts';
import type { IncidentRow } from '../../storage/stores/incidents.ts';
import type { Notification } from '../notification.ts';
import { type OpenIncident, type RuleState, subjectNameOf } from '../rule-state.ts';
import type { Acknowledgements } from './acknowledgements.ts';
import { summaryOf } from './flood-summary.ts';
import type { Incidents } from './incidents.ts';
import { lastEvent, lastingFields } from './last-event.ts';

export interface EscalationsOptions {
  readonly workspace: string;
  readonly storage: Storage;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly incidents: Incidents;
  readonly acknowledgements: Acknowledgements;
}

/** A rule whose incidents may go to further targets. */
interface EscalatingRule extends RuleState {
  readonly notification: Pick<Notification, 'escalation'>;
}

/** An open incident that nobody has acknowledged and that was not escalated. */
interface Candidate {
  readonly rule: EscalatingRule;
  readonly key: string;
  readonly incident: OpenIncident;
  readonly escalation: NonNullable<Notification['escalation']>;
}

/**
 * Sends the alarm of an open incident to further targets when nobody has acknowledged it for long enough. The time counts
 * from when its alarm was to be sent, not while every target waits for it, and anew from when an acknowledgement is
 * taken back. It is read from the store when the incident is first looked at, and goes on by the monotonic clock: a
 * wall clock that is set back delays nothing that this process has seen.
 */
export class Escalations {
  readonly #options: EscalationsOptions;
  readonly #stores: ReturnType<Storage['in']>;
  readonly #faults: CountedLog;
  /** From when the time of each candidate counts, on the monotonic clock. */
  readonly #countsFrom = new Map<string, number>();
  #working: Promise<void> | undefined;

  constructor(options: EscalationsOptions) {
    this.#options = options;
    this.#stores = options.storage.in(options.workspace);
    this.#faults = createCountedLog(options.logger, {
      fields: {},
      message: 'incidents cannot be escalated',
      over: 'incidents can be escalated again',
    });
  }

  /** Escalates what is due by now. */
  evaluate(rules: Iterable<EscalatingRule>): void {
    if (this.#working !== undefined) return;
    const now = this.#options.clock.monotonic();
    const present = new Set<string>();
    const unread: Candidate[] = [];
    const due: Candidate[] = [];
    for (const rule of rules)
      for (const candidate of this.#candidatesOf(rule)) {
        const { id } = candidate.incident.row;
        present.add(id);
        if (this.#options.incidents.isHeld(candidate.incident.row)) this.#countsFrom.set(id, now);
        const from = this.#countsFrom.get(id);
        if (from === undefined) unread.push(candidate);
        else if (now - from >= candidate.escalation.afterMs) due.push(candidate);
      }
    for (const id of this.#countsFrom.keys()) if (!present.has(id)) this.#countsFrom.delete(id);
    if (unread.length === 0 && due.length === 0) return;
    this.#working = this.#work(unread, due)
      .then(() => this.#faults.recovered())
      .catch((error: unknown) => this.#faults.failed(error))
      .finally(() => {
        this.#working = undefined;
      });
  }

  /** Resolves when nothing is being escalated. */
  async idle(): Promise<void> {
    await this.#working;
  }

  *#candidatesOf(rule: EscalatingRule): Iterable<Candidate> {
    const { escalation } = rule.notification;
    if (escalation === undefined) return;
    for (const [key, incident] of rule.incidents)
      if (this.#isCandidate(rule, key, incident)) yield { rule, key, incident, escalation };
  }

  /** An alarm that is only kept waits until its condition is met again; one in a summary goes with that. */
  #isCandidate(rule: EscalatingRule, key: string, { row, changes }: OpenIncident): boolean {
    return (
      row.escalated_at === null &&
      changes.unmetSince === null &&
      !this.#options.acknowledgements.isAcknowledged(row.id) &&
      summaryOf(rule, key) === undefined
    );
  }

  async #work(unread: readonly Candidate[], due: readonly Candidate[]): Promise<void> {
    if (unread.length > 0) await this.#read(unread.map(({ incident }) => incident.row));
    for (const candidate of due) await this.#escalate(candidate);
  }

  async #read(rows: readonly IncidentRow[]): Promise<void> {
    const { acknowledgements, clock } = this.#options;
    const seenAt = clock.monotonic();
    const now = clock.now();
    const alarmedAt = await this.#stores.deliveries.alarmedAt(rows.map(({ id }) => id));
    for (const { id, opened_at: openedAt } of rows) {
      const from = Math.max(alarmedAt.get(id) ?? openedAt, acknowledgements.takenBackAt(id) ?? 0);
      this.#countsFrom.set(id, seenAt - Math.max(0, now - from));
    }
  }

  /** Sends the event that was notified last once more, as the condition is met as it was then. */
  async #escalate({ rule, key, incident, escalation }: Candidate): Promise<void> {
    const { row } = incident;
    const { subjectKind } = rule.origin;
    const last = await lastEvent(this.#stores, row.id);
    if (rule.incidents.get(key) !== incident || rule.writing.has(key)) return;
    if (!this.#isCandidate(rule, key, incident)) return;
    const { __pipeline: pipeline, origin_metadata } = last;
    await this.#options.incidents.notify(rule, {
      subject: { key, name: subjectNameOf(subjectKind, key), component: undefined },
      status: 'ALARM',
      description: {
        text: row.text,
        fields: { ...lastingFields(last), ...(origin_metadata !== undefined && { origin_metadata }) },
      },
      escalation,
      pipeline: typeof pipeline === 'string' ? pipeline : undefined,
    });
  }
}
