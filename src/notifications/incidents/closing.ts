import { findCondition } from '../../conditions/index.ts';
import { SEVERITIES } from '../../events/event.ts';
import type { Storage } from '../../storage/storage.ts';
import type { IncidentRow } from '../../storage/stores/incidents.ts';
import type { Notification } from '../notification.ts';
import { type RuleOrigin, type RuleState, subjectNameOf } from '../rule-state.ts';
import { summaryOf } from './flood-summary.ts';
import type { Incidents } from './incidents.ts';
import { lastTargetConfigs } from './last-event.ts';

/** Limit on the incidents of one rule that close in one evaluation; the rest close in later ones. */
export const MAX_CLOSED_AT_ONCE = 1000;

/** Why incidents of the notification must close; undefined when it goes on. */
export function whyEnded(before: Notification, after: Notification | undefined): string | undefined {
  if (after === undefined) return 'the notification was removed';
  if (after.disabled) return 'the notification was disabled';
  return after.fingerprint === before.fingerprint ? undefined : 'the notification was changed';
}

/** Closes an open incident whose condition did not end; does nothing while its last transition is being written. */
export function closeIncident(incidents: Incidents, rule: RuleState, key: string, closeReason: string): void {
  if (rule.writing.has(key)) return;
  const summary = summaryOf(rule, key);
  const text = `Closed, ${closeReason}: ${rule.incidents.get(key)?.row.text ?? ''}`;
  void incidents.notify(rule, {
    subject: { key, name: subjectNameOf(rule.origin.subjectKind, key), component: undefined },
    status: 'OK',
    description: { text, fields: {} },
    closeReason,
    ...(summary && { summary }),
  });
}

/** A rule that is not active any more, with its incidents that are still open. */
interface ClosingRule extends RuleState {
  readonly reason: string;
}

export interface ClosingRulesOptions {
  readonly workspace: string;
  readonly storage: Storage;
  readonly incidents: Incidents;
}

/** Closes the incidents of rules that are not active any more. */
export class ClosingRules {
  readonly #rules = new Set<ClosingRule>();
  readonly #incidents: Incidents;
  readonly #stores: ReturnType<Storage['in']>;

  constructor({ workspace, storage, incidents }: ClosingRulesOptions) {
    this.#incidents = incidents;
    this.#stores = storage.in(workspace);
  }

  /** Takes over a rule that was active. The ends of its incidents are not grouped any more. */
  add({ origin, targets, incidents, writing }: RuleState, reason: string): void {
    this.#rules.add({ origin: { ...origin, grouping: undefined }, targets, incidents, writing, reason });
  }

  /** Takes over an open incident of the store whose rule is not active. */
  async addIncident(row: IncidentRow, reason: string): Promise<void> {
    const origin = await this.#originOf(row);
    const incidents = new Map([[row.subject, this.#incidents.resume(row)]]);
    this.#rules.add({ origin, targets: [], incidents, writing: new Map(), reason });
  }

  /** Closes some incidents of each rule; `attempt` runs the work for one rule. */
  close(attempt: (work: () => void) => void): void {
    for (const rule of this.#rules) attempt(() => this.#closeSome(rule));
  }

  #closeSome(rule: ClosingRule): void {
    if (rule.incidents.size === 0 && rule.writing.size === 0) this.#rules.delete(rule);
    for (const key of [...rule.incidents.keys()].slice(0, MAX_CLOSED_AT_ONCE))
      closeIncident(this.#incidents, rule, key, rule.reason);
  }

  /** Collects what the store knows of the notification of an incident. */
  async #originOf(row: IncidentRow): Promise<RuleOrigin> {
    return {
      id: row.notification,
      condition: row.condition,
      subjectKind: findCondition(row.condition)?.kind ?? 'input',
      windowMs: 0,
      fingerprint: row.rule,
      grouping: undefined,
      targetConfigs: await lastTargetConfigs(this.#stores, row.id),
      settings: { severity: SEVERITIES.find(severity => severity === row.severity) ?? 'warn' },
    };
  }
}
